"""Parameters that sharding has left out (`fully_shard` of the blocks, not of the model): nothing averages their
gradients, and the ranks part in them."""

from __future__ import annotations

from typing import NamedTuple

from gradscope.analysis.parting import paired
from gradscope.analysis.rank_gradients import COMPARED, alike, followed
from gradscope.analysis.wrappers import wrapped
from gradscope.model import Site
from gradscope.store import Member, Run


class Unsharded(NamedTuple):
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
    members = run.ranks[:COMPARED]
    for numbers in paired(members, "gradients"):
        if (found := _of_optimizer(members, numbers)) is not None:
            return found
    return None


def _of_optimizer(members: list[Member], numbers: list[int]) -> Unsharded | None:
    trace = members[0].trace
    held = [trace.parameter(id) for id in trace.optimizers[numbers[0]].parameters]
    sharded = [parameter.id for parameter in held if parameter.sharded and parameter.steps]
    steps = followed(members, numbers) if sharded else None
    if steps is None:
        return None
    found = [
        one
        for one in steps.parameters
        if all(map(all, one.gradients))
        and alike(one.begun)
        and not alike(one.ended)
        and not any(map(alike, one.gradients))
    ]
    if not found:
        return None
    values = list(zip(members, found[0].ended, strict=True))
    parameters = [int(one.ids[0]) for one in found]
    return Unsharded(steps.last_site, parameters, sharded[0], values, steps.last, steps.compared)
