"""What random programs are made of, a statement a line. {x}, {y}: tensors that are read; {z}: the
variable that is set; {k}: 0, 1 or 2; `T`: the witness, with all of tests/random_library.py."""

MAKE = """
{z} = torch.rand(3, 3, dtype=torch.float64)
{z} = torch.rand(3, 3, dtype=torch.float64, requires_grad=True)
{z} = torch.ones(3, 3, dtype=torch.float64).requires_grad_()
{z} = None
{z} = torch.zeros_like({x})
{z} = {x}.new_ones(3, 3)
{z} = torch.randn_like({x})
{z} = torch.nn.Parameter({x}.detach().clone())
{z} = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
{z} = copy.copy({x})
{z} = copy.deepcopy({x})
{z} = pickle.loads(pickle.dumps({x}))
"""

COMPUTE = """
{z} = {x} * {y}
{z} = {x} + {y}
{z} = {x} - 0.5 * {y}
{z} = {x} / ({y}.abs() + 1)
{z} = {x} @ {y}
{z} = {x}.exp()
{z} = {x}.sin().cos()
{z} = torch.tanh({x})
{z} = {x}.relu()
{z} = {x}.sigmoid()
{z} = {x} ** 2
{z} = {x}.sqrt()
{z} = -{x}
{z} = {x}.clone()
{z} = {x}.to(torch.float64)
{z} = {x}.to(torch.float32)
{z} = {x}.contiguous()
{z} = {x}.softmax(-1)
{z} = {x}.cumsum(0)
{z} = torch.where({x} > 0.5, {x}, {y})
{z} = torch.maximum({x}, {y})
{z} = torch.stack([{x}, {y}]).sum(0)
{z} = torch.cat([{x}, {y}])[:3]
{z} = torch.einsum('ij,jk->ik', {x}, {y})
{z} = F.dropout({x}, 0.5)
{z} = torch.addmm({x}, {x}, {y})
{z} = F.layer_norm({x}, (3,))
{z} = {x}.sum()
{z} = {x}.mean(0)
{z} = {x}.norm()
{z} = {x}.clamp(0.1, 0.9)
{z} = {x}.logsumexp(0)
{z} = {x}.prod()
{z} = torch.linalg.inv({x} + 3 * torch.eye(3, dtype={x}.dtype))
{z} = torch.bernoulli({x}.detach().sigmoid())
{z}, {y} = {x}.max(dim=0)
{z}, {y} = {x}.sort()
{z} = {x}.topk(2).values.sum()
{z} = sum([{x}, {y}, {x}])
{z} = {x}[{x} > 0.3]
{z} = {x}[[0, 2]]
{z} = {x}.gather(0, torch.tensor([[0, 1, 2]]))
{z} = {x} * 0
{z} = torch.complex({x}, {y}).abs()
{z} = torch.fft.fft({x}).real
{z} = {x}.repeat(2, 1)[1:4]
{z} = torch.atleast_2d({x})
{z} = torch.linalg.svd({x})[1]
{z} = {x}.std()
{z} = F.mse_loss({x}, {y})
{z} = {x}.float().mul(3)
{z} = torch.broadcast_tensors({x}, {y})[0]
{z} = {x}.bernoulli()
{z} = torch.func.vmap(torch.sin)({x})
{z} = torch.func.grad(lambda t: (t * t).sum())({x})
{z} = torch.func.jvp(torch.sin, ({x},), ({y},))[1]
{z} = torch.func.jacrev(torch.sin)({x}).sum((0, 1))
{z} = {x}.to_sparse().to_dense()
{z} = torch.sparse.mm({x}.to_sparse(), {y})
{z} = {x}.cfloat().conj().real
{z} = torch.fake_quantize_per_tensor_affine({x}.float(), 0.1, 0, 0, 9)
{z} = T.chain({x})
{z} = {x}.masked_select({y} > 0.2)
{z} = torch.cdist({x}, {y})
{z} = F.embedding(torch.tensor([0, 2, 0]), {x})
{z} = F.pad({x}, (1, 0))[:, :3]
"""

VIEW = """
{z} = {x}.t()
{z} = {x}[{k}]
{z} = {x}[1:]
{z} = {x}.view(-1)
{z} = {x}.view(3, 3)
{z} = {x}.T
{z} = {x}.transpose(0, 1)
{z} = {x}[0].unsqueeze(0).expand(3, 3)
{z} = {x}.view(9)[::2]
{z}, {y} = {x}.chunk(2)
{z}, {y}, _ = {x}.unbind()
{z}, {y} = {x}.split([1, 2])
{z} = {x}.diagonal()
{z} = {x}.squeeze()
{z} = {x}.view_as({y})
{z} = {x}.reshape(3, 3)
{z} = {x}.narrow(0, 0, 2)
{z} = {x}
{z} = {x}.as_strided((2, 2), (3, 1)) if {x}.numel() > 4 else {x}
{z} = {x}[...]
{z} = {x}.detach()[1:]
{z} = {x}.view(torch.int64)
{z} = torch.view_as_real(torch.complex({x}, {y}))[..., 0]
{z} = {x}.real
{z} = {x}._base
{z} = {x}.swapdims(0, 1).flatten()
{z} = {x}.movedim(0, 1)[1:].t()
{z} = {x}.unfold(0, 2, 1)
{z}, {y}, _ = torch.tensor_split({x}, 3, dim=1)
{z} = {x}.expand_as({y})
{z} = {x}.view(3, 3).T.diagonal().unsqueeze(0)
{z} = {x}.view_as({x}).view_as({x})
{z} = {x}.flatten().unflatten(0, (3, 3))
{z} = torch.as_strided({x}, (3,), (0,))
"""

WRITE = """
{x}.add_({y})
{x}.mul_(2)
{x} += {y}
{x} *= 0.5
{x}[{k}] = {y}[{k}]
{x}[{x} > 0.5] = 0.25
{x}.relu_()
{x}.copy_({y})
{x}.zero_()
{x}.exp_()
{x}.t_()
{x}[1:].mul_(3)
{x}.t()[0].add_(1)
{x}.detach_()
{x}.requires_grad_()
{x}.requires_grad_(False)
{x}.requires_grad = True
{x}.fill_(0.5)
{x}.shape == {y}.shape == {z}.shape and torch.add({x}, {y}, out={z})
{x}.shape == {z}.shape and torch.sin({x}, out={z})
{x}.detach().add_(1)
{x}.data.mul_(2)
{x}.data[0] = 7
{x}.data = {y}.data
{x}.data = {y}.detach().clone()
{x}.normal_()
{x}.detach().numpy()[0] += 1
torch.from_numpy({x}.detach().numpy()).add_(1)
{x}.view(-1)[::2].fill_(2)
F.relu({x}, inplace=True)
F.dropout({x}, 0.5, inplace=True)
{x}.index_add_(0, torch.tensor([0]), {y}[:1])
{x}.masked_fill_({y} > 0.5, 0)
{x}.diagonal().zero_()
nn.init.uniform_({x})
{x}.set_({y}.detach())
torch._foreach_add_([{x}, {y}], 1.0)
{x}.swapaxes_(0, 1)
{x}.squeeze_()
{x}.clamp_(min=0.2)
{x}.addcmul_({y}, {y})
{x}.untyped_storage()[0] = 1
{x}.expand(2, 3, 3).add_(1)
{x}.resize_(1, 1)
{x}.uniform_(0.1, 0.9)
{x}.index_copy_(0, torch.tensor([{k}]), {y}[:1])
{x}.scatter_(0, torch.tensor([[0, 1, 2]]), {y})
{x}[{k}].add_({y}[0])
{x}.view(-1)[{k}].mul_({y}.sum())
{x}.detach()[{k}] = {y}.detach()[0]
{x}.requires_grad_({y}.requires_grad)
{x}.swapdims_(0, 1).add_({y})
torch.utils.swap_tensors({x}, {y}.detach().clone())
torch.nn.init.xavier_uniform_({x}.data)
{x}.shape == {y}.shape == {z}.shape and torch.where({x} > 0, {x}, {y}, out={z})
"""

CUT = """
{z} = {x}.detach()
{z} = {x}.data
{z} = {x}.detach().requires_grad_()
{z} = torch.tensor({x}.tolist())
{z} = {x} > 0.5
{z} = {x}.argmax(0)
{z} = {x}.round()
{z} = torch.tensor({x})
{z} = {x}.int()
{z} = {y} * {x}.sum().item()
T.log(float({x}.sum()))
{z} = torch.as_tensor({x}.detach().numpy())
{z} = torch.autograd.Variable({x})
{z} = torch.autograd.Variable({x}.data, requires_grad=True)
{z} = {x} if {x}.sum() > 1 else {y}
T.log(bool({x}.any()), len({x}), {x}.shape)
T.log({x}.detach().numpy().sum())
"""

GRADIENT = """
{x}.sum().backward()
{x}.sum().backward(retain_graph=True)
({x} * {x}).sum().backward(create_graph=True)
{x}.backward(torch.ones_like({x}))
{x}.sum().backward(inputs=[{y}])
{x}.backward()
{z}, = torch.autograd.grad({x}.sum(), {y})
{z}, = torch.autograd.grad(({x} ** 2).sum(), {y}, create_graph=True)
{z}, = torch.autograd.grad({x}.sum(), {y}, allow_unused=True, retain_graph=True)
({x}.sum() + {y}.sum()).backward()
torch.autograd.backward([{x}.sum(), {y}.mean()])
{x}.grad = None
{x}.grad.zero_()
{z} = {x}.grad
{x}.retain_grad()
{x}.grad = torch.ones_like({x})
{x}.grad.mul_(0.5)
{x}.grad.data.zero_()
del {x}.grad
{x}.data.sub_({x}.grad)
{z} = torch.autograd.functional.hvp(lambda t: (t ** 3).sum(), {x}.detach(), torch.ones_like({x}))[1]
{z} = torch.autograd.functional.jacobian(lambda t: t.sum(0), {x})
T.truth({x})
T.truth({x} * {y})
T.log(repr({x}))
T.log(repr({x}.grad_fn))
T.log({x}.is_leaf, {x}.requires_grad, {x}._version, {x}.retains_grad)
T.log([n for n, _ in {x}.grad_fn.next_functions])
nn.utils.clip_grad_norm_([{x}, {y}], 1.0)
T.log({x}.grad_fn._saved_self)
{z}, = torch.autograd.grad({x}.sum(), torch.autograd.graph.get_gradient_edge({y}))
{z} = torch.autograd.grad({x}.flatten()[:3], {y}, torch.eye(3, dtype={x}.dtype), is_grads_batched=True)[0]
torch.autograd.backward([{x}, {y}], [torch.ones_like({x}), torch.ones_like({y})], retain_graph=True)
{x}.sum().backward(); {y}.sum().backward()
({x} * {y}).sum().backward(retain_graph=True); ({x} + {y}).sum().backward()
{z}, {y} = torch.autograd.grad({x}.sum(), [{x}, {y}], allow_unused=True, create_graph=True)
{x}.grad_fn.metadata['k'] = {k}
T.log({x}.grad_fn.metadata, {x}.grad_fn.name(), len({x}.grad_fn.next_functions))
T.log({x}.grad_fn is {x}.grad_fn, {x}.grad_fn == {y}.grad_fn)
{z} = {x}.grad_fn(torch.ones_like({x}))
T.watch({x}.grad_fn._saved_self)
T.watch({x}.grad_fn._saved_result)
{x}.grad, {y}.grad = {y}.grad, {x}.grad
{x}.grad = {x}.grad + 1
torch.autograd.gradcheck(torch.sin, ({x}.detach().double().requires_grad_(),))
"""

HOOK = """
h = {x}.register_hook(lambda g: g * 2)
h.remove()
{x}.register_hook(lambda g: T.log(g.sum()))
{x}.register_hook(T.broken)
{x}.register_post_accumulate_grad_hook(lambda p: T.log(p.grad))
{x}.grad_fn.register_hook(lambda i, o: T.log(len(i), len(o)))
{x}.grad_fn.register_prehook(lambda o: None)
h = torch.autograd.graph.register_multi_grad_hook([{x}, {y}], lambda gs: T.log(len(gs)))
{x}.register_hook(lambda g, t={y}: g * t.detach())
{x}.register_hook(lambda g: g.mul_(2) and None)
{x}.register_post_accumulate_grad_hook(lambda p: setattr(p, 'grad', None))
net.register_forward_hook(T.forward_hook)
h = net[0].register_full_backward_hook(lambda m, i, o: T.log(m, i[0] is None, o[0]))
net.register_forward_pre_hook(lambda m, a: T.log(a[0].shape))
net[1].register_forward_hook(lambda m, a, o: o * 2)
net[0].register_full_backward_pre_hook(lambda m, g: None)
{x}.register_hook(lambda g: None if g.sum() > 1 else g * 0)
h = {x}.register_hook(lambda g: h.remove())
{x}.grad_fn.register_hook(T.broken_node)
{x}.grad_fn.next_functions[0][0].register_prehook(lambda o: tuple(g * 2 for g in o))
h = torch.autograd.graph.register_multi_grad_hook([{x}, {y}], lambda g: T.log(g), mode='any')
{x}.register_hook(lambda g: torch.autograd.grad((g * g).sum(), g, allow_unused=True) and None)
h = nn.modules.module.register_module_forward_hook(T.forward_hook); h.remove()
net[3].register_forward_hook(T.broken_forward)
"""

MODULE = """
{z} = net({x}.float())
{z} = net({x}.float()).double()
net.eval()
net.train()
net.zero_grad()
net.requires_grad_(False)
net.requires_grad_()
{z} = net[0]({x}.float())
{z} = rnn({x}.float())[0]
{z} = nn.Linear(3, 3)({x}.float())
{z} = F.cross_entropy(net({x}.float()), torch.tensor([0, 1, 0]))
{z} = net[0].weight
{z} = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))({x}.float())
net[0].weight = nn.Parameter(net[0].weight.detach() * 2)
net.load_state_dict(net.state_dict())
net = copy.deepcopy(net)
{z} = torch.func.functional_call(net, dict(net.named_parameters()), ({x}.float(),))
net[1].running_mean.zero_()
{z} = nn.MultiheadAttention(3, 1)({x}.float(), {x}.float(), {x}.float())[0]
{z} = nn.utils.parameters_to_vector(net.parameters())
net.half().float()
{z} = nn.LSTMCell(3, 3)({x}.float())[1]
{z} = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))({x}.float())
{z} = nn.GRU(3, 3, batch_first=True)({x}.float().unsqueeze(0))[1][0]
{z} = nn.TransformerEncoderLayer(3, 1, 4)({x}.float())
{z} = nn.Embedding(3, 3, max_norm=1.0)(torch.tensor([0, 1, 2]))
{z} = torch.nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(net.parameters()), net.parameters())
net.apply(T.reset)
net.to(torch.float64).to(torch.float32)
{z} = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])[{k} % 2]({x}.float())
{z} = T.Shared()({x}.float())
{z} = net[2]({x})
"""

OPTIMIZER = """
opt.step()
opt.zero_grad()
opt.zero_grad(set_to_none=False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
opt = torch.optim.Adam([p for p in (*net.parameters(), {x}) if p.is_leaf and p.requires_grad], lr=0.1)
opt = torch.optim.SGD([{x}], lr=0.1, momentum=0.9)
T.log(opt.step(lambda: net({x}.float()).sum()))
opt = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3)
opt.step(T.closure(net, opt, {x}))
opt.add_param_group({{'params': [{x}]}})
opt = torch.optim.AdamW(net.parameters(), foreach=True)
opt.load_state_dict(opt.state_dict())
T.train(net, opt, {x})
opt = torch.optim.Adam(net.parameters(), lr=0.1, fused=True)
opt = torch.optim.RMSprop(net.parameters(), lr=0.01, momentum=0.5)
opt = copy.deepcopy(opt)
torch.optim.lr_scheduler.StepLR(opt, 1).step()
T.two_losses(net, opt, {x})
opt.register_step_post_hook(lambda o, a, k: T.log(len(a)))
{x}.data.add_({y}.data, alpha=-0.1)
"""

CUSTOM = """
{z} = T.Square.apply({x})
{z} = T.Dirty.apply({x})
{z}, {y} = T.Two.apply({x}, {y})
{z} = T.Same.apply({x})
{z} = T.Broken.apply({x})
{z} = T.Failing.apply({x})
{z} = T.Once.apply({x})
{z} = T.ViewOf.apply({x})
{z} = checkpoint(T.block, {x}, {y}, use_reentrant=False)
{z} = checkpoint(T.block, {x}, {y}, use_reentrant=True)
{z} = checkpoint_sequential(net, 2, {x}.float(), use_reentrant=False)
{z} = T.NoGrad.apply({x})
{z} = T.Inner.apply({x})
{z} = T.decorated({x})
{z} = T.recursive({x}, {k} + 2)
{z} = T.in_thread({x}, {y})
{z} = next(T.held_open({x}))
{z} = list(T.held_open({x}))[-1]
{z} = T.Tagged({x}) + {y}
{z} = T.caught({x}, {y})
T.in_hook({x}, {y})
{z} = torch.jit.trace(T.plain, {x}.detach(), check_trace=False)({x})
{z} = checkpoint(lambda a: checkpoint(T.block, a, a, use_reentrant=False), {x}, use_reentrant=False)
{z} = checkpoint(T.failing_block, {x}, use_reentrant=False)
{z} = checkpoint(T.block, {x}, {y}, use_reentrant=False, preserve_rng_state=False)
{z} = T.Twice.apply({x})
{z} = T.Setup.apply({x}, {k})
{z} = T.Kept.apply({x}).sum()
{z} = T.Dispatched(torch.ones(3, 3)) + {x}.detach()
{z} = T.generator_sum({x})
{z} = T.throw_in({x})
"""

MEMORY = """
gc.collect()
{x} = None
h = None
{x}, {y} = {y}, {x}
keep.append({x})
keep.clear()
{x} = {y} = None
"""

BLOCKS = """
with torch.no_grad():
with torch.enable_grad():
with torch.inference_mode():
with torch.set_grad_enabled(False):
with torch.set_grad_enabled(True):
for _ in range(3):
if {x} is not None:
while T.twice():
with torch.autograd.graph.saved_tensors_hooks(T.pack, T.unpack):
with torch.autograd.graph.save_on_cpu():
with torch.autocast('cpu', dtype=torch.bfloat16):
with torch.autograd.set_detect_anomaly(True):
with torch.inference_mode(False):
with T.generator_mode():
with torch.autograd.graph.allow_mutation_on_saved_tensors():
with torch.random.fork_rng():
with T.counting():
for _ in range(9):
with torch.autograd.profiler.record_function('x'):
with torch.autograd.forward_ad.dual_level():
with T.dispatching():
with torch.autograd.graph.saved_tensors_hooks(T.broken_pack, T.unpack):
with torch.autograd.graph.disable_saved_tensors_hooks('none here'):
with torch.set_grad_enabled({x}.requires_grad):
with torch.no_grad(), torch.enable_grad():
with torch.backends.mkldnn.flags(enabled=False):
with torch.device('cpu'):
with torch.nn.utils.parametrize.cached():
"""

# How often each kind is drawn
KINDS = [
    (3, MAKE), (14, COMPUTE), (7, VIEW), (8, WRITE), (4, CUT), (8, GRADIENT),
    (3, HOOK), (4, MODULE), (3, OPTIMIZER), (4, CUSTOM), (2, MEMORY),
]  # fmt: skip
