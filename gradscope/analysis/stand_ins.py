"""`x + (y - x).detach()`: what has the numbers of y and hands its gradient to x, as a quantised code stands in for what
an encoder gave (van den Oord et al., 2017, "Neural Discrete Representation Learning", section 3.2)."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gradscope.analysis.memo import once
from gradscope.analysis.ops import ADDITIONS, ALIASES, COMPARING_LOSSES, SUBTRACTIONS
from gradscope.analysis.reach import paths
from gradscope.model import Graph, Op
from gradscope.store import Trace


class StandIn(NamedTuple):
    """`cut` is the detach, `total` the sum. `loss` compares the total with x without its graph, or subtracts that for a
    loss by hand: it is to move y, and moves x."""

    cut: Op
    total: Op
    chosen: int  # y, a value of the graph
    given: int  # x
    loss: Op | None


@once
def stand_ins(trace: Trace) -> dict[tuple[int, int], StandIn]:
    """(graph, index of the detach) → what stands in, of all that losses were computed from."""
    known = paths(trace)
    found: dict[tuple[int, int], StandIn] = {}
    for _, op in known.used_calls(ADDITIONS) if not trace.op_names.isdisjoint(ALIASES) else ():
        graph = known.graph(op.graph)
        for given, cut_off in (op.inputs[:2], op.inputs[1::-1]) if len(op.inputs) == 2 else ():
            cut = graph.maker(cut_off)
            difference = graph.maker(cut.inputs[0]) if cut is not None and cut.name in ALIASES else None
            if cut is None or difference is None or difference.name not in SUBTRACTIONS:
                continue
            if len(difference.inputs) == 2 and difference.inputs[1] == given:
                chosen = difference.inputs[0]
                loss = _compared(graph, op.outputs[0], given)
                found[graph.id, cut.index] = StandIn(cut, op, chosen, given, loss)
    return found


def _compared(graph: Graph, total: int, given: int) -> Op | None:
    """The loss of a total and of x without its graph."""
    for reader in graph.consumers.get(total, ()):
        others = [graph.maker(i) for i in reader.inputs[:2] if i != total]
        if reader.name in COMPARING_LOSSES | SUBTRACTIONS and len(others) == 1 and others[0] is not None:
            if others[0].name in ALIASES and others[0].inputs == (given,):
                return reader
    return None


def name_beside(trace: Trace, graph: Graph, value: int, near: Op) -> str:
    """What the function of `near` calls a value: by the receiver of a method that it calls on it; else ""."""
    for reader in graph.consumers.get(value, ()):
        site = reader.site.user
        if (site.path, site.function) == (near.site.user.path, near.site.user.function):
            node = trace.source_file(site.path).at(site)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if reader.inputs[0] == value and isinstance(node.func.value, ast.Name):
                    return node.func.value.id
    return ""
