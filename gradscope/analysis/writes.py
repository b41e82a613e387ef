"""Writes to parameters by the program's own code, outside of the optimizers."""

from __future__ import annotations

from gradscope.analysis.ops import BOUNDS
from gradscope.model import Graph, Op
from gradscope.store import Trace


def memory_root(graph: Graph, value: int) -> int:
    """The first value in this graph whose memory `value` shares."""
    seen = {value}
    while (base := graph.values[value].alias_of) is not None and base not in seen:
        seen.add(base)
        value = base
    return value


def before_writes(graph: Graph, value: int) -> int:
    """What was written to, as it was before all writes."""
    seen: set[int] = set()
    while value not in seen:
        seen.add(value)
        op = graph.maker(value)
        if op is None or value not in op.written:
            break
        value = op.writes[op.written.index(value)]
    return value


def written_parameters(graph: Graph, op: Op) -> set[int]:
    """The parameters, by id, whose memory an op writes to."""
    roots = (graph.values[memory_root(graph, before_writes(graph, value))] for value in op.writes)
    return {root.parameter for root in roots if root.parameter is not None}


def only_bounded(trace: Trace) -> set[int]:
    """Parameters that nothing but a bound writes to (`p.clamp_(0, 1)`): that is no training."""
    bounded: set[int] = set()
    others: set[int] = set()
    for number in sorted({s.graph for s in trace.segments if s.graph is not None}):
        graph = trace.graph(number)
        for op in graph.writing:
            if not initialises(op):
                (bounded if op.name in BOUNDS else others).update(written_parameters(graph, op))
    return bounded - others


def initialises(op: Op) -> bool:
    """Whether torch's own initialisers make the call."""
    return op.site.kind == "torch" and op.site.path.endswith("nn/init.py")


def loads_state(op: Op) -> bool:
    """Whether torch's `load_state_dict()` makes the call."""
    return any(f.kind == "torch" and f.function.endswith("load_state_dict") for f in op.site.stack)
