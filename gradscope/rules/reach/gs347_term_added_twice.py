"""A loss adds one term to itself, and another one that was computed beside it is left out.

Why: `style + style` where `style + content` was meant runs like any other sum. The first term counts twice, and what
only the other one asks for is never learned.

Fix: add the other term.

Measured: an addition on the way to the loss has one value on both sides, as it is or weighted, or a stack that is
summed has it twice; another number with a
graph, which the same function has a name for, is read by no operation that goes on with its graph. Where the two sides
are not simply one, parameters lie behind the other number that no loss trains. Silent on: sums of one value where
nothing is left out, as for a factor of two.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import ADDITIONS, SCALES, STACKS, SUMS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.source import Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import names_in, sides_of
from gradscope.store import Trace

MOST = 20  # numbers that one side of a sum is taken apart into


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


@rule("GS347", name="term-added-twice", severity="warning", over=("GS301", "GS302"))
def term_added_twice(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for root, events in known.roots.items():
        graph = known.graph(root[0])
        for op in graph.called(ADDITIONS):
            place = op.site.user
            if len(op.inputs) != 2 or not op.nodes or place.location() in told:
                continue
            term = _doubled(graph, op)
            if term is None or not any((graph.id, value) in known.flow([root]).order for value in op.outputs):
                continue
            left = _left_out(trace, graph, op)
            if _bare(graph, op.inputs[0]) != _bare(graph, op.inputs[1]):
                left = [one for one in left if _untrained(known, graph, one[1])]
            sides = sides_of(trace.source_file(place.path).at(place)) or ()
            # Where it is in one of the sides, its name was given to the other term: GS324's.
            if len(left) == 1 and not any(left[0][0] in names_in(side) for side in sides):
                told.add(place.location())
                yield _finding(known, graph, op, term, left[0], events)
        for op in graph.called(STACKS):
            place = op.site.user
            twice = _twice_in(trace, graph, op) if place.location() not in told else None
            if twice is None or not any(
                (graph.id, value) in known.flow([root]).order for value in op.outputs
            ):
                continue
            left = _left_out(trace, graph, op)
            if twice.weighted:
                left = [one for one in left if _untrained(known, graph, one[1])]
            if len(left) == 1 and left[0][0] not in names_in(twice.given):
                told.add(place.location())
                yield _finding(known, graph, op, twice.term, left[0], events, twice.second)


class _Twice(NamedTuple):
    """A list of numbers that are added up, of which two are one."""

    given: ast.expr
    second: ast.expr
    term: int
    weighted: bool


def _twice_in(trace: Trace, graph: Graph, op: Op) -> _Twice | None:
    """The entries of a stack of single numbers that are one, as it is or weighted, where the stack is summed."""
    readers = graph.consumers.get(op.outputs[0], ())
    call = trace.source_file(op.site.user.path).at(op.site.user)
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if isinstance(given, ast.Name):
        given = _bound_to(trace, op, given)
    if len(readers) != 1 or readers[0].name not in ("sum", "mean") or not op.nodes:
        return None
    if not isinstance(given, (ast.List, ast.Tuple)) or len(given.elts) != len(op.inputs):
        return None
    terms = [_terms(graph, index) for index in op.inputs]
    for at, own in enumerate(terms):
        if len(own) == 1 and own in terms[:at]:
            first = op.inputs[terms.index(own)]
            return _Twice(given, given.elts[at], min(own), first != op.inputs[at])
    return None


def _bound_to(trace: Trace, op: Op, name: ast.Name) -> ast.expr | None:
    """The one value that the function gives a name."""
    scope = trace.source_file(op.site.user.path).scope(op.site.user)
    values = [
        node.value
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign) and any(name.id in names_in(target) for target in node.targets)
    ]
    return values[0] if len(values) == 1 else None


def _bare(graph: Graph, value: int) -> int:
    """The number that a plain number was added to, as the 0 that `sum()` begins with."""
    maker = graph.maker(value)
    while maker is not None and maker.name in ADDITIONS and len(maker.inputs) == 1:
        value = maker.inputs[0]
        maker = graph.maker(value)
    return value


def _doubled(graph: Graph, op: Op) -> int | None:
    """The one number that is a term of both sides of an addition."""
    first, second = (_terms(graph, value) for value in op.inputs)
    both = first & second
    return both.pop() if len(both) == 1 else None


def _terms(graph: Graph, value: int) -> set[int]:
    """The numbers that a number is a sum of, without their weights."""
    found, todo = set[int](), [value]
    for at in todo:  # grows while it is walked
        maker = graph.maker(at)
        if graph.values[at].shape:
            continue
        if (
            len(todo) < MOST
            and maker is not None
            and (maker.name in SUMS or (maker.name in SCALES and len(maker.inputs) == 1))
        ):
            todo += [one for one in maker.inputs if one not in todo]
        else:
            found.add(at)
    return found


def _untrained(known: Paths, graph: Graph, made: Op) -> frozenset[int] | set[int]:
    """The parameters behind a number that no loss of the run reaches."""
    return known.reach([(graph.id, made.outputs[0])]).parameters - known.reach(known.roots).parameters


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
        same = any(op.site.frames_in(doubled.site.user))
        if name.isidentifier() and same:
            found[name] = op
    return list(found.items())


def _finding(
    known: Paths,
    graph: Graph,
    doubled: Op,
    term: int,
    left: tuple[str, Op],
    losses: list[Backward],
    second: ast.expr | None = None,
) -> Finding:
    trace = known.trace
    name, made = left
    place = doubled.site.user
    here = Source(trace, place.path)
    twice = second or _written(trace, graph, doubled, term)
    text = f"`{here.file.text(twice)}`" if twice is not None else "one value"
    behind = known.reach([(graph.id, made.outputs[0])]).parameters
    ids = sorted(_untrained(known, graph, made) or behind)
    words = f", computed from {parameter_names(trace, ids)}" if ids else ""
    plain = second is None and _bare(graph, doubled.inputs[0]) == _bare(graph, doubled.inputs[1])
    number = names_of(trace).name(graph, term)
    inner = [n for n in ast.walk(second) if isinstance(n, ast.Name) and n.id == number] if second else []
    instead = inner[0] if len(inner) == 1 else twice
    return Finding(
        message=f"{code(trace, place, 'the sum')} adds {text} to itself, and `{name}` is left out of the loss",
        cause=place,
        cause_label=f"{text} twice",
        effect=losses[0].site.user,
        effect_label=f"goes back through no `{name}`",
        related=((made.site.user, f"`{name}` is computed here"),),
        seen=(
            "both sides of the sum are one value"
            if plain
            else "two of the numbers that are added up are one value"
            if second is not None
            else "both sides of the sum have one value as a term",
            f"`{name}` has a graph{words}, and no operation goes on with it",
        ),
        fix=f"write `{name}` in place of {f'one {text}' if twice is not None else 'one of the two'} in"
        f" {located(trace, place, 'the sum')}",
        edits=here.replace(instead, name) if instead is not None else (),
        count=len(losses),
        subjects=parameter_subjects(ids),
    )


def _written(trace: Trace, graph: Graph, doubled: Op, term: int) -> ast.expr | None:
    """The term as the second side of the sum has it."""
    sides = sides_of(trace.source_file(doubled.site.user.path).at(doubled.site.user))
    if sides is None or doubled.inputs[0] == doubled.inputs[1]:
        return sides[1] if sides is not None else None
    name = names_of(trace).name(graph, term)
    found = [node for node in ast.walk(sides[1]) if isinstance(node, ast.Name) and node.id == name]
    return found[0] if len(found) == 1 else None
