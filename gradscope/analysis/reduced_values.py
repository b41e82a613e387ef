"""Values in the middle of a wrapped model (the statistics of a norm over all samples) that are summed over the ranks in
place: each rank's loss reads what the others gave, and no gradient goes back to them."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from gradscope.analysis.parting import wrapping_whole
from gradscope.analysis.rank_gradients import alike, losses
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.wrappers import wrapped
from gradscope.events import Backward
from gradscope.model import Op, Site
from gradscope.store import Member, Run, Trace

_ASKED = 8  # ranks


class ReducedValue(NamedTuple):
    """`parameters`: ids in the first member's trace, of what it was computed from; `values`: each rank's first loss."""

    site: Site  # of the call
    backward: Site
    shape: tuple[int, ...]
    parameters: list[int]
    values: list[tuple[Member, float]]


def reduced_value(run: Run) -> ReducedValue | None:
    """The first one. None where the ranks have one loss, of which each may hold a part, or where the value is a single
    number: a loss that is shown, or its divisor."""
    members = wrapping_whole(run)[:_ASKED]
    if len(members) < 2:
        return None
    trace = members[0].trace
    if "all_reduce" not in trace.op_names:
        return None
    first = [next(losses(member), None) for member in members]
    known_losses = [loss for loss in first if loss is not None]
    if len(known_losses) < len(first) or any(map(alike, combinations(known_losses, 2))):
        return None
    ours = {id for of in wrapped(trace) for id in of.parameters if len(of.ranks) == run.world}
    known = paths(trace)
    for number in known.graph_ids:
        for op in known.graph(number).called({"all_reduce"}):
            found = _behind(known, number, op) & ours
            event = _pass_of(trace, number)
            if found and event is not None:
                shape = known.value((number, op.inputs[0])).shape
                values = list(zip(members, known_losses, strict=True))
                return ReducedValue(op.site.user, event.site.user, shape, sorted(found), values)
    return None


def _behind(known: Paths, number: int, op: Op) -> frozenset[int]:
    """The parameters that its value was computed from, where a loss goes through it."""
    after = [(number, index) for index in (*op.written, *op.outputs)]
    before = [(number, index) for index in op.inputs if known.value((number, index)).node is not None]
    if not before or known.value(before[0]).shape == () or known.used.order.keys().isdisjoint(after):
        return frozenset()
    return known.reach(before).parameters & known.reached.parameters


def _pass_of(trace: Trace, graph: int) -> Backward | None:
    return next((event for event in trace.of(Backward) if event.graph == graph), None)
