"""Programs whose tensors and classes are unusual: they end as they would without gradscope."""

from __future__ import annotations

from pathlib import Path

import pytest
from forked import HOW, Forks
from test_hostile import BASE

PROGRAMS: dict[str, str] = {
    # As sharded training does between the passes: to read such a tensor ends the process.
    "memory that is given back for now": """
def free(*tensors):
    for t in tensors: t.untyped_storage().resize_(0)
for i in range(30):
    optimizer.zero_grad(set_to_none=i % 2 == 0)
    hidden = net(torch.randn(8, 3))
    loss = hidden.pow(2).mean()
    loss.backward()
    optimizer.step()
    free(hidden, loss.detach())
    if i % 3 == 0:
        free(*[p.grad for p in net.parameters()])
        for p in net.parameters(): p.grad = None
for _ in range(3):
    kept = [p.detach().clone() for p in net.parameters()]
    free(*net.parameters())
    for p, old in zip(net.parameters(), kept):
        p.untyped_storage().resize_(old.untyped_storage().nbytes())
        p.data.copy_(old)
    train(1)
w = nn.Parameter(torch.ones(4))
w.register_post_accumulate_grad_hook(lambda p: free(p.grad))
other = torch.optim.SGD([w], lr=1.0)
for _ in range(3):
    loss = (w * 2).sum()
    free(loss)
    loss.backward()
    other.zero_grad(set_to_none=False) if w.grad is None else other.zero_grad()
w.sum().backward()
free(*[p.grad for p in net.parameters()], *net.parameters(), net[1].running_mean)
optimizer.zero_grad()
net.eval()
""",
    "floats of eight bits": """
for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
    w = nn.Parameter(torch.ones(4).to(dtype))
    other = torch.optim.SGD([w], lr=0.5)
    for _ in range(3):
        other.zero_grad()
        w.float().pow(2).sum().backward()
        print(w.grad)
        tell(other.step)
    (w.float() * 2).sum().backward()
    tell(lambda: (w.float() * 3).sum().backward())
""",
    # accelerate passes `set_to_none` on where the optimizer's `zero_grad` is seen to take it.
    "functions that are asked what they take": """
import inspect, pickle
from torch.optim import Optimizer
for owner, names in ((nn.Module, "__call__ train eval zero_grad"), (Optimizer, "__init__ zero_grad"),
                     (torch.no_grad, "__enter__ __exit__"), (torch.autograd.Function, "apply"),
                     (torch, "compile from_numpy"), (torch.utils, "swap_tensors"), (sys, "setrecursionlimit")):
    for name in names.split():
        f = getattr(owner, name)
        print(name, f.__name__, f.__qualname__, f.__module__, f.__doc__)
        tell(inspect.signature, f)
        tell(lambda: inspect.getsource(inspect.unwrap(f)))
class Taking(nn.Module):
    def forward(self, module, optimizer, real): return module + optimizer + real
print(Taking()(module=1, optimizer=2, real=3), nn.DataParallel(module=net).device_ids)
print(torch.optim.SGD(params=net.parameters(), lr=1.0).zero_grad(set_to_none=True))
print(torch.optim.lr_scheduler.StepLR(optimizer=optimizer, step_size=2).step(epoch=None))
for bound in (net.train, net.zero_grad, optimizer.zero_grad, Optimizer.zero_grad, nn.Module.train):
    print(pickle.loads(pickle.dumps(bound)).__name__)
""",
    "a profile with stacks": """
from torch.profiler import ProfilerActivity, profile
for asked in ({"with_stack": True}, {"with_modules": True}, {"with_stack": True, "profile_memory": True}):
    with profile(activities=[ProfilerActivity.CPU], **asked):
        train(3)
with torch.autograd.profiler.profile(with_stack=True, with_modules=True):
    train(1)
""",
    # Reading the source of such code would never end.
    "code whose file is a device": """
os.mkfifo("pipe")
resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
for name in ("/dev/zero", "/proc/self/mem", "/proc/kmsg", "/", "pipe", "/dev/tty", "x" * 5000, "", "\0", "a\nb.py"):
    exec(compile("train(1)\nnet[0](torch.ones(2, 3)).sum().backward()", name, "exec"))
    tell(lambda: exec(compile("net[0](torch.ones(2, 7))", name, "exec")))
os.rename("pipe", "program.py")
train()
""",
    "clocks that stand still or go back": """
train()
real = time.perf_counter
time.perf_counter = lambda: 5.0
train(40)
time.perf_counter = lambda: -real()
time.time = lambda: 0
time.strftime = time.monotonic = lambda *args: 1 / 0
train(40)
""",
    "optimizers that are taken apart": """
import copy
def loop(made):
    for _ in range(4):
        made.zero_grad()
        loss = net(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        made.step()
    print(loss.item().hex())
class Bare(torch.optim.Optimizer):
    def __init__(self, params): self.params = list(params)
    def step(self): [p.data.sub_(p.grad, alpha=0.01) for p in self.params]
    def zero_grad(self): [setattr(p, "grad", None) for p in self.params]
loop(Bare(net.parameters()))
other = copy.deepcopy(optimizer)
other.state["me"] = other.param_groups[0]["me"] = other
loop(other)
other.__class__ = torch.optim.Adam
tell(loop, other)
other = torch.optim.SGD(net.parameters(), lr=torch.tensor(0.1))
real = other.step
other.step = lambda *args: real(*args)
loop(other)
other.param_groups[0]["params"] = tuple(other.param_groups[0]["params"])
loop(other)
for groups in ([], None, 5):
    other.param_groups = groups
    tell(other.step), tell(other.zero_grad)
del other.param_groups
tell(loop, other)
""",
}


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_ends_as_without_us(name: str, forks: Forks, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(BASE + PROGRAMS[name])
    plain = forks.run("plain", script)
    for how in HOW[1:]:
        ended = forks.run(how, script)
        assert (how, ended.out, ended.status) == (how, plain.out, plain.status), ended.err
        assert not [line for line in ended.err.splitlines() if line.startswith(("gradscope:", "fault:"))]
