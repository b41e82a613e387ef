"""Numbers that sum to one along an axis, and sigmoids: by torch's own call, or as a program puts them together."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gradscope.analysis.ops import ADDITIONS, CASTS, CLIPS, DIVISIONS, MULTIPLICATIONS, NEGATIONS
from gradscope.analysis.reach import Key, Paths
from gradscope.model import Op
from gradscope.rules.numbers._losses import shape_of

MASKED = CASTS | MULTIPLICATIONS | {"masked_fill", "where", "contiguous", "clone"}
GUARDS = ADDITIONS | CLIPS  # that keep a divisor above zero
INVERTED = {"reciprocal", "__rdiv__"}
DEEP = 6


class Chances(NamedTuple):
    """Numbers that sum to one along `axis`: the call that says along which one, and the scores they were made of."""

    op: Op
    axis: int
    scores: Key


def chances(known: Paths, key: Key) -> Chances | None:
    """Whether a value is a softmax: called by its name, as the exponential of its logarithm, or as exponentials divided
    by their own sum."""
    op = known.maker_behind(key, {"detach"})
    if op is None or not op.inputs:
        return None
    if op.name in DIVISIONS:
        return by_own_sum(known, op)
    if op.name == "exp":
        op = known.maker((op.graph, op.inputs[0]))
        if op is None or op.name != "log_softmax":
            return None
    elif op.name != "softmax":
        return None
    scores = (op.graph, op.inputs[0])
    axis = _axis(known, op, scores)
    return Chances(op, axis, scores) if axis is not None else None


def by_own_sum(known: Paths, division: Op) -> Chances | None:
    """Exponentials, masked perhaps, that are divided by their sum along one axis: the call is that of the sum."""
    if division.name not in DIVISIONS or len(division.inputs) != 2:
        return None
    above, below = ((division.graph, index) for index in division.inputs)
    total = known.maker(below)
    while total is not None and total.name in GUARDS and len(total.inputs) == 1:
        total = known.maker((total.graph, total.inputs[0]))
    if total is None or total.name != "sum" or not total.inputs:
        return None
    if known.made((total.graph, total.inputs[0])) != known.made(above):
        return None
    axis, scores = _axis(known, total, above), _exponent(known, above)
    if axis is None or scores is None or len(shape_of(known, below)) != len(shape_of(known, above)):
        return None
    return Chances(total, axis, scores)


def sigmoid_of(known: Paths, op: Op) -> Key | None:
    """What `1 / (1 + exp(-x))` and `exp(x) / (1 + exp(x))` are taken of."""
    if not op.inputs:
        return None
    below = known.maker((op.graph, op.inputs[-1]))
    if below is None or below.name not in ADDITIONS or len(below.inputs) != 1 or not _has_a_one(known, below):
        return None
    power = known.maker((below.graph, below.inputs[0]))
    if power is None or power.name != "exp":
        return None
    if op.name in DIVISIONS and len(op.inputs) == 2:
        above = known.made((op.graph, op.inputs[0]))
        return (
            (power.graph, power.inputs[0]) if above == known.made((power.graph, power.outputs[0])) else None
        )
    if op.name not in INVERTED or not (op.name == "reciprocal" or _has_a_one(known, op)):
        return None
    turned = known.maker((power.graph, power.inputs[0]))
    if turned is None or turned.name not in NEGATIONS:
        return None
    return turned.graph, turned.inputs[0]


def _axis(known: Paths, op: Op, key: Key) -> int | None:
    dims, rank = op.extra.get("dims"), len(shape_of(known, key))
    if not isinstance(dims, list) or len(dims) != 1 or not -rank <= dims[0] < rank:
        return None
    return int(dims[0] % rank)


def _exponent(known: Paths, key: Key) -> Key | None:
    for _ in range(DEEP):
        op = known.maker(key)
        if op is None or not op.inputs:
            return None
        if op.name == "exp":
            return op.graph, op.inputs[0]
        tracked = [i for i in op.inputs if known.value((op.graph, i)).requires_grad] or list(op.inputs[:1])
        if op.name not in MASKED or len(tracked) != 1:
            return None
        key = (op.graph, tracked[0])
    return None


def _has_a_one(known: Paths, op: Op) -> bool:
    """Whether the other operand of a sign is a written 1."""
    node = known.trace.source_file(op.site.user.path).at(op.site.user)
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    return any(isinstance(side, ast.Constant) and side.value == 1 for side in sides)
