"""Layers that are split over the ranks by hand (tensor parallelism): each rank holds a part of their parameters, and
whole copies of the others. The gradient of what a split layer is given is a sum over the ranks."""

from __future__ import annotations

from typing import NamedTuple

from gradscope.analysis.parting import paired
from gradscope.analysis.rank_gradients import Followed, alike, all_without_wrapper, common_loss, followed
from gradscope.events import Backward
from gradscope.model import Graph, Op, Site
from gradscope.store import Member, Run, Trace


class NotSummed(NamedTuple):
    """`parameters`: those of which each rank has a copy, and another gradient of one and the same loss. `values`: norms
    of the first one's, at the first step; `split`: one of which each rank holds a part; `site`: where such a part meets
    what the copies gave."""

    site: Site
    given_by: str  # the op, or the program's own Function, that made what the copies gave there
    step: Site | None
    parameters: list[int]  # ids in the first member's trace
    split: int
    loss: float
    values: list[tuple[Member, float]]
    compared: int  # steps


def not_summed(run: Run) -> NotSummed | None:
    """The first optimizer of which that is so: the ranks have one loss though they hold other parts, so all of them
    work on it; the copies, alike before the first step, had other gradients at each of the first steps, and part. None
    where traces are missing, or a wrapper averages."""
    members = all_without_wrapper(run)
    loss = common_loss(members)
    if loss is None:
        return None
    for numbers in paired(members, "gradients"):
        if (found := _of_optimizer(members, numbers, loss)) is not None:
            return found
    return None


def _of_optimizer(members: list[Member], numbers: list[int], loss: float) -> NotSummed | None:
    steps = followed(members, numbers)
    if steps is None:
        return None
    split = [one for one in steps.parameters if not alike(one.begun)]
    copies = [one for one in steps.parameters if alike(one.begun) and all(map(all, one.gradients))]
    parted = [one for one in copies if not any(map(alike, one.gradients)) and not alike(one.ended)]
    trace = members[0].trace
    met = _where_they_meet(trace, _ids(split), _ids(parted)) if split and parted else None
    if met is None:
        return None
    norms = [norm or 0.0 for norm in parted[0].gradients[0]]
    return NotSummed(
        *met,
        steps.first,
        _ids(parted),
        _ids(split)[0],
        loss,
        list(zip(members, norms, strict=True)),
        steps.compared,
    )


def _ids(found: list[Followed]) -> list[int]:
    return [int(one.ids[0]) for one in found]


def _where_they_meet(trace: Trace, split: list[int], copies: list[int]) -> tuple[Site, str] | None:
    """The first call of the first pass that works with a part of a split layer, or what was made of one alone, and with
    a value that the copies have made; and by what op that was made."""
    event = next((event for event in trace.of(Backward) if event.graph >= 0), None)
    if event is None:
        return None
    graph = trace.graph(event.graph)
    of_copies, of_parts = _of(trace, graph, copies), _of(trace, graph, split)
    for op in graph.ops:
        from_copies = [value for value in op.inputs if value in of_copies]
        from_parts = [value for value in op.inputs if value in of_parts]
        if set(from_parts) - of_copies and set(from_copies) - of_parts:
            maker = graph.maker(next(value for value in from_copies if value not in of_parts))
            return op.site.user, maker.name if maker is not None else ""
        _grow(op, of_copies, from_copies)
        _grow(op, of_parts, from_parts)
    return None


def _grow(op: Op, reached: set[int], inputs: list[int]) -> None:
    if inputs:
        reached.update(op.outputs)


def _of(trace: Trace, graph: Graph, parameters: list[int]) -> set[int]:
    wanted = set(parameters)
    return {value.index for value in graph.values if value.parameter in wanted}
