"""×n in a picture is how often a line ran, or a module was called, in the pass that is shown.

What is true is counted by Python itself (`sys.settrace`) and by a wrapper of `nn.Module.__call__`."""

from __future__ import annotations

import linecache
import sys
from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn

import gradscope
from gradscope.graph import view
from gradscope.graph._build import Builder
from gradscope.graph._owners import line_boxes
from gradscope.graph._shown import shown as shown_of

HEAD = """
import torch
from torch import nn
import torch.nn.functional as F
x = torch.randn(4, 8)
def layers(n): return [nn.Linear(8, 8) for _ in range(n)]
def end(t): t.pow(2).sum().backward()
class Block(nn.Module):
    def __init__(self, skip=True):
        super().__init__()
        self.one, self.two, self.act = nn.Linear(8, 8), nn.Linear(8, 8), nn.ReLU()
        self.side = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)) if skip else None
    def forward(self, x):
        out = self.act(self.one(x))  # ran
        out = self.act(self.two(out))  # ran
        if self.side is not None:
            x = self.side(x)  # ran
        out = out + x  # ran
        return out
"""
PROGRAMS = {
    "a loop over layers": """
for layer in layers(5):
    x = layer(x)  # ran
end(x)
""",
    "a loop over two kinds of layers": """
for layer in [*layers(3), nn.Tanh(), nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 8)]:
    x = layer(x)  # ran
end(x)
""",
    "one layer in a loop": """
layer = nn.Linear(8, 8)
for i in range(7):
    x = torch.tanh(layer(x))  # ran
end(x)
""",
    "a Sequential": """
net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
x = net(x)  # ran
end(x)
""",
    "a Sequential in a loop": """
net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))
for _ in range(3):
    x = net(x)  # ran
end(x)
""",
    "Sequentials in a loop": """
for net in [nn.Sequential(*layers(2)), nn.Sequential(*layers(2)), nn.Sequential(*layers(3))]:
    x = net(x)  # ran
end(x)
""",
    "residual blocks in stages": """
net = nn.Sequential(nn.Sequential(Block(False), Block(False)), nn.Sequential(Block(), Block(False)), Block())
end(net(x))
""",
    "a layer called at two lines": """
layer = nn.Linear(8, 8)
for _ in range(3):
    x = layer(x)  # ran
x = layer(x).relu()  # ran
end(x)
""",
    "a helper called from two lines": """
w = torch.randn(8, 8, requires_grad=True)
def helper(t):
    return torch.tanh(t @ w)  # ran
for _ in range(3):
    x = helper(x)
end(helper(x) + helper(x * 2))
""",
    "branches": """
one, two = layers(2)
for i in range(5):
    if i % 2:
        x = one(x)  # ran
    else:
        x = two(x).relu()  # ran
end(x)
""",
    "branches in an expression": """
one, two = layers(2)
for i in range(5):
    x = one(x) if i % 3 else two(x).relu()  # ran
end(x)
""",
    "a part that runs now and then": """
one, two = layers(2)
for i in range(5):
    x = one(x) + (two(x) if i == 2 else 0)  # ran
end(x)
""",
    "recursion": """
one = nn.Linear(8, 8)
def deep(t, n):
    if n == 0:
        return t
    t = one(t).tanh()  # ran
    return deep(t, n - 1)
end(deep(x, 6))
""",
    "a tree of calls": """
one = nn.Linear(16, 8)
def tree(n):
    if n == 0:
        return x
    left, right = tree(n - 1), tree(n - 1)
    return one(torch.cat([left, right], 1))  # ran
end(tree(3))
""",
    "a comprehension inside a call": """
many = layers(5)
x = torch.stack([layer(x) for layer in many]).sum(0)  # ran
end(x)
""",
    "a sum of a generator": """
many = layers(4)
for i in range(3):
    x = x + sum(layer(x) for layer in many)  # ran
weights = 0.1 * sum(layer.weight.pow(2).sum() for layer in many)  # ran
end(x.sum() + weights)
""",
    "sums of a generator in turn": """
many, parts = layers(4), []
for i in range(3):
    parts.append(sum(layer(x) for layer in many))  # ran
end(torch.cat(parts))
""",
    "results that are unpacked one by one": """
one, two = layers(2)
for i in range(3):
    a, b = map(torch.tanh, [one(x), two(x)])  # ran
    x = a + b  # ran
left, right = map(one, [x, x])  # ran
end(left + right)
""",
    "comprehensions": """
many, total = layers(3), 0
for i in range(4):
    outs = [layer(x) for layer in many]  # ran
    outs = [torch.tanh(out) if n else out * 2 for n, out in enumerate(outs)]  # ran
    a, b, c = (out + 1 for out in outs)  # ran
    total = total + torch.cat([a, b, c])  # ran
kept = []
for i in range(3):
    kept.append([layer(x) for layer in many])  # ran
end(total.sum() + torch.stack([out for outs in kept for out in outs]).sum())
""",
    "attention to other data": """
attention, data = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(4, 5, 8)
x = x[:, None]
for _ in range(3):
    x = x + attention(x, data, data)[0]  # ran
end(x)
""",
    "a loop in a loop": """
cells = [nn.GRUCell(8, 8) for _ in range(2)]
for t in range(4):
    for cell in cells:
        x = cell(x, x)  # ran
    x = x * 0.5  # ran
end(x)
""",
}


def watched(name: str) -> tuple[Any, Counter[int]]:
    """The program's trace, and how often each of its marked lines ran."""
    text = HEAD + PROGRAMS[name]
    path = f"/counts/{name}.py"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    runs: Counter[int] = Counter()
    names: dict[str, Any] = {"__name__": "counts"}
    marked = {n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# ran")}
    torch.manual_seed(0)

    def lines(frame: Any, event: str, arg: object) -> Any:
        if event == "line" and frame.f_lineno in marked:
            runs[frame.f_lineno] += 1
        return lines

    def trace(frame: Any, event: str, arg: object) -> Any:
        own = frame.f_code.co_filename == path and frame.f_code.co_name not in ("<listcomp>", "<genexpr>")
        return lines if own else None

    code = compile(text, path, "exec")
    with gradscope.watch() as scope:
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            exec(code, names)
        finally:
            sys.settrace(before)
    return scope, runs


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_line_is_counted_as_often_as_it_ran(name: str) -> None:
    scope, runs = watched(name)
    assert runs
    shown: Counter[int] = Counter()
    for _, data in view(scope.trace, "line").graph.nodes.items():
        if data["kind"] in ("line", "cut"):
            shown[data["site"].user.line] += data["count"]
    assert {line: shown[line] for line in runs} == dict(runs)


LEFT = """
class Around(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner, self.norm = inner, nn.LayerNorm(8)
    def forward(self, x):
        return self.inner(self.norm(x)) + x
for layer in [Around(Block()) for _ in range(5)]:
    x = layer(x)
loss = F.mse_loss(
    x.tanh(),
    torch.zeros(4, 8),
) - 0.5 * torch.sum(
    x.exp() + 1
)
loss.backward()
"""


@pytest.mark.parametrize("rolled", [False, True])
def test_what_a_line_does_before_and_after_what_it_calls_is_two_boxes(
    rolled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROGRAMS, "lines that are left in the middle", LEFT)
    scope, _ = watched("lines that are left in the middle")
    flow = shown_of(scope.trace, None, []).flow
    graph = Builder(flow, line_boxes(flow, rolled=rolled), "line", {}, []).build()
    parts: Counter[str] = Counter()
    for _, data in graph.nodes.items():
        if data["form"] == "op":
            parts[data["label"]] += data["count"]
    assert parts == {"layer_norm": 5, "add": 5, "mse_loss": 1, "sub": 1}
    texts = [data["label"] for _, data in graph.nodes.items() if data["form"] == "line"]
    assert "loss = F.mse_loss(" not in texts and {"x.tanh(),", "x.exp() + 1"} <= set(texts)


CALLING = """
for layer in [Block(), Block(), nn.Linear(8, 8), Block(), nn.Linear(8, 8), Block()]:
    x = layer(x) if isinstance(layer, Block) else layer(x * 2)
end(x)
"""


def test_a_closed_line_is_counted_on_both_sides_of_its_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROGRAMS, "a loop that calls blocks", CALLING)
    scope, _ = watched("a loop that calls blocks")
    graph = view(scope.trace, "line", depth=0).graph
    assert (
        sum(data["count"] for _, data in graph.nodes.items() if data["label"].startswith("x = layer(x)")) == 6
    )


PARAMETRIZED = """
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
net = nn.Sequential(Block(), Block(skip=False), Block(skip=False))
for block in net:
    weight_norm(block.one), spectral_norm(block.two)
end(net(x))
"""


def test_a_line_whose_layer_is_parametrized_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROGRAMS, "parametrized layers", PARAMETRIZED)
    scope, runs = watched("parametrized layers")
    shown: Counter[int] = Counter()
    within: dict[str, str] = {}
    for _, data in view(scope.trace, "line").graph.nodes.items():
        if data["kind"] in ("line", "cut") and data["region"] is None:  # spectral norm iterates under no_grad
            shown[data["site"].user.line] += data["count"]
    assert {line: shown[line] for line in runs} == dict(runs)
    for id, module in scope.trace.modules.items():
        within[f"{module.cls} {module.path}"] = scope.trace.modules[module.root].name
        assert module.parent is not None or id == module.root
    assert within["_WeightNorm 1.one.parametrizations.weight.0"] == "net"
    names = {p.name for p in scope.trace.parameters}
    assert {"0.one.parametrizations.weight.original1", "2.two.parametrizations.weight.original"} <= names


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_module_is_counted_as_often_as_it_was_called(name: str) -> None:
    """Boxes of one line or part of the same module are counted together."""
    calls: Counter[str] = Counter()
    real = nn.Module.__call__

    def counting(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if not list(module.children()) or isinstance(
            module, nn.MultiheadAttention
        ):  # which calls none of its own
            calls[type(module).__name__] += 1
        return real(module, *args, **kwargs)

    nn.Module.__call__ = counting  # type: ignore[method-assign]
    try:
        scope, _ = watched(name)
    finally:
        nn.Module.__call__ = real  # type: ignore[method-assign]
    shown: Counter[str] = Counter()
    for _, data in view(scope.trace, "module").graph.nodes.items():
        if data["kind"] == "module":
            shown[data["detail"]] += data["count"]
    assert shown == calls


def test_a_line_that_calls_a_method_which_calls_several_modules_ran_once() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two, self.three = nn.Linear(3, 4), nn.Linear(4, 5), nn.Linear(5, 2)

        def _forward(self, x: torch.Tensor) -> Any:
            x = self.one(x)
            x = self.two(x)
            return self.three(x)

        def _round(self, layer: nn.Module, x: torch.Tensor) -> Any:
            return torch.relu(layer(x))

        def forward(self, x: torch.Tensor) -> Any:
            y = self._forward(x)
            for layer in (self.one, self.two, self.three):
                x = self._round(layer, x)
            return x + y

    net = Net()
    with gradscope.watch() as scope:
        out = net(torch.randn(2, 3))
        out.sum().backward()
    shown = view(scope.trace, "line", depth=1).graph
    counts = Counter()
    for _, data in shown.nodes.items():
        counts[data["label"]] += data["count"]
    assert counts["y = self._forward(x)"] == 1
    assert counts["x = self._round(layer, x)"] == 3


@pytest.mark.parametrize("level", ["op", "line", "module"])
def test_a_pass_is_counted_as_often_as_it_ran_in_the_step(level: str) -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(2):
            optimizer.zero_grad()
            fast = weight
            for _ in range(4):
                (grad,) = torch.autograd.grad((fast * torch.randn(3)).pow(2).sum(), fast, create_graph=True)
                fast = fast - 0.1 * grad
            loss = fast.sum()
            for _ in range(3):
                loss.backward(retain_graph=True)
            optimizer.step()
    shown = view(scope.trace, level).graph
    counts = {
        data["label"].partition("(")[0]: data["count"]
        for _, data in shown.nodes.items()
        if data["kind"] == "backward"
    }
    assert counts == {"torch.autograd.grad": 4, "loss.backward": 3}


def test_a_call_that_leaves_something_unused_is_a_call() -> None:
    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden, self.next = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = torch.tanh(self.hidden(x))
            return hidden, torch.sigmoid(self.next(hidden))

    cell, head = Cell(), nn.Linear(4, 1)
    with gradscope.watch() as scope:
        x = torch.randn(2, 4)
        for _ in range(10):
            hidden, x = cell(x)
        head(hidden).sum().backward()
    counts = {
        data["label"]: data["count"] for _, data in view(scope.trace, "module", depth=0).graph.nodes.items()
    }
    assert counts["cell"] == 10


def test_values_between_rounds_that_are_stored_once_are_counted() -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with gradscope.watch() as scope:
        total = torch.zeros(())
        for _ in range(5):
            x = torch.randn(3)
            (grad,) = torch.autograd.grad((weight * x).pow(2).sum(), weight, create_graph=True)
            total = total + ((weight - grad) * x).sum()
        total.backward()
        optimizer.step()
    shown = view(scope.trace, "line").graph
    (own,) = (id for id, data in shown.nodes.items() if data["label"].startswith("total = total"))
    assert [data["count"] for data in shown.edges_between(own, own)] == [4]
