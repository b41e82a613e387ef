"""Ranks that average gradients by themselves, without a wrapper: seen in gradients that are the same on all of them
before the first steps."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from gradscope.analysis.memo import once
from gradscope.analysis.parting import paired
from gradscope.analysis.rank_gradients import COMPARED, Followed, Steps, alike, followed
from gradscope.analysis.wrappers import wrapped
from gradscope.model import Site
from gradscope.store import Member, Run
from gradscope.store.outline import outline_of_prints


class HandAveraged(NamedTuple):
    """Parameters that are not the same on all ranks, of an optimizer whose gradients are. `at_first`: they differed
    before the first step; else their own gradients are left out. `whole`: these are all parameters of their modules,
    which may be meant. `averaged`: an other parameter, whose gradients are the same."""

    site: Site | None  # of the step
    parameters: list[int]  # ids in the first member's trace
    averaged: int
    values: list[tuple[Member, float]]  # norms of the first of them: the parameter's, or its gradient's
    at_first: bool
    whole: bool


class Mixed(NamedTuple):
    """A gradient that one parameter has on one rank and another parameter on another one, each of them none on the
    other: one call has added up both. `parameters`: ids in the traces of `members`, `norm`: of that gradient."""

    site: Site | None  # of the step
    members: tuple[Member, Member]
    parameters: tuple[int, int]
    norm: float
    step: int
    averaged: int  # in the first trace: a parameter whose gradients are the same on all ranks


def hand_averaged(run: Run) -> HandAveraged | None:
    """The first optimizer of which that is so. None for runs with a wrapper, and where traces are missing."""
    members = _apart(run)
    for numbers in paired(members, "gradients") if members else ():
        if (made := _of_optimizer(members, numbers)) is not None:
            return made
    return None


def mixed(run: Run) -> Mixed | None:
    """The first such gradient, of an optimizer whose other gradients are the same on all ranks. None for runs with a
    wrapper, and where traces are missing."""
    members = _apart(run)
    for numbers in paired(members, "gradients") if members else ():
        steps = followed(members, numbers)
        found = _mixed(members, steps) if steps is not None else None
        if found is not None:
            return found
    return None


@once
def _apart(run: Run) -> list[Member]:
    """Ranks that have not all the same gradients and parameters; none where a wrapper averages."""
    if not 1 < run.world == len(run.ranks) or any(wrapped(group[0].trace) for group in run.alike):
        return []
    found: dict[str, Member] = {}
    for member in run.ranks:
        found.setdefault(outline_of_prints(member.trace), member)
        run.leave(member)
    members = list(found.values())[:COMPARED]
    return members if len(members) > 1 else []


def _mixed(members: list[Member], steps: Steps) -> Mixed | None:
    filled = [one for one in steps.parameters if all(map(all, one.gradients))]
    if not filled or not all(alike(row) for one in filled for row in one.gradients):
        return None
    some = [
        one for one in steps.parameters if one not in filled and alike(one.begun) and not alike(one.ended)
    ]
    for place, number in enumerate(steps.numbers):
        for one, other in combinations(some, 2):
            at = _one_gradient(one.gradients[place], other.gradients[place])
            if at is not None:
                ids = int(one.ids[at[0]]), int(other.ids[at[1]])
                norm = one.gradients[place][at[0]] or 0.0
                pair = members[at[0]], members[at[1]]
                return Mixed(steps.first, pair, ids, norm, number, int(filled[0].ids[0]))
    return None


def _one_gradient(one: list[float | None], other: list[float | None]) -> tuple[int, int] | None:
    """The ranks, by place, of which the first has a gradient of one parameter alone and the second the same of the
    other alone."""
    for first, norm in enumerate(one):
        for second, like in enumerate(other):
            if norm and like and not one[second] and not other[first] and alike([norm, like]):
                return first, second
    return None


def _of_optimizer(members: list[Member], numbers: list[int]) -> HandAveraged | None:
    steps = followed(members, numbers)
    if steps is None:
        return None
    filled = [one for one in steps.parameters if all(map(all, one.gradients))]
    same = [one for one in filled if all(map(alike, one.gradients))]
    apart = [one for one in filled if not any(map(alike, one.gradients))]
    if not same:
        return None
    other = [one for one in same if not alike(one.begun)]
    if len(same) == len(filled) > 1 and other:
        return _made(members, steps, other, same, other[0].begun, at_first=True)
    left = [one for one in apart if alike(one.begun)]
    if not left or len(left) + len(same) != len(filled) or not all(alike(one.begun) for one in same):
        return None
    last = [norm or 0.0 for norm in left[0].gradients[-1]]
    return _made(members, steps, left, same, last, at_first=False)


def _made(
    members: list[Member],
    steps: Steps,
    found: list[Followed],
    same: list[Followed],
    values: list[float],
    at_first: bool,
) -> HandAveraged:
    trace = members[0].trace
    ids = [int(one.ids[0]) for one in found]
    owners = {trace.parameter(id).module for id in ids}
    whole = not any(trace.parameter(int(one.ids[0])).module in owners for one in same)
    pairs = list(zip(members, values, strict=True))
    return HandAveraged(steps.first, ids, int(same[0].ids[0]), pairs, at_first, whole)
