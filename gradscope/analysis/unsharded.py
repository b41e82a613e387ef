"""Parameters that sharding has left out (`fully_shard` of the blocks, not of the model): nothing averages their
gradients, and the ranks part in them."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.analysis.parting import same_shapes
from gradscope.analysis.rank_gradients import alike
from gradscope.analysis.wrappers import wrapped
from gradscope.model import Site
from gradscope.store import Member, Run

_COMPARED = 32  # ranks
_LEAST = 2  # steps


@dataclass(frozen=True)
class Unsharded:
    """`values`: norms of the first of the parameters after step `step`; `sharded`: one that is, of the same
    optimizer."""

    site: Site | None  # of the step
    parameters: list[int]  # ids in the first member's trace
    sharded: int
    values: list[tuple[Member, float]]
    step: int
    compared: int  # steps whose gradients were


def left_unsharded(run: Run) -> Unsharded | None:
    """The first optimizer of which that is so: its other parameters are sharded, these were the same on all ranks
    before its first step, had other gradients at each of the first steps, and differ. None where traces are missing."""
    if not 1 < run.world == len(run.ranks) or any(wrapped(group[0].trace) for group in run.alike):
        return None
    if not any(parameter.sharded for parameter in run.ranks[0].trace.parameters):
        return None
    members = run.ranks[:_COMPARED]
    for number in sorted(set.intersection(*(set(member.trace.prints("gradients")) for member in members))):
        if (found := _of_optimizer(members, number)) is not None:
            return found
    return None


def _of_optimizer(members: list[Member], number: int) -> Unsharded | None:
    trace = members[0].trace
    held = [trace.parameter(id) for id in trace.optimizers[number].parameters]
    sharded = [parameter.id for parameter in held if parameter.sharded and parameter.steps]
    weights = [member.trace.prints("parameters").get(number, {}) for member in members]
    gradients = [member.trace.prints("gradients")[number] for member in members]
    steps = sorted(set.intersection(*(set(table) for table in gradients)))
    last = max(set.intersection(*(set(table) for table in weights)), default=0)
    if not sharded or len(steps) < _LEAST or not last or any(0 not in table for table in weights):
        return None
    ids = [sorted(table[0][1], key=int) for table in weights]
    if len({len(own) for own in ids}) != 1 or not same_shapes(members, ids):
        return None
    found: list[int] = []
    values: list[tuple[Member, float]] = []
    for own in zip(*ids, strict=True):
        rows = [[t[step][1].get(id) for t, id in zip(gradients, own, strict=True)] for step in steps]
        begun, ended = (
            [table[step][1].get(id, 0.0) for table, id in zip(weights, own, strict=True)]
            for step in (0, last)
        )
        if all(map(all, rows)) and alike(begun) and not alike(ended) and not any(map(alike, rows)):
            found.append(int(own[0]))
            values = values or list(zip(members, ended, strict=True))
    site = trace.site(weights[0][last][0])
    user = site.user if site is not None else None
    return Unsharded(user, found, sharded[0], values, last, len(steps)) if found else None
