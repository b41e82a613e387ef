"""A module has an activation that it never calls, and its layers follow each other with nothing between.

Why: a layer is called by `forward` alone: one that `__init__` makes and `forward` leaves out does nothing, and torch
says nothing. Two linear layers or convolutions without an activation between them are together one linear map, however
wide they are.

Fix: call the activation between the layers.

Measured: no operation of the run came from the activation, two layers of the module that are trained follow each
other in the graph of each pass with nothing but views, dropout or batch norm between, and no other activation comes
between a layer of the module and a later one. Silent on: an activation that the text of the class uses somewhere, as
under a condition; layers that are narrower than what they stand between (a factor of low rank); convolutions in groups;
modules whose result goes through an activation before the next layer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from gradscope.analysis.calls import calls, is_part_of
from gradscope.analysis.counted import at_least
from gradscope.analysis.ops import ADDITIONS, CUTTING_OFF, LAYERS, LOSS_FUNCTIONS, MEANS, PASSING
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import located, parameter_subjects, where
from gradscope.fixes.calls import call_at
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Module, Op, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

ACTIVATIONS = {
    "ReLU", "ReLU6", "LeakyReLU", "PReLU", "RReLU", "ELU", "SELU", "CELU", "GELU", "SiLU", "Mish", "Softplus", "Tanh",
    "Sigmoid", "Hardswish", "Hardsigmoid", "Hardtanh", "Softsign", "LogSigmoid",
}  # fmt: skip
BETWEEN = (PASSING - CUTTING_OFF) | {"dropout", "dropout1d", "dropout2d", "dropout3d", "batch_norm"}
LINEAR = BETWEEN | LAYERS | ADDITIONS | MEANS | {
    "sum", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
}  # fmt: skip
FAR = 2_000  # operations


def bad() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)
            self.act = nn.ReLU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.one(x)  # cause: GS477
            y: torch.Tensor = self.two(x)  # effect: GS477
            return y

    block, head = Block(), nn.Linear(4, 1)
    opt = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (head(block(torch.randn(8, 3, 6, 6)).mean((2, 3))) - 1).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)
            self.act = nn.ReLU()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.act(self.one(x))
            y: torch.Tensor = self.two(x)
            return y

    block, head = Block(), nn.Linear(4, 1)
    opt = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (head(block(torch.randn(8, 3, 6, 6)).mean((2, 3))) - 1).pow(2).mean().backward()
        opt.step()


@dataclass(frozen=True)
class _Pair:
    """Two layers in a row; last: the call whose result goes into the second."""

    first: Op
    last: Op
    second: Op


@rule("GS477", name="activation-never-called", severity="warning", over=("GS733",))
def activation_never_called(trace: Trace) -> Iterator[Finding]:
    idle = [m for m in trace.modules.values() if m.cls in ACTIVATIONS and m.parent is not None and m.path]
    if not idle:
        return
    ran = {op.module for graph in trace.graphs for op in graph.ops}
    told: set[tuple[str, str]] = set()
    for activation in idle:
        whole = trace.modules.get(activation.parent) if activation.parent is not None else None
        if activation.id in ran or whole is None or (whole.cls, _attribute(activation)) in told:
            continue
        pair = _in_a_row(trace, whole)
        made = _made(trace, pair.first.site.user, whole.cls, activation) if pair is not None else None
        if pair is not None and made is not None:
            told.add((whole.cls, _attribute(activation)))
            yield _finding(trace, activation, whole, made, pair)


def _attribute(module: Module) -> str:
    return module.path.rpartition(".")[2]


def _made(trace: Trace, near: Site, name: str, activation: Module) -> Site | None:
    """Where the class around a site, which is that of the module, makes this activation of torch's, if it has no other
    word of it."""
    file, attribute = trace.source_file(near.path), _attribute(activation)
    cls = next((node for node in file.around(near) if isinstance(node, ast.ClassDef)), None)
    if cls is None or cls.name != name:
        return None
    mentions = [n for n in ast.walk(cls) if isinstance(n, ast.Attribute) and n.attr == attribute]
    texts = [n for n in ast.walk(cls) if isinstance(n, ast.Constant) and n.value == attribute]
    statement = file.statement_of(mentions[0]) if len(mentions) == 1 else None
    if texts or not isinstance(statement, ast.Assign) or not isinstance(mentions[0].ctx, ast.Store):
        return None
    makers = [n for n in ast.walk(statement.value) if called_name(n) == activation.cls]
    if not any(isinstance(n, ast.Call) and file.imported_name(n.func).startswith("torch.") for n in makers):
        return None
    return Site(-1, near.path, *file.span(statement), "__init__", "user")


def _in_a_row(trace: Trace, whole: Module) -> _Pair | None:
    """The first two layers of a module that follow each other, where this holds in each pass and nothing makes the
    result of one of its layers other than linear before a later layer."""
    known, found = paths(trace), list[_Pair]()
    for number in dict.fromkeys(event.graph for event in known.backwards if event.graph >= 0):
        graph = known.graph(number)
        layers = [
            op
            for op in graph.called(LAYERS)
            if op.nodes and op.module is not None and is_part_of(trace, op.module, whole.id)
        ]
        if not layers:
            continue
        if not all(_leads_on_linearly(graph, op) for op in layers):
            return None
        pairs = [pair for op in layers if (pair := _pair(known, graph, layers, op)) is not None]
        if not pairs:
            return None
        found.append(pairs[0])
    return found[0] if found else None


def _leads_on_linearly(graph: Graph, layer: Op) -> bool:
    """Whether no operation other than linear stands between a layer and a later one."""
    behind = graph.readers_behind(layer.outputs, lambda op: op.name in LINEAR - LAYERS)
    for _, op in islice(behind, FAR):
        if op.name in LINEAR or op.name in LOSS_FUNCTIONS:
            continue
        later = graph.readers_behind(op.outputs, lambda _: True)
        if any(other.name in LAYERS for _, other in islice(later, FAR)) or not _is_simple(graph, op):
            return False
    return True


def _is_simple(graph: Graph, op: Op) -> bool:
    """Whether parameters have no part in it, or in what comes of it: those of another kind of layer."""
    behind = (other for _, other in islice(graph.readers_behind(op.outputs, lambda _: True), FAR))
    return not any(graph.values[i].parameter is not None for one in (op, *behind) for i in one.inputs)


def _pair(known: Paths, graph: Graph, layers: list[Op], second: Op) -> _Pair | None:
    """The layer right before another one of these, where nothing else reads what it gave and it is wide enough."""
    value = second.inputs[0]
    last = maker = graph.maker(value)
    while maker is not None and maker.name in BETWEEN and maker.inputs:
        if len(graph.consumers.get(value, ())) != 1:
            return None
        value = maker.inputs[0]
        maker = graph.maker(value)
    if maker is None or last is None or maker not in layers or len(graph.consumers.get(value, ())) != 1:
        return None
    into, inner = _widths(graph, maker)
    given, out = _widths(graph, second)
    trained = all(
        (p := known.parameter_of((graph.id, op.inputs[1]))) is not None and known.stepped(p)
        for op in (maker, second)
    )
    whole = inner == given or "conv" not in second.name
    return (
        _Pair(maker, last, second) if trained and whole and into and out and inner >= min(into, out) else None
    )


def _widths(graph: Graph, layer: Op) -> tuple[int, int]:
    """How many channels go into a layer and come out of it; zeros where it takes them in groups."""
    weight, given = graph.values[layer.inputs[1]].shape, graph.values[layer.inputs[0]].shape
    if layer.name == "linear":
        return weight[-1], weight[0]
    channels = given[1] if len(given) == len(weight) else given[0]
    return (channels, weight[0]) if weight[1] == channels else (0, 0)


def _finding(trace: Trace, activation: Module, whole: Module, made: Site, pair: _Pair) -> Finding:
    first, second = pair.first.site.user, pair.second.site.user
    known, name = calls(trace), f"self.{_attribute(activation)}"
    number = sum(
        graph.count for graph in trace.graphs if any(op.site.id == pair.first.site.id for op in graph.ops)
    )
    before = pair.last.site.user
    return Finding(
        message=f"`{name}` of `{whole.cls}` is never called: {_called(known.name_of, pair.first)} and"
        f" {_called(known.name_of, pair.second)} follow each other with no activation between",
        cause=first,
        cause_label="its result goes into the next layer as it is",
        effect=second if second.location() != first.location() else None,
        effect_label="a linear map of a linear map is one",
        related=((made, "made here, and never called"),),
        seen=(
            f"the first of the two layers ran {at_least(trace, number, 'time')}, and no operation of the run came from"
            f" the activation; its class mentions `{name}` nowhere else",
        ),
        fix=f"put the activation between them: `{name}(…)` around {located(trace, before, 'the first layer')}"
        if first.span() != second.span()
        else f"call `{name}` between the layers ({where(first)})",
        edits=_called_between(trace, whole, name, before, second),
        count=number,
        subjects=parameter_subjects(
            p
            for op in (pair.first, pair.second)
            if (p := paths(trace).graph(op.graph).values[op.inputs[1]].parameter) is not None
        ),
    )


def _called(name_of: object, op: Op) -> str:
    return name_of(op.module) if callable(name_of) and op.module is not None else f"`{op.name}`"


def _called_between(trace: Trace, whole: Module, name: str, before: Site, second: Site) -> Edits:
    """`self.act(self.one(x))` for `self.one(x)` in a method of the module's own class."""
    here = Source(trace, before.path)
    call = call_at(trace, before)
    cls = here.file.class_of(call) if call is not None else None
    if call is None or cls is None or cls.name != whole.cls or before.span() == second.span():
        return ()
    if here.file.loop_of(call) is not None:
        return ()
    return here.around(call, f"{name}(", ")")
