"""PPO's surrogate: a ratio of probabilities times advantages, once with the ratio clipped, and the smaller of both."""

from __future__ import annotations

from typing import NamedTuple

from gradscope.analysis.ops import (
    ALIASES,
    CLIPS,
    EXPONENTIALS,
    JOINING,
    MULTIPLICATIONS,
    NEGATIONS,
    ORDERINGS,
    PASSING,
)
from gradscope.analysis.reach import Key, Paths
from gradscope.model import Op

MINIMA = {"min", "minimum", "fmin", "amin"}
MAXIMA = {"max", "maximum", "fmax", "amax"}  # of the losses, which are the gains negated
FORMS = (PASSING | ALIASES) - JOINING - CLIPS
FAR = 40  # forms between a minimum and the ratio


class Product(NamedTuple):
    """A ratio times numbers without a graph."""

    op: Op
    weight: Key
    ways: dict[Key, bool]  # what the ratio was made from → whether a clip came since
    turned: bool  # a minus stands before the ratio


def surrogate(known: Paths, op: Op) -> tuple[Product, Product] | None:
    """The products that a minimum or maximum is taken of, that of the clipped ratio behind the other."""
    products = [_product(known, operand) for operand in _operands(known, op)]
    if len(products) != 2 or products[0] is None or products[1] is None:
        return None
    plain, clipped = sorted((products[0], products[1]), key=lambda one: any(one.ways.values()))
    return (plain, clipped) if _of_one_ratio(plain, clipped) else None


def _operands(known: Paths, op: Op) -> list[Key]:
    """The two tensors of which the smaller is taken, which may have been stacked before, or compared with each other
    for a `where`."""
    keys = [(op.graph, index) for index in op.inputs]
    if op.name == "where":
        asked = known.maker(keys[0]) if len(keys) == 3 else None
        compared = (
            [(asked.graph, index) for index in asked.inputs] if asked and asked.name in ORDERINGS else []
        )
        return keys[1:] if {known.made(k) for k in compared} == {known.made(k) for k in keys[1:]} else []
    if len(keys) != 1:
        return keys
    joined = known.maker(keys[0])
    return [(op.graph, index) for index in joined.inputs] if joined and joined.name in JOINING else []


def _product(known: Paths, key: Key) -> Product | None:
    op = known.maker_behind(key, FORMS | NEGATIONS)
    if op is None or op.name not in MULTIPLICATIONS or len(set(op.inputs)) != 2:
        return None
    sides = [(op.graph, index) for index in op.inputs]
    tracked = [side for side in sides if known.value(side).requires_grad]
    if len(tracked) != 1:
        return None
    (weight,) = (side for side in sides if side not in tracked)
    ways: dict[Key, bool] = {}
    at, clipped, turned, is_ratio = tracked[0], False, False, False
    while len(ways) < FAR:
        ways[at] = clipped
        maker = known.maker(at)
        if maker is None or not maker.inputs or maker.name not in FORMS | CLIPS | EXPONENTIALS | NEGATIONS:
            break
        is_ratio = is_ratio or maker.name in EXPONENTIALS  # a minus before that is of a logarithm
        turned = turned != (maker.name in NEGATIONS and not is_ratio)
        clipped = clipped or maker.name in CLIPS
        at = maker.graph, maker.inputs[0]
    return Product(op, weight, ways, turned)


def _of_one_ratio(plain: Product, clipped: Product) -> bool:
    shared = next((key for key in plain.ways if key in clipped.ways), None)
    return shared is not None and not plain.ways[shared] and clipped.ways[shared]
