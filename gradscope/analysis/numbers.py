"""Numbers that left torch in one place and came back in another as a new tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from math import prod

from gradscope.analysis.ops import ARRAYS, EXITS, MAKERS
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.text import assignments_between
from gradscope.model import Graph, Op
from gradscope.store import Trace


def real(dtype: str) -> bool:
    """Whether it holds real numbers, as losses do; indices and masks have no gradient to lose."""
    return dtype.startswith(("float", "bfloat"))


def without_past(graph: Graph, index: int) -> bool:
    """Whether a value came in as numbers: it was made from none that torch has seen."""
    value = graph.values[index]
    if value.op is None:
        return value.kind == "input" and value.origin is None and value.parameter is None
    op = graph.ops[value.op]
    return op.name in MAKERS and not op.inputs


def entered(graph: Graph, index: int) -> int:
    """The position from which on a value without a past is there."""
    value = graph.values[index]
    readers = graph.consumers.get(index, ())
    return value.op if value.op is not None else min((op.index for op in readers), default=len(graph.ops))


def gathered(graph: Graph, made: int, exits: Iterable[tuple[Op, Op]]) -> tuple[Op, Op] | None:
    """The exit whose numbers a new tensor was filled with: one line gave as many as it has, before
    it was made. `exits`: (op that gives numbers, first cut before it), in program order."""
    elements = prod(graph.values[made].shape)
    given: dict[tuple[str, int], int] = {}
    first: dict[tuple[str, int], tuple[Op, Op]] = {}
    for op, cut in exits:
        if op.index < entered(graph, made) and real(graph.values[op.inputs[0]].dtype):
            line = op.site.user.location()
            given[line] = given.get(line, 0) + prod(graph.values[op.inputs[0]].shape)
            first.setdefault(line, (op, cut))
    fit = [line for line, count in given.items() if count == elements]
    return first[fit[0]] if len(fit) == 1 else None


def taken_out(graph: Graph) -> Iterator[tuple[Op, Op]]:
    """Ops that give the numbers of a value with a graph, each with the first cut before it."""
    for op in graph.called(EXITS):
        if not op.inputs:
            continue
        cut: Op | None = op
        while cut is not None and cut.cut not in ("detach", "data", *EXITS) and cut.inputs:
            maker = graph.values[cut.inputs[0]].op
            alone = len(cut.inputs) == 1 and cut.cut is None
            cut = graph.ops[maker] if alone and maker is not None else None
        if cut is not None and cut.inputs and graph.values[cut.inputs[0]].requires_grad:
            yield op, cut


def back_as(known: Paths, root: Key) -> tuple[Op, Op, Key] | None:
    """Where a loss without a graph is made of numbers that were taken out of one: (op that gave
    them, first cut before it, the tensor that they came back as)."""
    graph = known.graph(root[0])
    exits = list(taken_out(graph))
    for number, index in known.flow([root]).order if exits else ():
        if number != graph.id or not real(graph.values[index].dtype):
            continue
        if (taken := _operand(known.trace, graph, index, exits)) is not None:
            return *taken, (number, index)
        if not without_past(graph, index):
            continue
        found = gathered(graph, index, exits)
        if found is None and prod(graph.values[index].shape) == 1:
            found = _only(graph, index, exits)
        if found is None:
            found = _written(known.trace, graph, index, exits)
        if found is not None:
            return *found, (number, index)
    return None


def _operand(trace: Trace, graph: Graph, made: int, exits: list[tuple[Op, Op]]) -> tuple[Op, Op] | None:
    """The exit whose number stands, by itself or by its name, in the arithmetic that made a value: torch sees of
    `loss.item() / n` the `n` alone."""
    op = graph.maker(made)
    node = trace.source_file(op.site.user.path).at(op.site.user) if op is not None else None
    if op is None or not isinstance(node, ast.BinOp) or len(op.inputs) != 1:
        return None
    file = trace.source_file(op.site.user.path)
    plain = {side.id for side in (node.left, node.right) if isinstance(side, ast.Name)}
    for given, cut in reversed(exits):
        site = given.site.user
        if given.index >= op.index or site.path != op.site.user.path:
            continue
        around = file.around(site)
        if any(one is node for one in around) or (
            site.function == op.site.user.function and file.variable(site) in plain
        ):
            return given, cut
    return None


def _only(graph: Graph, made: int, exits: list[tuple[Op, Op]]) -> tuple[Op, Op] | None:
    """The one line that gave numbers before a single number came back (their sum, a statistic)."""
    before = [pair for pair in exits if pair[0].index < entered(graph, made)]
    return before[0] if len({op.site.user.location() for op, _ in before}) == 1 else None


def _written(trace: Trace, graph: Graph, made: int, exits: list[tuple[Op, Op]]) -> tuple[Op, Op] | None:
    """The last array that the same call of a function took of a value with a graph, where its text makes the new
    tensor of it."""
    op = graph.maker(made)
    for given, cut in reversed(exits) if op is not None else ():
        place = given.site.user
        if op is None or given.index > op.index or given.name not in ARRAYS:
            continue
        if (
            place.parent == op.site.user.parent
            and assignments_between(trace, place, op.site.user) is not None
        ):
            return given, cut
    return None
