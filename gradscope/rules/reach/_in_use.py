"""Whether what a call was given matters afterwards."""

from __future__ import annotations

import ast

from gradscope.analysis.reach import Paths
from gradscope.model import Graph, Op
from gradscope.store import Trace


def goes_on(known: Paths, graph: Graph, op: Op, given: int | None = None) -> bool:
    """Whether a loss was computed later from the tensor that the call was given, the first one unless told."""
    value = graph.values[op.inputs[0] if given is None else given]
    parameter = known.parameter_of((graph.id, shown(graph, value.index)))
    if parameter is not None:
        return parameter.id in known.feeding
    return any(
        later is None or later.index > op.index
        for _, later in known.used.feeds.get((graph.id, value.index), ())
    )


def is_gradient(trace: Trace, graph: Graph, op: Op, target: ast.expr) -> bool:
    """Whether the call was given the `.grad` of a tensor that an optimizer steps with."""
    while isinstance(target, ast.Attribute) and target.attr == "data":
        target = target.value
    value = graph.values[shown(graph, op.inputs[0])]
    named = isinstance(target, ast.Attribute) and target.attr == "grad"
    return (
        named
        and value.op is None
        and value.origin is None
        and any(p.steps and p.shape == value.shape for p in trace.parameters)
    )


def shown(graph: Graph, index: int) -> int:
    """The tensor whose memory `x.data` shows."""
    value = graph.values[index]
    return value.alias_of if value.hidden and value.alias_of is not None else index
