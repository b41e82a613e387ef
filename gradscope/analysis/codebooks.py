"""The two terms that train a codebook and its encoder (van den Oord et al., 2017, "Neural Discrete Representation
Learning", equation 3): the same difference twice, one side detached in each, and which numbers weigh them."""

from __future__ import annotations

from typing import NamedTuple

from gradscope.analysis.ops import (
    ADDITIONS,
    ALIASES,
    CASTS,
    COMPARING_LOSSES,
    MULTIPLICATIONS,
    PASSING,
    PRODUCTS_OF_MATRICES,
    SUBTRACTIONS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.stand_ins import stand_ins
from gradscope.events import Factor
from gradscope.model import Op, Span

LOOKUPS = PRODUCTS_OF_MATRICES | {"embedding", "__getitem__", "index_select", "gather"}
LIKE = PASSING | CASTS


class Term(NamedTuple):
    """A term of such a pair: what compares, the ops from there to the sum of both, and the product of its factors."""

    compared: Op
    way: tuple[Op, ...]
    factors: tuple[Op, ...]
    number: float

    @property
    def last(self) -> Op:
        """The op whose result is weighed."""
        last = self.compared
        for op in self.way:
            if op in self.factors or op.name in SUMS:
                break
            last = op
        return last


class Pair(NamedTuple):
    """`codebook` moves the entries, `commitment` the encoder; `added` is the sum of both."""

    codebook: Term
    commitment: Term
    added: Op
    entries: frozenset[int]  # parameters
    encoder: frozenset[int]


def pairs(known: Paths) -> list[Pair]:
    """Those of losses that a backward pass came from, one for each line."""
    numbers = {event.site.user.span(): event.number for event in known.trace.of(Factor)}
    found: dict[tuple[str, int], Pair] = {}
    for (number, _), one in stand_ins(known.trace).items() if numbers else ():
        terms = [
            (live, op)
            for _, op in known.used_calls(SUBTRACTIONS | COMPARING_LOSSES)
            if op.graph == number and (live := _live(known, op, {one.chosen, one.given})) is not None
        ]
        entries = [op for live, op in terms if live == one.chosen]
        encoder = [op for live, op in terms if live == one.given]
        if len(entries) != 1 or len(encoder) != 1:
            continue
        behind = known.behind((number, one.chosen)), known.behind((number, one.given))
        lookup = known.maker_behind((number, one.chosen), LIKE)
        if (
            not behind[0]
            or not behind[1]
            or behind[0] & behind[1]
            or lookup is None
            or lookup.name not in LOOKUPS
        ):
            continue
        ways = [_way(known, op) for op in (entries[0], encoder[0])]
        joined = next((op for op in ways[0] if op in ways[1]), None)
        if joined is None or joined.name not in ADDITIONS:
            continue
        both = [
            _term(op, way[: way.index(joined)], numbers)
            for op, way in zip((entries[0], encoder[0]), ways, strict=True)
        ]
        if both[0] is not None and both[1] is not None:
            found.setdefault(joined.site.user.location(), Pair(both[0], both[1], joined, *behind))
    return list(found.values())


def _live(known: Paths, op: Op, both: set[int]) -> int | None:
    """Which of two values a difference has with its graph, where it has the other without."""
    graph = known.graph(op.graph)
    if len(op.inputs) != 2:
        return None
    for live, other in (op.inputs, op.inputs[::-1]):
        cut = graph.maker(other)
        if live in both and cut is not None and cut.name in ALIASES and {live, cut.inputs[0]} == both:
            return live
    return None


def _way(known: Paths, op: Op) -> list[Op]:
    """The ops that go on from a result, as long as only one does."""
    found: list[Op] = []
    key: Key = (op.graph, op.outputs[0])
    while True:
        onward = {
            target: by
            for target, by in known.used.feeds.get(key, ())
            if by is not None and known.value(target).requires_grad
        }
        if len(onward) != 1:
            return found
        key, maker = next(iter(onward.items()))
        if maker in found:
            return found
        found.append(maker)


def _term(op: Op, way: list[Op], numbers: dict[Span, float]) -> Term | None:
    """The term with its factors; None where one of them is not known."""
    factors = [step for step in way if step.name in MULTIPLICATIONS and len(step.inputs) == 1]
    known = [numbers.get(step.site.user.span()) for step in factors]
    product = 1.0
    for number in known:
        if number is None:
            return None
        product *= number
    others = [step for step in way if step not in factors]
    if any(len(step.inputs) > 1 and step.name in MULTIPLICATIONS for step in others):
        return None
    return Term(op, tuple(way), tuple(factors), product)
