"""Quotients of sums, as the overlap of two masks is one: what is added up above, and what below."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from gradscope import equations
from gradscope.analysis.ops import ADDITIONS, CASTS, MULTIPLICATIONS, POWERS, SCALES, SUMS
from gradscope.analysis.reach import Key, Paths
from gradscope.model import Op

DOTS = {"dot", "vdot"}
SUMMING = DOTS | {"sum", "einsum"}
DEEP = 12  # calls of a numerator or a denominator
SQUARES = POWERS | MULTIPLICATIONS | ADDITIONS  # what a denominator adds up of both sides


class Overlap(NamedTuple):
    """`2 * sum(p * t) / (sum(p) + sum(t))` and the like."""

    quotient: Op
    product: Op


def sums_in(known: Paths, key: Key, names: Collection[str] = ("sum",)) -> list[Op]:
    """The sums of many that one side of a quotient is made of; `names` are those of sums."""
    found: list[Op] = []
    todo = [key]
    for current in todo:  # grows while it is walked
        op = known.maker(current)
        if op is None or len(todo) > DEEP:
            continue
        if op.name in names and op.inputs:
            found.append(op)
        elif op.name in SUMS | CASTS or (op.name in SCALES and len(op.inputs) == 1):
            todo += [(op.graph, index) for index in op.inputs]
    return found


def is_share(known: Paths, quotient: Op) -> bool:
    """Whether all that is added up above is added up below, too, beside other things: `hit / (hit + missed)`."""
    if len(quotient.inputs) != 2:
        return False
    above, below = (_terms(known, (quotient.graph, index)) for index in quotient.inputs)
    return bool(above) and above < below


def _terms(known: Paths, key: Key) -> set[Key]:
    """What one side of a quotient is added up of, but for plain numbers."""
    found: set[Key] = set()
    todo = [key]
    for current in todo:  # grows while it is walked
        op = known.maker(current)
        passed = op is not None and (
            op.name in SUMS | CASTS
            or (op.name in SCALES and len(op.inputs) == 1 and op.extra.get("sign") == 1)
        )
        if op is not None and passed and len(todo) <= DEEP:
            todo += [(op.graph, index) for index in op.inputs]
        else:
            found.add(known.made(current))
    return found


def overlap(known: Paths, quotient: Op) -> Overlap | None:
    """The overlap that a division gives: the sum of a product above, and those of both its factors below."""
    if len(quotient.inputs) != 2:
        return None
    above = sums_in(known, (quotient.graph, quotient.inputs[0]), SUMMING)
    below = sums_in(known, (quotient.graph, quotient.inputs[1]))
    product = _summed_product(known, above[0]) if len(above) == 1 else None
    if product is None:
        return None
    summed = {key for total in below for key in _of(known, (total.graph, total.inputs[0]))}
    sides = {known.made((product.graph, index)) for index in product.inputs}
    return Overlap(quotient, product) if sides <= summed else None


def _summed_product(known: Paths, total: Op) -> Op | None:
    """What multiplies two values element by element, where this call adds all of that up: itself, where it does both
    (`einsum("bc,bc->b", p, t)`, `torch.dot(p, t)`)."""
    product = known.maker((total.graph, total.inputs[0])) if total.name == "sum" else total
    if product is None or len(product.inputs) != 2:
        return None
    equation = equations.of(product)
    letters = {tuple(operand) for operand in equation.operands} if equation is not None else ()
    by_element = product.name in MULTIPLICATIONS | DOTS or len(letters) == 1
    return product if by_element else None


def _of(known: Paths, key: Key) -> set[Key]:
    """A value, and what it is the square, or the sum, of."""
    op = known.maker(key)
    given = [(op.graph, i) for i in op.inputs] if op is not None and op.name in SQUARES else []
    return {known.made(one) for one in (key, *given)}
