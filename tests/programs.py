"""Random autograd programs, run plain and under `gradscope.watch()`, which must make no difference.

A program is source text over a few variables. A `Witness` takes down, after every statement, all that a
program could notice: values, gradients, versions, random state, errors with their tracebacks, warnings, and
which tensors and which memory are gone. `python -m tests.programs --seed 7 --count 1000` runs a long sweep
and prints what fails, made small.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import io
import linecache
import random
import re
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

import gradscope

NAMES = ("v0", "v1", "v2", "v3", "v4")
FILE = "/random/program.py"
POOL = ", ".join(NAMES)

# x, y: tensors that are read; z: the variable that is set; k: a small number.
MAKE = [
    "{z} = torch.rand(3, 3, dtype=torch.float64)", "{z} = torch.rand(3, 3, dtype=torch.float64, requires_grad=True)",
    "{z} = torch.ones(3, 3, dtype=torch.float64).requires_grad_()", "{z} = None",
    "{z} = torch.zeros_like({x})", "{z} = {x}.new_ones(3, 3)", "{z} = torch.randn_like({x})",
    "{z} = torch.nn.Parameter({x}.detach().clone())", "{z} = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)",
    "{z} = copy.copy({x})", "{z} = copy.deepcopy({x})", "{z} = pickle.loads(pickle.dumps({x}))",
]  # fmt: skip
COMPUTE = [
    "{z} = {x} * {y}", "{z} = {x} + {y}", "{z} = {x} - 0.5 * {y}", "{z} = {x} / ({y}.abs() + 1)", "{z} = {x} @ {y}",
    "{z} = {x}.exp()", "{z} = {x}.sin().cos()", "{z} = torch.tanh({x})", "{z} = {x}.relu()", "{z} = {x}.sigmoid()",
    "{z} = {x} ** 2", "{z} = {x}.sqrt()", "{z} = -{x}", "{z} = {x}.clone()", "{z} = {x}.to(torch.float64)",
    "{z} = {x}.to(torch.float32)", "{z} = {x}.contiguous()", "{z} = {x}.softmax(-1)", "{z} = {x}.cumsum(0)",
    "{z} = torch.where({x} > 0.5, {x}, {y})", "{z} = torch.maximum({x}, {y})", "{z} = torch.stack([{x}, {y}]).sum(0)",
    "{z} = torch.cat([{x}, {y}])[:3]", "{z} = torch.einsum('ij,jk->ik', {x}, {y})", "{z} = F.dropout({x}, 0.5)",
    "{z} = torch.addmm({x}, {x}, {y})", "{z} = F.layer_norm({x}, (3,))", "{z} = {x}.sum()", "{z} = {x}.mean(0)",
    "{z} = {x}.norm()", "{z} = {x}.clamp(0.1, 0.9)", "{z} = {x}.logsumexp(0)", "{z} = {x}.prod()",
    "{z} = torch.linalg.inv({x} + 3 * torch.eye(3, dtype={x}.dtype))", "{z} = torch.bernoulli({x}.detach().sigmoid())",
    "{z}, {y} = {x}.max(dim=0)", "{z}, {y} = {x}.sort()", "{z} = {x}.topk(2).values.sum()", "{z} = sum([{x}, {y}, {x}])",
    "{z} = {x}[{x} > 0.3]", "{z} = {x}[[0, 2]]", "{z} = {x}.gather(0, torch.tensor([[0, 1, 2]]))", "{z} = {x} * 0",
    "{z} = torch.complex({x}, {y}).abs()", "{z} = torch.fft.fft({x}).real", "{z} = {x}.repeat(2, 1)[1:4]",
    "{z} = torch.atleast_2d({x})", "{z} = torch.linalg.svd({x})[1]", "{z} = {x}.std()", "{z} = F.mse_loss({x}, {y})",
    "{z} = {x}.float().mul(3)", "{z} = torch.broadcast_tensors({x}, {y})[0]", "{z} = {x}.bernoulli()",
    "{z} = torch.func.vmap(torch.sin)({x})", "{z} = torch.func.grad(lambda t: (t * t).sum())({x})",
]  # fmt: skip
VIEW = [
    "{z} = {x}.t()", "{z} = {x}[{k}]", "{z} = {x}[1:]", "{z} = {x}.view(-1)", "{z} = {x}.view(3, 3)", "{z} = {x}.T",
    "{z} = {x}.transpose(0, 1)", "{z} = {x}[0].unsqueeze(0).expand(3, 3)", "{z} = {x}.view(9)[::2]",
    "{z}, {y} = {x}.chunk(2)", "{z}, {y}, _ = {x}.unbind()", "{z}, {y} = {x}.split([1, 2])", "{z} = {x}.diagonal()",
    "{z} = {x}.squeeze()", "{z} = {x}.view_as({y})", "{z} = {x}.reshape(3, 3)", "{z} = {x}.narrow(0, 0, 2)", "{z} = {x}",
    "{z} = {x}.as_strided((2, 2), (3, 1))", "{z} = {x}[...]", "{z} = {x}.detach()[1:]", "{z} = {x}.view(torch.int64)",
    "{z} = torch.view_as_real(torch.complex({x}, {y}))[..., 0]", "{z} = {x}.real", "{z} = {x}._base",
    "{z} = {x}.swapdims(0, 1).flatten()",
]  # fmt: skip
WRITE = [
    "{x}.add_({y})", "{x}.mul_(2)", "{x} += {y}", "{x} *= 0.5", "{x}[{k}] = {y}[{k}]", "{x}[{x} > 0.5] = 0.25",
    "{x}.relu_()", "{x}.copy_({y})", "{x}.zero_()", "{x}.exp_()", "{x}.t_()", "{x}[1:].mul_(3)", "{x}.t()[0].add_(1)",
    "{x}.detach_()", "{x}.requires_grad_()", "{x}.requires_grad_(False)", "{x}.requires_grad = True", "{x}.fill_(0.5)",
    "torch.add({x}, {y}, out={z})", "torch.sin({x}, out={z})", "{x}.detach().add_(1)", "{x}.data.mul_(2)",
    "{x}.data[0] = 7", "{x}.data = {y}.data", "{x}.data = {y}.detach().clone()", "{x}.normal_()",
    "{x}.detach().numpy()[0] += 1", "torch.from_numpy({x}.detach().numpy()).add_(1)", "{x}.view(-1)[::2].fill_(2)",
    "F.relu({x}, inplace=True)", "F.dropout({x}, 0.5, inplace=True)", "{x}.index_add_(0, torch.tensor([0]), {y}[:1])",
    "{x}.masked_fill_({y} > 0.5, 0)", "{x}.diagonal().zero_()", "nn.init.uniform_({x})", "{x}.set_({y}.detach())",
    "torch._foreach_add_([{x}, {y}], 1.0)", "{x}.swapaxes_(0, 1)", "{x}.squeeze_()", "{x}.clamp_(min=0.2)",
    "{x}.addcmul_({y}, {y})", "{x}.untyped_storage()[0] = 1", "{x}.expand(2, 3, 3).add_(1)", "{x}.resize_(3, 3)",
]  # fmt: skip
CUT = [
    "{z} = {x}.detach()", "{z} = {x}.data", "{z} = {x}.detach().requires_grad_()", "{z} = torch.tensor({x}.tolist())",
    "{z} = {x} > 0.5", "{z} = {x}.argmax(0)", "{z} = {x}.round()", "{z} = torch.tensor({x})", "{z} = {x}.int()",
    "{z} = {y} * {x}.sum().item()", "T.log(float({x}.sum()))", "{z} = torch.as_tensor({x}.detach().numpy())",
    "{z} = torch.autograd.Variable({x})", "{z} = torch.autograd.Variable({x}.data, requires_grad=True)",
    "{z} = {x} if {x}.sum() > 1 else {y}", "T.log(bool({x}.any()), len({x}), {x}.shape)", "T.log({x}.detach().numpy().sum())",
]  # fmt: skip
GRADIENT = [
    "{x}.sum().backward()", "{x}.sum().backward(retain_graph=True)", "({x} * {x}).sum().backward(create_graph=True)",
    "{x}.backward(torch.ones_like({x}))", "{x}.sum().backward(inputs=[{y}])", "{x}.backward()",
    "{z}, = torch.autograd.grad({x}.sum(), {y})", "{z}, = torch.autograd.grad(({x} ** 2).sum(), {y}, create_graph=True)",
    "{z}, = torch.autograd.grad({x}.sum(), {y}, allow_unused=True, retain_graph=True)",
    "({x}.sum() + {y}.sum()).backward()", "torch.autograd.backward([{x}.sum(), {y}.mean()])", "{x}.grad = None",
    "{x}.grad.zero_()", "{z} = {x}.grad", "{x}.retain_grad()", "{x}.grad = torch.ones_like({x})", "{x}.grad.mul_(0.5)",
    "{x}.grad.data.zero_()", "del {x}.grad", "{x}.data.sub_({x}.grad)", "{z} = torch.autograd.functional.hvp("
    "lambda t: (t ** 3).sum(), {x}.detach(), torch.ones_like({x}))[1]", "{z} = torch.autograd.functional.jacobian("
    "lambda t: t.sum(0), {x})", "T.truth({x})", "T.truth({x} * {y})", "T.log(repr({x}))", "T.log(repr({x}.grad_fn))",
    "T.log({x}.is_leaf, {x}.requires_grad, {x}._version, {x}.retains_grad)", "T.log([n for n, _ in {x}.grad_fn.next_functions])",
    "nn.utils.clip_grad_norm_([{x}, {y}], 1.0)", "T.log({x}.grad_fn._saved_self)",
]  # fmt: skip
HOOK = [
    "h = {x}.register_hook(lambda g: g * 2)", "h.remove()", "{x}.register_hook(lambda g: T.log(g.sum()))",
    "{x}.register_hook(T.broken)", "{x}.register_post_accumulate_grad_hook(lambda p: T.log(p.grad))",
    "{x}.grad_fn.register_hook(lambda i, o: T.log(len(i), len(o)))", "{x}.grad_fn.register_prehook(lambda o: None)",
    "h = torch.autograd.graph.register_multi_grad_hook([{x}, {y}], lambda gs: T.log(len(gs)))",
    "{x}.register_hook(lambda g, t={y}: g * t.detach())", "{x}.register_hook(lambda g: g.mul_(2) and None)",
    "{x}.register_post_accumulate_grad_hook(lambda p: setattr(p, 'grad', None))", "net.register_forward_hook(T.forward_hook)",
    "h = net[0].register_full_backward_hook(lambda m, i, o: T.log(m, i[0] is None, o[0]))",
    "net.register_forward_pre_hook(lambda m, a: T.log(a[0].shape))", "net[1].register_forward_hook(lambda m, a, o: o * 2)",
    "net[0].register_full_backward_pre_hook(lambda m, g: None)",
]  # fmt: skip
MODULE = [
    "{z} = net({x}.float())", "{z} = net({x}.float()).double()", "net.eval()", "net.train()", "net.zero_grad()",
    "net.requires_grad_(False)", "net.requires_grad_()", "{z} = net[0]({x}.float())", "{z} = rnn({x}.float())[0]",
    "{z} = nn.Linear(3, 3)({x}.float())", "{z} = F.cross_entropy(net({x}.float()), torch.tensor([0, 1, 0]))",
    "{z} = net[0].weight", "{z} = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))({x}.float())",
    "net[0].weight = nn.Parameter(net[0].weight.detach() * 2)", "net.load_state_dict(net.state_dict())",
    "net = copy.deepcopy(net)", "{z} = torch.func.functional_call(net, dict(net.named_parameters()), ({x}.float(),))",
    "net[1].running_mean.zero_()", "{z} = nn.MultiheadAttention(3, 1)({x}.float(), {x}.float(), {x}.float())[0]",
    "{z} = nn.utils.parameters_to_vector(net.parameters())", "net.half().float()", "{z} = nn.LSTMCell(3, 3)({x}.float())[1]",
]  # fmt: skip
OPTIMIZER = [
    "opt.step()", "opt.zero_grad()", "opt.zero_grad(set_to_none=False)", "opt = torch.optim.SGD(net.parameters(), lr=0.1)",
    "opt = torch.optim.Adam([p for p in (*net.parameters(), {x}) if p.is_leaf and p.requires_grad], lr=0.1)",
    "opt = torch.optim.SGD([{x}], lr=0.1, momentum=0.9)", "T.log(opt.step(lambda: net({x}.float()).sum()))",
    "opt = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3)", "opt.step(T.closure(net, opt, {x}))",
    "opt.add_param_group({{'params': [{x}]}})", "opt = torch.optim.AdamW(net.parameters(), foreach=True)",
    "opt.load_state_dict(opt.state_dict())", "T.train(net, opt, {x})", "{x}.data.add_({y}.data, alpha=-0.1)",
]  # fmt: skip
CUSTOM = [
    "{z} = T.Square.apply({x})", "{z} = T.Dirty.apply({x})", "{z}, {y} = T.Two.apply({x}, {y})", "{z} = T.Same.apply({x})",
    "{z} = T.Broken.apply({x})", "{z} = T.Failing.apply({x})", "{z} = T.Once.apply({x})", "{z} = T.ViewOf.apply({x})",
    "{z} = checkpoint(T.block, {x}, {y}, use_reentrant=False)", "{z} = checkpoint(T.block, {x}, {y}, use_reentrant=True)",
    "{z} = checkpoint_sequential(net, 2, {x}.float(), use_reentrant=False)", "{z} = T.NoGrad.apply({x})",
    "{z} = T.Inner.apply({x})", "{z} = T.decorated({x})", "{z} = T.recursive({x}, {k} + 2)", "{z} = T.in_thread({x}, {y})",
    "{z} = next(T.held_open({x}))", "{z} = list(T.held_open({x}))[-1]", "{z} = T.Tagged({x}) + {y}", "{z} = T.caught({x}, {y})",
    "T.in_hook({x}, {y})", "{z} = torch.jit.trace(T.plain, {x}.detach(), check_trace=False)({x})",
]  # fmt: skip
MEMORY = ["gc.collect()", "{x} = None", "h = None", "{x}, {y} = {y}, {x}", "keep.append({x})", "keep.clear()", "{x} = {y} = None"]

KINDS: list[tuple[int, list[str]]] = [
    (3, MAKE), (14, COMPUTE), (7, VIEW), (8, WRITE), (4, CUT), (8, GRADIENT), (3, HOOK), (4, MODULE), (3, OPTIMIZER),
    (4, CUSTOM), (2, MEMORY),
]  # fmt: skip
BLOCKS = [
    "with torch.no_grad():", "with torch.enable_grad():", "with torch.inference_mode():", "with torch.set_grad_enabled(False):",
    "with torch.set_grad_enabled(True):", "for _ in range(3):", "if {x} is not None:", "while T.twice():",
    "with torch.autograd.graph.saved_tensors_hooks(T.pack, T.unpack):", "with torch.autograd.graph.save_on_cpu():",
    "with torch.autocast('cpu', dtype=torch.bfloat16):", "with torch.autograd.set_detect_anomaly(True):",
    "with torch.inference_mode(False):", "with T.generator_mode():", "with torch.autograd.graph.allow_mutation_on_saved_tensors():",
    "with torch.random.fork_rng():", "with T.counting():", "for _ in range(9):", "with torch.autograd.profiler.record_function('x'):",
    "with torch.autograd.forward_ad.dual_level():",
]  # fmt: skip

Choose = Callable[[int], int]


@dataclass
class Line:
    """One statement; `guarded`: in a try block of its own."""

    text: str
    guarded: bool = True


@dataclass
class Block:
    """A compound statement."""

    head: str
    body: list[Line | Block]
    function: bool = False


@dataclass
class Program:
    steps: list[Line | Block]
    in_function: bool = True
    sample: bool = False
    seed: int = 0

    def source(self) -> str:
        """The text that is run: a function `main`, or statements of a module."""
        head = [
            "net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.3), nn.Linear(4, 3))",
            "rnn = nn.LSTM(3, 3)", "opt = torch.optim.SGD(net.parameters(), lr=0.1)", "h = None", "keep = []",
            "v0 = torch.rand(3, 3, dtype=torch.float64, requires_grad=True)", "v1 = torch.rand(3, 3, requires_grad=True)",
            "v2 = torch.rand(3, 3, dtype=torch.float64)", "v3 = v0 * 2", "v4 = net(v1).double()", f"T.step({POOL})",
        ]  # fmt: skip
        lines = head + list(_emit(self.steps, 0))
        lines += [f"T.truth({name}, last=True)" for name in NAMES]
        if self.in_function:
            lines = ["def main():", *("    " + line for line in lines), "main()"]
        return "\n".join(lines) + "\n"


def _emit(steps: list[Line | Block], depth: int) -> Iterator[str]:
    pad = "    " * depth
    for step in steps:
        if isinstance(step, Block):
            yield f"{pad}try:"
            if step.function:
                yield f"{pad}    def inner({POOL}):"
                yield from _emit(step.body, depth + 2)
                yield f"{pad}        return {step.head}"
                yield f"{pad}    {step.head} = inner({POOL})"
            else:
                yield f"{pad}    {step.head}"
                yield from _emit(step.body, depth + 2)
                yield f"{pad}        pass"
            yield f"{pad}except Exception as error: T.error(error)"
        elif step.guarded:
            yield f"{pad}try: {step.text}"
            yield f"{pad}except Exception as error: T.error(error)"
        else:
            yield f"{pad}{step.text}"
        yield f"{pad}T.step({POOL})"


def generate(choose: Choose) -> Program:
    """A program from choices: `choose(n)` gives a number below n."""
    steps = [_statement(choose, 0) for _ in range(2 + choose(16))]
    return Program(steps, choose(3) > 0, choose(4) == 0, choose(1000))


def _statement(choose: Choose, depth: int) -> Line | Block:
    if depth < 3 and choose(7) == 0:
        body = [_statement(choose, depth + 1) for _ in range(1 + choose(4))]
        if choose(5) == 0:
            return Block(NAMES[choose(len(NAMES))], body, function=True)
        return Block(_fill(choose, BLOCKS[choose(len(BLOCKS))]), body)
    at = choose(sum(weight for weight, _ in KINDS))
    for weight, kind in KINDS:
        at -= weight
        if at < 0:
            break
    return Line(_fill(choose, kind[choose(len(kind))]), choose(40) > 0)


def _fill(choose: Choose, text: str) -> str:
    x, y, z = (NAMES[choose(len(NAMES))] for _ in range(3))
    return text.format(x=x, y=y, z=z, k=choose(3))


# -- what a program can notice ---------------------------------------------------------


@dataclass
class Check:
    """The graph below one tensor, and where the trace should have it."""

    rows: list[Any]
    serial: int
    index: int
    text: str


@dataclass
class Record:
    """What was seen of one run."""

    notes: list[Any] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    mismatch: str = ""


class Witness:
    """`T` in the programs: takes notes, and holds what programs share. Keeps no tensor alive."""

    def __init__(self, watched: bool):
        self.record = Record()
        self.watched = watched
        self.seen: dict[int, Any] = {}
        self.refs: list[Any] = []
        self.storages: list[Any] = []
        self.times = 0
        vars(self).update(_functions(self))

    # -- notes -------------------------------------------------------------------------

    def step(self, *pool: Any) -> None:
        """Takes down the state of all variables and which tensors and memory are gone."""
        with torch._C.DisableTorchFunction():
            self.record.notes.append((tuple([self._state(t) for t in pool]), self.gone(), _modes()))

    def gone(self) -> tuple[Any, ...]:
        refs = tuple([i for i, ref in enumerate(self.refs) if ref() is None])
        versions = tuple([_version(t) for ref in self.refs if (t := ref()) is not None])
        return refs, versions, tuple([i for i, ref in enumerate(self.storages) if ref.expired()])

    def _state(self, t: Any) -> Any:
        if not isinstance(t, torch.Tensor):
            return repr(t)
        self.watch(t)
        grad = _asked(lambda: t.grad)
        if isinstance(grad, torch.Tensor):
            self.watch(grad)
        own = (type(t).__name__, str(t.dtype), tuple(t.shape), t.requires_grad, _asked(lambda: t.is_leaf))
        return own, _version(t), digest(t), digest(grad)

    def watch(self, t: Any) -> None:
        """Follows a tensor (or another object) and its memory to their end."""
        known = self.seen.get(id(t))
        if known is not None and known() is t:
            return
        self.seen[id(t)] = ref = weakref.ref(t)
        self.refs.append(ref)
        if isinstance(t, torch.Tensor):
            self.storages.append(StorageWeakRef(t.untyped_storage()))

    def log(self, *what: Any) -> None:
        with torch._C.DisableTorchFunction():
            shown = [digest(w) if isinstance(w, torch.Tensor) else repr(w) for w in what]
            self.record.notes.append(("log", [" ".join(_no_addresses(s)) for s in map(str, shown)]))

    def error(self, error: BaseException) -> None:
        text = "".join(traceback.format_exception(error))
        self.record.notes.append(("error", type(error).__name__, " ".join(_no_addresses(text))))

    def truth(self, t: Any, last: bool = False) -> None:
        """Notes the graph below `t` (of its sum, at the end), and which value the trace has for it."""
        if not isinstance(t, torch.Tensor):
            return
        if last:
            try:
                with torch.enable_grad():
                    t = t.abs().sum()
            except RuntimeError:
                return
        with torch._C.DisableTorchFunction():
            root = _asked(lambda: t.grad_fn)
            if root is None or isinstance(root, str):
                return
            rows = graph_below(root)
            self.record.notes.append(("graph", [name for name, _ in rows], [edges for _, edges in rows]))
            if not self.watched:
                return
            from gradscope.session import active

            session = active()
            assert session is not None
            recorder = session.recorder
            if recorder.paused or not recorder.segment.looked:
                return
            entry = recorder.live.find(t)
            text = f"line {sys._getframe(1).f_lineno}"
            if entry is None or entry.serial < 0:
                self.record.mismatch = self.record.mismatch or f"{text}: not captured"
            elif last or not _rebased(t):
                self.record.checks.append(Check(rows, entry.serial, entry.index, text))

    def twice(self) -> bool:
        self.times += 1
        return self.times % 3 != 0

    def broken(self, g: Any) -> None:
        raise ValueError("a hook of the user's")


def _rebased(t: Any) -> bool:
    """Whether the tensor is a view: a write to its base since may have given it another node."""
    return bool(t._is_view())


def _modes() -> tuple[Any, ...]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), hash_bytes(torch.get_rng_state())


def _asked(question: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return question()
        except (RuntimeError, AttributeError) as error:
            return str(error)


def _version(t: Any) -> Any:
    return (t._version if not t.is_inference() else "inference") if isinstance(t, torch.Tensor) else None


def digest(t: Any) -> Any:
    """The tensor's bytes, short."""
    if not isinstance(t, torch.Tensor):
        return repr(t)
    with torch._C.DisableTorchFunction():
        return str(t.dtype), tuple(t.shape), hash_bytes(t)


def hash_bytes(t: Any) -> str:
    plain = t.detach().contiguous().resolve_conj().resolve_neg().view(-1)
    return hashlib.md5(plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b"").hexdigest()[:8]


def _no_addresses(text: str) -> list[str]:
    return [word for word in text.split() if not word.startswith("0x")]


def graph_below(root: Any) -> list[tuple[str, list[tuple[int, int]]]]:
    """(name, edges) of every node below `root`, in the order of a walk over next_functions."""
    index = {root: 0}
    order = [root]
    rows = []
    for node in order:
        edges = []
        for target, input_nr in node.next_functions:
            if target is None:
                continue
            if target not in index:
                index[target] = len(order)
                order.append(target)
            edges.append((index[target], input_nr))
        rows.append((node.name().rpartition("::")[2], edges))
    return rows


def same_graph(rows: list[Any], graph: Any, node: int) -> str:
    """What differs between a true graph and a captured one, up to where the captured one says that
    an earlier segment goes on; "" where nothing does."""
    paired = {0: node}
    todo = [0]
    while todo:
        at = todo.pop()
        name, edges = rows[at]
        found = graph.nodes[paired[at]]
        if found.name != name:
            return f"node {at} is {name}, captured {found.name}"
        if found.op is None and not found.edges and name != "AccumulateGrad":
            continue
        if [nr for _, nr in edges] != [e.input_nr for e in found.edges]:
            return f"edges of {name} ({at}): {edges}, captured {found.edges}"
        for (target, _), edge in zip(edges, found.edges, strict=True):
            if target not in paired:
                paired[target] = edge.target
                todo.append(target)
            elif paired[target] != edge.target:
                return f"{name} ({at}) leads to {target}, captured another node"
    if len(set(paired.values())) != len(paired):
        return "two nodes are captured as one"
    return ""


# -- what programs call ------------------------------------------------------------------


def _functions(witness: Witness) -> dict[str, Any]:
    """Functions and classes that are a user's own, made anew for each run."""
    space: dict[str, Any] = {"T": witness, "torch": torch, "contextlib": contextlib}
    source = linecache.getlines("/random/library.py")
    exec(compile("".join(source), "/random/library.py", "exec"), space)
    return {k: v for k, v in space.items() if not k.startswith("__") and k not in ("T", "torch", "contextlib")}


LIBRARY = '''
import threading
from torch.overrides import TorchFunctionMode

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        T.watch(ctx)
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g

class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    @staticmethod
    def backward(ctx, g):
        return g * 2

class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.kept = x
        ctx.set_materialize_grads(False)
        return x + y, x - y
    @staticmethod
    def backward(ctx, a, b):
        T.log(a is None, b is None)
        a = 0 if a is None else a
        b = 0 if b is None else b
        return a + b, a - b

class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g + 1

class ViewOf(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)
    @staticmethod
    def backward(ctx, g):
        return g.view(3, 3)

class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()
    @staticmethod
    def backward(ctx, g):
        raise ValueError("backward of the user's")

class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 2
        raise KeyError("forward of the user's")
    @staticmethod
    def backward(ctx, g):
        return g

class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sin()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return ctx.saved_tensors[0] * g

class NoGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.round()
        ctx.mark_non_differentiable(y)
        return y
    @staticmethod
    def backward(ctx, g):
        return None

class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            inner = x.detach().requires_grad_()
            y = (inner ** 2).sum()
            ctx.save_for_backward(torch.autograd.grad(y, inner)[0])
        return y.detach()
    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0] * g

class Tagged(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        return x.as_subclass(cls)

class Counting(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        T.log(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))

def counting():
    return Counting()

def block(x, y):
    z = x * y
    T.watch(z)
    return torch.dropout(z.sin(), 0.5, True) + x

def plain(x):
    return (x * 2).sin()

@torch.no_grad()
def decorated(x):
    with torch.enable_grad():
        y = x * 2
    return y + x

def recursive(x, n):
    return x if n == 0 else recursive(x * 1.5, n - 1) + x

def in_thread(x, y):
    found = []
    def work():
        try:
            z = x * y
            z.sum().backward()
            found.append(z.detach() + x)
        except Exception as error:
            found.append(None)
            T.error(error)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]

def held_open(x):
    with torch.no_grad():
        yield x * 2
    yield x * 3

def generator_mode_():
    with torch.no_grad():
        yield
generator_mode = contextlib.contextmanager(generator_mode_)

def caught(x, y):
    try:
        z = x * y
        return z @ torch.ones(7, 7)
    except RuntimeError:
        return x + 1
    finally:
        T.log("finally")

def in_hook(x, y):
    def hook(g):
        inner = (y.detach() * 2).requires_grad_()
        (inner * g.detach()).sum().backward()
        T.log(inner.grad)
    x.register_hook(hook)

def forward_hook(module, args, output):
    T.watch(output)
    T.log(output)

def pack(t):
    return t.detach().clone()

def unpack(t):
    return t

def closure(net, opt, x):
    def run():
        opt.zero_grad()
        loss = net(x.detach().float()).square().mean()
        loss.backward()
        return loss
    return run

def train(net, opt, x):
    x = x.detach().float()
    for _ in range(14):
        opt.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        T.log(loss)
'''
linecache.cache["/random/library.py"] = (len(LIBRARY), None, LIBRARY.splitlines(True), "/random/library.py")


# -- running -----------------------------------------------------------------------------


def run(program: Program, watched: bool) -> Record:
    """Runs the program once and returns what could be seen of it."""
    source = program.source()
    linecache.cache[FILE] = (len(source), None, source.splitlines(True), FILE)
    witness = Witness(watched)
    space: dict[str, Any] = {"__name__": "program", "T": witness}
    exec(
        "import copy, gc, pickle, torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
        "from torch.utils.checkpoint import checkpoint, checkpoint_sequential",
        space,
    )
    code = compile(source, FILE, "exec")
    torch.manual_seed(program.seed)
    torch.set_warn_always(True)  # what torch says once, both runs are told
    torch.set_grad_enabled(True)
    gc.freeze()  # what is older than the program need not be looked through
    gc.disable()
    scope = gradscope.watch(sample=program.sample) if watched else None
    printed = io.StringIO()
    try:
        with warnings.catch_warnings(record=True) as told, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            with scope or contextlib.nullcontext():
                _execute(code, space, witness)
                space.clear()
                witness.step()
                gc.collect()
                witness.step()
    finally:
        gc.enable()
        gc.unfreeze()
        torch.set_warn_always(False)
        torch.set_grad_enabled(True)
    record = witness.record
    vars(witness).clear()
    said = [(str(w.message), w.category.__name__, w.filename, w.lineno) for w in told]
    record.notes += [("printed", printed.getvalue()), ("warned", said)]
    if scope is not None:
        record.faults = scope.faults
        record.mismatch = record.mismatch or _compare_graphs(record.checks, scope)
    return record


def _execute(code: Any, space: dict[str, Any], witness: Witness) -> None:
    try:
        exec(code, space)
    except Exception as error:
        witness.error(error)


def _compare_graphs(checks: list[Check], scope: Any) -> str:
    session = scope._session
    for check in checks:
        number = session.recorder.store.graph_of.get(check.serial)
        if number is None:
            return f"{check.text}: its segment is not stored"
        graph = next(g for g in scope.trace.graphs if g.id == number)
        node = graph.values[check.index].node
        if node is None:
            return f"{check.text}: the value has no node, but {check.rows[0][0]}"
        different = same_graph(check.rows, graph, node)
        if different:
            return f"{check.text}: {different}"
    return ""


def _sort(a: Any, b: Any) -> str:
    """What kind of difference it is."""
    if isinstance(a[0], str) or isinstance(b[0], str):
        return f"{a[0]}/{b[0]}" if isinstance(a[0], str) and isinstance(b[0], str) else "steps"
    return next((name for name, p, w in zip(("values", "gone", "modes"), a, b, strict=True) if p != w), "")


def difference(program: Program) -> str:
    """Runs the program both ways. Returns what differs, "" where nothing does."""
    plain, watched = run(program, False), run(program, True)
    for number, (a, b) in enumerate(zip(plain.notes, watched.notes, strict=False)):
        if a != b:
            return f"{_sort(a, b)}: note {number}:\n plain   {a}\n watched {b}"
    if len(plain.notes) != len(watched.notes):
        return f"{len(plain.notes)} notes plain, {len(watched.notes)} watched"
    if watched.faults:
        return f"faults: {watched.faults}"
    return watched.mismatch


# -- sweeps ------------------------------------------------------------------------------


def shrink(program: Program, kind: str) -> Program:
    """A smaller program that still differs in the same way."""
    best = program
    shrunk = True
    while shrunk:
        shrunk = False
        for smaller in _smaller(best.steps):
            candidate = replace(best, steps=smaller)
            if _kind(_attempt(candidate)) == kind:
                best, shrunk = candidate, True
                break
    return best


def _smaller(steps: list[Line | Block]) -> Iterator[list[Line | Block]]:
    for i, step in enumerate(steps):
        yield steps[:i] + steps[i + 1 :]
        if isinstance(step, Block):
            yield [*steps[:i], *step.body, *steps[i + 1 :]]
            for body in _smaller(step.body):
                yield [*steps[:i], replace(step, body=body), *steps[i + 1 :]]


def _kind(text: str) -> str:
    return re.sub(r"\d+", "", text)[:30] if text.startswith("line") else text.split(":")[0]


def _attempt(program: Program) -> str:
    try:
        return difference(program)
    except Exception as error:
        return f"harness: {''.join(traceback.format_exception(error))}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--stop-after", type=int, default=5, help="this many failures")
    parser.add_argument("--show", action="store_true", help="print each program")
    options = parser.parse_args()
    failures = 0
    for seed in range(options.seed, options.seed + options.count):
        program = generate(random.Random(seed).randrange)
        if options.show:
            print(program.source())
        found = _attempt(program)
        if found:
            small = shrink(program, _kind(found))
            failures += 1
            print(f"seed {seed}: {_attempt(small)[:1500]}\nsample={small.sample} seed={small.seed}\n{small.source()}", flush=True)
            if failures >= options.stop_after:
                break
    print(f"{seed - options.seed + 1} programs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
