"""Parts of sharded gradients that each rank has scaled by a number of its own between the pass and the step."""

from __future__ import annotations

from math import isclose
from typing import NamedTuple

from gradscope.model import Site
from gradscope.store import Member, Run

_COMMON = 1e-3  # of the ratios of one rank: one number for all its parts
_APART = 1e-2  # of those of two ranks
_COMPARED = 32  # ranks


class ScaledApart(NamedTuple):
    """`factors`: by what each rank scaled its parts before the first such step, `step`."""

    site: Site | None  # of the step
    parameters: list[int]  # ids in the first member's trace
    factors: list[tuple[Member, float]]
    step: int
    steps: int  # at how many of the first it was so


def scaled_apart(run: Run) -> ScaledApart | None:
    """The first optimizer of which that is so. None where traces are missing."""
    if not 1 < run.world == len(run.ranks) or not any(p.sharded for p in run.ranks[0].trace.parameters):
        return None
    members = run.ranks[:_COMPARED]
    before, after = (
        [member.trace.prints(kind) for member in members] for kind in ("shards_filled", "shards")
    )
    for number in sorted(set.intersection(*(set(table) for table in (*before, *after)))):
        found: list[tuple[int, list[float]]] = []
        for step in sorted(set.intersection(*(set(table[number]) for table in (*before, *after)))):
            factors = [
                _factor(one[number][step][1], other[number][step][1])
                for one, other in zip(before, after, strict=True)
            ]
            known = [factor for factor in factors if factor is not None]
            if len(known) == len(factors) and not isclose(min(known), max(known), rel_tol=_APART):
                found.append((step, known))
        if found:
            step, known = found[0]
            site, norms = after[0][number][step]
            place = members[0].trace.site(site)
            user = place.user if place is not None else None
            return ScaledApart(
                user, sorted(map(int, norms)), list(zip(members, known, strict=True)), step, len(found)
            )
    return None


def _factor(filled: dict[str, float], used: dict[str, float]) -> float | None:
    """One number by which all parts were scaled; None where there is none, or too few to tell."""
    ratios = [used[id] / norm for id, norm in filled.items() if norm and used.get(id)]
    if len(ratios) < 2 or not all(isclose(ratio, ratios[0], rel_tol=_COMMON) for ratio in ratios):
        return None
    return ratios[0]
