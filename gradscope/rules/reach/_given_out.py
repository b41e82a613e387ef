"""A function that throws its result away and gives out what that was computed from."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gradscope.analysis.text import own_nodes, site_of
from gradscope.fixes.source import Edits, Source
from gradscope.model import Graph, Op, Site
from gradscope.source import names_in
from gradscope.store import Trace


class Instead(NamedTuple):
    """`return given`, where `result` of the same shape was computed from it and goes nowhere."""

    site: Site
    given: str
    result: str
    shape: tuple[int, ...]
    edits: Edits


def given_instead(trace: Trace, place: Site) -> Instead | None:
    """For the call at `place`, whose result nothing reads: the `return` of its function that gives out one of the
    call's own operands, of the same shape, which is read outside."""
    here = Source(trace, place.path)
    node, statement = here.file.at(place), here.file.statement(place)
    target = (
        statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    )
    if node is None or not isinstance(target, ast.Name):
        return None
    shape = next(
        (shape for graph in trace.graphs for op in graph.ops if (shape := _handed_on(graph, op, place))), None
    )
    given = names_in(node, ast.Load) - {target.id}
    returns = [
        one.value
        for one in own_nodes(here.file.scope(place))
        if isinstance(one, ast.Return)
        and isinstance(one.value, ast.Name)
        and one.value.id in given
        and one.lineno > place.line
    ]
    if shape is None or len(returns) != 1:
        return None
    value = returns[0]
    site = site_of(place.path, place.function, value)
    return Instead(site, value.id, target.id, shape, here.replace(value, target.id))


def _handed_on(graph: Graph, op: Op, place: Site) -> tuple[int, ...] | None:
    """The shape of the result of a call at `place` that nothing reads, where an operand of that shape is read by what
    its function does not call."""
    if op.site.user != place and op.site.user.location() != place.location():
        return None
    for value in op.outputs:
        shape = graph.values[value].shape
        for source in op.inputs if not graph.consumers.get(value) else ():
            operand = graph.values[source]
            outside = [one for one in graph.consumers.get(source, []) if not _called_by(one, place)]
            if operand.shape == shape and operand.parameter is None and shape and outside:
                return shape
    return None


def _called_by(op: Op, place: Site) -> bool:
    """Whether a call was made by the function in which `place` stands."""
    return any(frame.path == place.path and frame.function == place.function for frame in op.site.stack)
