"""Losses that only draw results of the same network together, and so are at their best where all results are one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import (
    CLIPS,
    COMPARING_LOSSES,
    JOINING,
    MEANS,
    MULTIPLICATIONS,
    PASSING,
    POWERS,
    SCALES,
    SUBTRACTIONS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.terms import terms
from gradscope.events import Backward
from gradscope.model import Op

ON_THE_WAY = PASSING - JOINING - CLIPS | MEANS | {"sum", "neg"}
LENGTHS = ("normalize", "div")  # what makes a row's length 1
FAR = 40  # ops between a term and what compares


class Pair(NamedTuple):
    """Two results with a graph that a term compares."""

    op: Op
    sides: tuple[Key, Key]


class Drawn(NamedTuple):
    """A loss, all whose terms compare two trained results."""

    loss: Backward
    pairs: tuple[Pair, ...]
    parameters: frozenset[int]  # that both sides train, and no other loss does


def drawn_together(known: Paths, trained: frozenset[int] | set[int]) -> Iterator[Drawn]:
    """Once per line of a pass, where no other pass trains what its two sides have in common."""
    told: set[tuple[str, int]] = set()
    found: dict[Key, tuple[Pair, ...]] = {root: _pairs(known, root) for root in known.roots}
    for root, events in known.roots.items():
        line, pairs = events[0].site.user.location(), found[root]
        if not pairs or line in told:
            continue
        shared = frozenset(trained)
        for pair in pairs:
            shared &= known.behind(pair.sides[0]) & known.behind(pair.sides[1])
        if shared and all(found[other] or not shared & known.behind(other) for other in known.roots):
            told.add(line)
            yield Drawn(events[0], pairs, shared)


def _pairs(known: Paths, root: Key) -> tuple[Pair, ...]:
    """What the terms of a loss compare; nothing where one of them does anything else."""
    if not known.reach([root]).complete:
        return ()
    parts = [part for part in terms(known, root, of_samples=True) if known.value(part).requires_grad]
    pairs = [_pair(known, part) for part in parts]
    return tuple(pair for pair in pairs if pair is not None) if None not in pairs else ()


def _pair(known: Paths, part: Key) -> Pair | None:
    key = part
    for _ in range(FAR):
        sources, op = known.sources(key)
        if op is None:
            return None
        tracked = [source for source in sources if known.value(source).requires_grad]
        if len(tracked) == 2 and _compares(known, op, tracked):
            return Pair(op, (tracked[0], tracked[1]))
        if len(tracked) != 1 or op.name not in ON_THE_WAY | SUMS | SCALES | POWERS | {"abs"}:
            return None
        data = [known.value(source) for source in sources if source != tracked[0]]
        if op.name in SUMS and any(value.shape not in ((), (1,)) for value in data):
            return None  # a difference that has an aim of its own
        key = tracked[0]
    return None


def _compares(known: Paths, op: Op, sides: list[Key]) -> bool:
    values = [known.value(side) for side in sides]
    if op.module is not None or values[0].shape != values[1].shape or any(value.is_leaf for value in values):
        return False
    if op.name in COMPARING_LOSSES | SUBTRACTIONS | {"cosine_similarity"}:
        return True
    of_length_one = [known.maker_behind(side, PASSING - JOINING) for side in sides]
    return op.name in MULTIPLICATIONS and all(
        made is not None and made.name in LENGTHS for made in of_length_one
    )
