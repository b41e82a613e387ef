"""What a Gaussian in a graph is known by: standard normal noise, and the sums that a number is a term of."""

from __future__ import annotations

from collections.abc import Collection

from gradscope.analysis.ops import ADDITIONS, ALIASES, CASTS, NEGATIONS, SCALES, SUBTRACTIONS
from gradscope.analysis.senses import is_square, plain_factor, senses
from gradscope.model import Graph, Op
from gradscope.store import Trace

SAME = ALIASES | CASTS | {"Variable"}  # numbers under another name
NOISE = {"randn", "randn_like", "normal_", "normal"}
DEEP = 30  # sums that a term is followed through


def is_noise(graph: Graph, value: int) -> bool:
    """Whether a value is standard normal noise."""
    maker = graph.maker(_source(graph, value))
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
    return _apart(trace, graph, [value], _made_of(graph, value, {"exp"}))


def divergence_of_deviation(trace: Trace, graph: Graph, deviation: int) -> Op | None:
    """The sum that takes a number for a standard deviation: its square is a term of it, or the exponential of twice its
    logarithm, and with the opposite sign the logarithm of that."""
    deviation = _source(graph, deviation)
    maker = graph.maker(deviation)
    logarithms = _made_of(graph, deviation, {"log"})
    if maker is not None and maker.name == "exp":
        logarithms.append(_source(graph, maker.inputs[0]))
    doubled = [
        op.outputs[0]
        for value in logarithms
        for op in graph.consumers.get(value, ())
        if op.name in SCALES and len(op.inputs) == 1 and op.outputs and plain_factor(trace, op) == 2
    ]
    squares = [op.outputs[0] for op in graph.consumers.get(deviation, ()) if op.outputs and is_square(op)]
    variances = squares + [new for value in doubled for new in _made_of(graph, value, {"exp"})]
    return _apart(
        trace,
        graph,
        doubled + [new for value in squares for new in _made_of(graph, value, {"log"})],
        variances,
    )


def _apart(trace: Trace, graph: Graph, plain: list[int], others: list[int]) -> Op | None:
    """The sum of which one of each is a term, with opposite signs."""
    known = [terms_of(trace, graph, value) for value in plain]
    for value in others:
        for total, (op, sign) in terms_of(trace, graph, value).items():
            if any(total in terms and terms[total][1] == -sign for terms in known):
                return op
    return None


def _made_of(graph: Graph, value: int, names: Collection[str]) -> list[int]:
    return [op.outputs[0] for op in graph.consumers.get(value, ()) if op.name in names and op.outputs]


def _source(graph: Graph, value: int) -> int:
    """The value that another name stands for."""
    while (maker := graph.maker(value)) is not None and maker.name in SAME and maker.inputs:
        value = maker.inputs[0]
    return value
