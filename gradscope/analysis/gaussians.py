"""What a Gaussian in a graph is known by: standard normal noise, and the sums that a number is a term of."""

from __future__ import annotations

from gradscope.analysis.ops import ADDITIONS, ALIASES, CASTS, NEGATIONS, SUBTRACTIONS
from gradscope.analysis.senses import senses
from gradscope.model import Graph, Op
from gradscope.store import Trace

SAME = ALIASES | CASTS | {"Variable"}  # numbers under another name
NOISE = {"randn", "randn_like", "normal_", "normal"}
DEEP = 30  # sums that a term is followed through


def is_noise(graph: Graph, value: int) -> bool:
    """Whether a value is standard normal noise."""
    maker = graph.maker(value)
    while maker is not None and maker.name in SAME and maker.inputs:
        maker = graph.maker(maker.inputs[0])
    if maker is None or graph.values[value].requires_grad or maker.name not in NOISE:
        return False
    return maker.name != "normal" or not maker.inputs


def terms_of(trace: Trace, graph: Graph, value: int) -> dict[int, tuple[Op, int]]:
    """The sums that a value is a term of, neither scaled nor reduced: each with its call, and whether it rises with the
    value or falls."""
    found: dict[int, tuple[Op, int]] = {}
    todo = [(value, 1)]
    while todo and len(found) < DEEP:
        current, sign = todo.pop()
        for op in graph.consumers.get(current, ()):
            if (
                op.name not in ADDITIONS | SUBTRACTIONS | NEGATIONS
                or not op.outputs
                or op.outputs[0] in found
            ):
                continue
            ways = senses(trace, op, [(graph.id, current)])
            if ways is not None and len(set(op.inputs)) == len(op.inputs):
                found[op.outputs[0]] = op, sign * ways[0]
                todo.append((op.outputs[0], sign * ways[0]))
    return found


def divergence_of(trace: Trace, graph: Graph, value: int) -> Op | None:
    """The sum that a number is a term of as it is, and its exponential with the opposite sign: it is the logarithm of a
    variance there."""
    plain = terms_of(trace, graph, value)
    for reader in graph.consumers.get(value, ()):
        if reader.name == "exp" and reader.outputs:
            for total, (op, sign) in terms_of(trace, graph, reader.outputs[0]).items():
                if total in plain and plain[total][1] == -sign:
                    return op
    return None
