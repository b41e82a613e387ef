"""A loss that is averaged over the ranks before its pass, in place of the gradients."""

from __future__ import annotations

from typing import NamedTuple

from gradscope.analysis.parting import paired
from gradscope.analysis.rank_gradients import alike, all_without_wrapper, common_loss, followed
from gradscope.events import Backward
from gradscope.model import Site
from gradscope.store import Member, Run, Trace

_CALLS = {"all_reduce", "reduce", "broadcast"}  # that write in place, and have no node


class ReducedLoss(NamedTuple):
    """`parameters`: those whose gradients differ; `values`: norms of the first one's, at the first step."""

    site: Site  # of the call that reduces it
    backward: Site
    step: Site | None
    parameters: list[int]  # ids in the first member's trace
    loss: float
    values: list[tuple[Member, float]]
    compared: int  # steps


def reduced_loss(run: Run) -> ReducedLoss | None:
    """The first optimizer of which that is so: all ranks went back from the same number, which a call between them had
    made, from parameters that were the same; their gradients differ at each of the first steps, and so do the
    parameters after them. None where traces are missing, or a wrapper averages."""
    members = all_without_wrapper(run)
    loss = common_loss(members)
    found = _reduced(members[0].trace) if loss is not None else None
    if loss is None or found is None:
        return None
    for numbers in paired(members, "gradients"):
        steps = followed(members, numbers)
        filled = (
            [one for one in steps.parameters if all(map(all, one.gradients))] if steps is not None else []
        )
        apart = [one for one in filled if not any(map(alike, one.gradients)) and not alike(one.ended)]
        if steps is not None and apart and all(alike(one.begun) for one in steps.parameters):
            norms = [norm or 0.0 for norm in apart[0].gradients[0]]
            ids = [int(one.ids[0]) for one in apart]
            values = list(zip(members, norms, strict=True))
            return ReducedLoss(*found, steps.first, ids, loss, values, steps.compared)
    return None


def _reduced(trace: Trace) -> tuple[Site, Site] | None:
    """Where the root of the first pass, or what it was made of, was written to by such a call; and the pass."""
    event = next((event for event in trace.of(Backward) if event.graph >= 0 and len(event.roots) == 1), None)
    if event is None:
        return None
    graph = trace.graph(event.graph)
    way = {event.roots[0]}
    for op in reversed(graph.ops):
        if way.isdisjoint(op.outputs) and way.isdisjoint(op.written):
            continue
        if op.name in _CALLS:
            return op.site.user, event.site.user
        if graph.values[op.outputs[0] if op.outputs else op.written[0]].shape == ():
            way.update(value for value in op.inputs if graph.values[value].shape == ())
    return None
