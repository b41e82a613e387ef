"""Ranks that average gradients by themselves, without a wrapper: seen in gradients that are the same on all of them
before the first steps."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose

from gradscope.analysis.parting import same_shapes
from gradscope.analysis.wrappers import wrapped
from gradscope.model import Site
from gradscope.store import Member, Run
from gradscope.store.outline import outline_of_prints

_NOISE = 1e-5  # relative
_LEAST = 2  # steps
_COMPARED = 32  # ranks


@dataclass(frozen=True)
class HandAveraged:
    """Parameters that are not the same on all ranks, of an optimizer whose gradients are. `at_first`: they differed
    before the first step; else their own gradients are left out. `whole`: these are all parameters of their modules,
    which may be meant. `averaged`: an other parameter, whose gradients are the same."""

    site: Site | None  # of the step
    parameters: list[int]  # ids in the first member's trace
    averaged: int
    values: list[tuple[Member, float]]  # norms of the first of them: the parameter's, or its gradient's
    at_first: bool
    whole: bool


def hand_averaged(run: Run) -> HandAveraged | None:
    """The first optimizer of which that is so. None for runs with a wrapper, and where traces are missing."""
    if not 1 < run.world == len(run.ranks) or any(wrapped(group[0].trace) for group in run.alike):
        return None
    found: dict[str, Member] = {}
    for member in run.ranks:
        found.setdefault(outline_of_prints(member.trace), member)
        run.leave(member)
    members = list(found.values())[:_COMPARED]
    if len(members) < 2:
        return None
    numbers = set.intersection(*(set(member.trace.prints("gradients")) for member in members))
    for number in sorted(numbers):
        if (made := _of_optimizer(members, number)) is not None:
            return made
    return None


def _of_optimizer(members: list[Member], number: int) -> HandAveraged | None:
    parameters = [member.trace.prints("parameters").get(number, {}) for member in members]
    if any(0 not in table for table in parameters):
        return None
    ids = [sorted(table[0][1], key=int) for table in parameters]
    if len({len(own) for own in ids}) != 1 or not same_shapes(members, ids):
        return None
    gradients = [member.trace.prints("gradients")[number] for member in members]
    steps = sorted(set.intersection(*(set(table) for table in gradients)))
    if len(steps) < _LEAST:
        return None
    same, apart, filled = [], [], []
    for place in range(len(ids[0])):
        rows = [[t[step][1].get(own[place]) for t, own in zip(gradients, ids, strict=True)] for step in steps]
        if any(not value for row in rows for value in row):
            continue
        filled.append(place)
        alike = [_alike([value for value in row if value is not None]) for row in rows]
        same += [place] * all(alike)
        apart += [place] * (not any(alike))
    first = [
        [table[0][1][own[p]] for table, own in zip(parameters, ids, strict=True)] for p in range(len(ids[0]))
    ]
    if not same:
        return None
    site = members[0].trace.site(gradients[0][steps[0]][0])
    other = [place for place in same if not _alike(first[place])]
    if len(same) == len(filled) > 1 and other:
        values = list(zip(members, first[other[0]], strict=True))
        return _made(members, ids, site, other, same, values, at_first=True)
    left = [place for place in apart if _alike(first[place])]
    if not left or len(left) + len(same) != len(filled) or not all(_alike(first[place]) for place in same):
        return None
    step = steps[-1]
    numbers = [t[step][1][own[left[0]]] for t, own in zip(gradients, ids, strict=True)]
    return _made(members, ids, site, left, same, list(zip(members, numbers, strict=True)), at_first=False)


def _made(
    members: list[Member], ids: list[list[str]], site: Site | None, places: list[int], same: list[int],
    values: list[tuple[Member, float]], at_first: bool,
) -> HandAveraged:  # fmt: skip
    trace = members[0].trace
    own = [int(id) for id in ids[0]]
    owners = {trace.parameter(own[place]).module for place in places}
    whole = not any(trace.parameter(own[place]).module in owners for place in same)
    user = site.user if site is not None else None
    return HandAveraged(user, [own[p] for p in places], own[same[0]], values, at_first, whole)


def _alike(values: list[float]) -> bool:
    return all(isclose(value, values[0], rel_tol=_NOISE) for value in values)
