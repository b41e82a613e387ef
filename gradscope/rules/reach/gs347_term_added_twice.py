"""A loss adds one term to itself, and another one that was computed beside it is left out.

Why: `style + style` where `style + content` was meant runs like any other sum. The first term counts twice, and what
only the other one asks for is never learned.

Fix: add the other term.

Measured: an addition on the way to the loss has one value on both sides; another number with a graph, which the same
function has a name for, is read by no operation that goes on with its graph. Silent on: sums of one value where nothing
is left out, as for a factor of two.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import ADDITIONS
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.fixes.source import Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import sides_of
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    picture = nn.Parameter(torch.randn(4, 8))
    opt = torch.optim.Adam([picture], lr=0.1)
    wanted, shown = torch.randn(4, 4), torch.randn(4, 8)
    for _ in range(8):
        style = (picture @ picture.T - wanted).pow(2).mean()
        content = (picture - shown).pow(2).mean()
        loss = style + style  # cause: GS347
        opt.zero_grad()
        loss.backward()  # effect: GS347
        opt.step()
    print(content.item() > 0)


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    picture = nn.Parameter(torch.randn(4, 8))
    opt = torch.optim.Adam([picture], lr=0.1)
    wanted, shown = torch.randn(4, 4), torch.randn(4, 8)
    for _ in range(8):
        style = (picture @ picture.T - wanted).pow(2).mean()
        content = (picture - shown).pow(2).mean()
        loss = style + content
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(content.item() > 0)


@rule("GS347", name="term-added-twice", severity="warning")
def term_added_twice(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for root, events in known.roots.items():
        graph = known.graph(root[0])
        way = known.flow([root]).order
        for op in graph.called(ADDITIONS):
            place = op.site.user
            on_the_way = any((graph.id, value) in way for value in op.outputs)
            if len(op.inputs) != 2 or op.inputs[0] != op.inputs[1] or not op.nodes or not on_the_way:
                continue
            if place.location() in told or graph.values[op.inputs[0]].shape:
                continue
            left = _left_out(trace, graph, op)
            sides = sides_of(trace.source_file(place.path).at(place)) or ()
            # Where it is one of the sides, its name was given to the other term: GS324's.
            if len(left) == 1 and left[0][0] not in map(ast.unparse, sides):
                told.add(place.location())
                yield _finding(trace, graph, op, left[0], events[0].site.user, len(events))


def _left_out(trace: Trace, graph: Graph, doubled: Op) -> list[tuple[str, Op]]:
    """The numbers with a graph that the same function has a name for, and that nothing goes on with."""
    names, found = names_of(trace), {}
    for op in graph.ops:
        if len(op.outputs) != 1 or not op.nodes or op.index >= doubled.index:
            continue
        value = graph.values[op.outputs[0]]
        goes_on = any(reader.nodes for reader in graph.consumers.get(value.index, ()))
        if value.shape or not value.requires_grad or goes_on:
            continue
        name = names.name(graph, value.index) or ""
        same = any(
            (frame.path, frame.function) == (doubled.site.user.path, doubled.site.user.function)
            for frame in op.site.stack
        )
        if name.isidentifier() and same:
            found[name] = op
    return list(found.items())


def _finding(
    trace: Trace, graph: Graph, doubled: Op, left: tuple[str, Op], effect: Site, count: int
) -> Finding:
    name, made = left
    place = doubled.site.user
    here = Source(trace, place.path)
    sides = sides_of(here.file.at(place))
    twice = sides[1] if sides is not None else None
    term = f"`{here.file.text(twice)}`" if twice is not None else "one value"
    ids = sorted(paths(trace).reach([(graph.id, made.outputs[0])]).parameters)
    behind = f", computed from {parameter_names(trace, ids)}" if ids else ""
    return Finding(
        message=f"{code(trace, place, 'the sum')} adds {term} to itself, and `{name}` is left out of the loss",
        cause=place,
        cause_label=f"{term} twice",
        effect=effect,
        effect_label=f"goes back through no `{name}`",
        related=((made.site.user, f"`{name}` is computed here"),),
        seen=(
            "both sides of the sum are one value",
            f"`{name}` has a graph{behind}, and no operation goes on with it",
        ),
        fix=f"write `{name}` in place of {f'one {term}' if twice is not None else 'one of the two'} in"
        f" {located(trace, place, 'the sum')}",
        edits=here.replace(twice, name) if twice is not None else (),
        count=count,
        subjects=parameter_subjects(ids),
    )
