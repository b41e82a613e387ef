"""A module computes with random numbers of its own that are neither a parameter nor a buffer: they stay as drawn.

Why: `nn.Module` registers what is assigned to an attribute only where that is an `nn.Parameter` or a module. A plain
tensor gets no gradient and is in no optimizer, `to()` does not move it, and `state_dict()` leaves it out: a model that
is loaded anew computes with other numbers.

Fix: `nn.Parameter(…)` around it where it is to be learned; `register_buffer` where it is to stay as it is.

A note, since either may be meant.
Measured: a random tensor that a module's `__init__` has made and kept as an attribute went into the losses of the
passes that were looked at, and was neither trained nor written. Silent on: states that a recurrent layer begins with
(GS799), what was drawn elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import place
from gradscope.analysis.ops import CASTS, RECURRENT
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

DRAWS = {
    "rand", "randn", "normal", "rand_like", "randn_like", "normal_", "uniform_", "trunc_normal_", "orthogonal_",
    "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_",
}  # fmt: skip
SCALED = CASTS | {"mul", "div", "normalize"}
DEEP = 4  # calls without a graph, between the attribute and what has one
PASSES = 2


def bad() -> None:
    import torch
    from torch import nn

    class Memory(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Linear(4, 8)
            self.keys = torch.randn(10, 8)  # cause: GS250

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(self.query(x) @ self.keys.t(), dim=1)  # effect: GS250

    torch.manual_seed(0)
    model = Memory()
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(16, 4)).var().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    class Memory(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Linear(4, 8)
            self.keys = nn.Parameter(torch.randn(10, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(self.query(x) @ self.keys.t(), dim=1)

    torch.manual_seed(0)
    model = Memory()
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(16, 4)).var().backward()
        opt.step()


@rule("GS250", name="random-attribute-untrained", severity="note")
def random_attribute_untrained(trace: Trace) -> Iterator[Finding]:
    if not any(graph.called(DRAWS) for graph in trace.graphs):
        return  # before all values of a run are gone through
    known = paths(trace)
    found: dict[Key, tuple[Op, str, Op, int]] = {}
    for number in dict.fromkeys(event.graph for event in known.backwards if event.graph >= 0):
        graph = known.graph(number)
        passes = sum(event.count for event in known.backwards if event.graph == number)
        for value in graph.values:
            if value.kind != "input" or value.requires_grad or value.origin is None:
                continue
            made, maker = known.made((number, value.index)), known.maker((number, value.index))
            drawn = known.maker_behind((number, value.index), SCALED)
            if maker is None or drawn is None or drawn.name not in DRAWS:
                continue
            name = _attribute(trace, maker.site.user)
            reader = _reader(known, (number, value.index)) if name else None
            if reader is None or reader.name in RECURRENT:
                continue
            before = found[made][3] if made in found else 0
            found[made] = maker, name, reader, before + passes
    for maker, name, reader, passes in found.values():
        if passes >= PASSES and not _is_written(known, maker):
            yield _finding(trace, maker, name, reader, passes)


def _attribute(trace: Trace, site: Site) -> str:
    """`self.keys` where the statement at `site`, in the `__init__` of a module's class, gives it its value."""
    file = trace.source_file(site.path)
    statement, around = file.statement(site), next(iter(file.around(site)), None)
    cls = file.class_of(around) if around is not None else None
    if cls is None or not any(module.cls == cls.name for module in trace.modules.values()):
        return ""
    function = site.function.rpartition(".")[2]
    target = (
        statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    )
    held = (
        isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self" and function == "__init__"
    )
    return ast.unparse(target) if held and target is not None else ""


def _reader(known: Paths, key: Key) -> Op | None:
    """The call that computes with it what has a graph, and that a loss depends on."""
    graph, values = known.graph(key[0]), [key[1]]
    for _ in range(DEEP):
        readers = [op for value in values for op in graph.consumers.get(value, ())]
        tracked = (op for op in readers if any((key[0], out) in known.used.order for out in op.outputs))
        found = next((op for op in tracked if op.nodes), None)
        if found is not None:
            return found
        values = [out for op in readers for out in op.outputs]
    return None


def _is_written(known: Paths, maker: Op) -> bool:
    """Whether a later call writes into it: what a running average keeps is meant to change."""
    return any(
        known.made((graph.id, op.inputs[0])) == (maker.graph, maker.outputs[0])
        for graph in known.trace.graphs
        for op in graph.ops
        if op.writes and op.inputs
    )


def _finding(trace: Trace, maker: Op, name: str, reader: Op, passes: int) -> Finding:
    made, used = maker.site.user, reader.site.user
    statement = trace.source_file(made.path).statement(made)
    value = statement.value if isinstance(statement, ast.Assign) else None
    text = " ".join(trace.source_file(made.path).text(value).split()) if value is not None else "…"
    return Finding(
        message=f"`{name}` is neither a parameter nor a buffer: its random numbers stay as they were drawn",
        cause=made,
        cause_label="a plain tensor, which the module does not register",
        effect=used if used.location() != made.location() else None,
        effect_label="computes with it",
        seen=(
            f"the same numbers went into the losses of {passes:,} passes; it requires no gradient, and nothing has"
            " written to it",
        ),
        fix=f"where it is to be learned: `{name} = nn.Parameter({text})` ({place(made)}), before the optimizer is made;"
        f" where it is to stay as it is: `self.register_buffer({name.partition('.')[2]!r}, {text})`, which `to()` moves"
        " and `state_dict()` keeps",
        count=passes,
        subjects=frozenset({("constant", *made.location())}),
    )
