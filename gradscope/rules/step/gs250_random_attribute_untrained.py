"""A module computes with random numbers or zeros of its own that are neither a parameter nor a buffer: they stay so.

Why: `nn.Module` registers what is assigned to an attribute only where that is an `nn.Parameter` or a module. A plain
tensor gets no gradient and is in no optimizer, `to()` does not move it, and `state_dict()` leaves it out: a model that
is loaded anew computes with other numbers.

Fix: `nn.Parameter(…)` around it where it is to be learned; `register_buffer` where it is to stay as it is.

A note, since either may be meant. Of zeros a warning: what is multiplied with them is zero whatever comes in.

Measured: a random tensor that a module's `__init__` has made and kept as an attribute went into the losses of the
passes that were looked at, and was neither trained nor written. Of zeros: the attribute was the same tensor, all zeros,
before each step that was looked at, and the line that names it multiplies it with what has a gradient. Silent on:
states that a recurrent layer begins with (GS799), what was drawn elsewhere, zeros that are added or subtracted, and
those that a parameter is multiplied with, as the first state of a layer is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import place
from gradscope.analysis.ops import CASTS, MULTIPLICATIONS, PASSING, PRODUCTS_OF_MATRICES, RECURRENT, ZEROS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.events import ZeroAttribute
from gradscope.fixes.calls import assigned_value, wrapped_value
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
PRODUCTS = MULTIPLICATIONS | PRODUCTS_OF_MATRICES | {"linear"}


def bad() -> None:  # fix: by hand
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
    yield from _drawn(trace)
    yield from _zeros(trace)


def _drawn(trace: Trace) -> Iterator[Finding]:
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


def _zeros(trace: Trace) -> Iterator[Finding]:
    """Attributes that were zeros all the while, where a value with a gradient is multiplied with each of them."""
    zero: dict[tuple[str, str], int] = {}
    for event in trace.of(ZeroAttribute):
        if event.module in trace.modules:
            key = trace.modules[event.module].cls, f"self.{event.name}"
            zero[key] = min(event.looks, zero.get(key, event.looks))
    if not zero:
        return
    known = paths(trace)
    found: dict[tuple[str, int], tuple[Op, str, Op, int]] = {}
    for number in dict.fromkeys(event.graph for event in known.backwards if event.graph >= 0):
        graph = known.graph(number)
        passes = sum(event.count for event in known.backwards if event.graph == number)
        for op in graph.called(PRODUCTS):
            for index, other in (op.inputs[:2], op.inputs[1::-1]) if len(op.inputs) > 1 else ():
                maker = known.maker_behind((number, index), PASSING)
                name = _attribute(trace, maker.site.user) if maker is not None and maker.name in ZEROS else ""
                cls = _class(trace, maker.site.user) if maker is not None and name else ""
                with_gradient = (
                    graph.values[other].requires_grad and graph.values[other].kind == "intermediate"
                )
                if maker is None or (cls, name) not in zero or not op.nodes or not with_gradient:
                    continue
                if (number, op.outputs[0]) in known.used.order and _says(trace, op.site.user, name):
                    before = found.get(maker.site.user.location())
                    found[maker.site.user.location()] = maker, name, op, (before[3] if before else 0) + passes
    for maker, name, op, passes in found.values():
        if passes >= PASSES and not _is_set_elsewhere(trace, maker.site.user, name):
            looks = zero[_class(trace, maker.site.user), name]
            yield _finding_of_zeros(trace, maker, name, op, looks, passes)


def _is_set_elsewhere(trace: Trace, made: Site, name: str) -> bool:
    """Whether the file gives an attribute of this name a value outside of an `__init__`, or writes to places of it, if
    only in a run that goes on for longer."""
    attribute = name.partition(".")[2]
    file = trace.source_file(made.path)
    for function, node in file.of(ast.Attribute):
        above = file.parent.get(id(node))
        part = isinstance(above, ast.Subscript) and above.value is node and isinstance(above.ctx, ast.Store)
        elsewhere = isinstance(node.ctx, ast.Store) and function != "__init__"
        if node.attr == attribute and (part or elsewhere):
            return True
    return False


def _class(trace: Trace, site: Site) -> str:
    """The class that a site stands in."""
    around = (node for node in trace.source_file(site.path).around(site) if isinstance(node, ast.ClassDef))
    cls = next(around, None)
    return cls.name if cls is not None else ""


def _says(trace: Trace, site: Site, name: str) -> bool:
    """Whether the expression at a site has this attribute in it: what is only its first value has another name."""
    node = trace.source_file(site.path).at(site)
    return node is not None and any(
        isinstance(part, ast.Attribute) and ast.unparse(part) == name for part in ast.walk(node)
    )


def _finding_of_zeros(trace: Trace, maker: Op, name: str, op: Op, looks: int, passes: int) -> Finding:
    made, used = maker.site.user, op.site.user
    text = assigned_value(trace, made, name)
    return Finding(
        message=f"`{name}` is neither a parameter nor a buffer: it stays all zeros, and so is what is multiplied with"
        " it",
        cause=made,
        cause_label="a plain tensor, which the module does not register",
        effect=used,
        effect_label="is zero, whatever comes in",
        seen=(
            f"at each of {looks} looks, most of them before a step, it was the same tensor, all zeros and never written"
            " to; no optimizer holds it, and a state of the module does not have it",
        ),
        why="`nn.Module` registers what is assigned to an attribute only where that is an `nn.Parameter`: a plain"
        " tensor is not in `parameters()`, gets no gradient and is not saved. Zeros that nothing trains take out all"
        " that is multiplied with them",
        fix=f"`{name} = nn.Parameter({text})` ({place(made)}), before the optimizer is made",
        edits=wrapped_value(trace, made, name, "nn.Parameter"),
        count=passes,
        subjects=frozenset({("constant", *made.location())}),
    )


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
