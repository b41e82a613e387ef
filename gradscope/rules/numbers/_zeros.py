"""Gradients that are exactly zero in the measured passes of a line, up to the end of the run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from gradscope.analysis.gradients import thrown_away
from gradscope.analysis.reach import Paths, paths
from gradscope.events import Backward
from gradscope.model import Graph, Op
from gradscope.store import Trace

ENOUGH = 5  # measured passes in a row, the last ones of the run


@dataclass
class Zeros:
    """The passes of one line: `event` is the last of their kinds; `filled`, the parameters that they give a
    gradient which is not thrown away."""

    trace: Trace
    known: Paths
    event: Backward
    sites: set[int]
    filled: set[int]

    @cached_property
    def series(self) -> dict[int, list[tuple[int, float]]]:
        """Parameter → (step, norm of its gradient) of each measured pass."""
        return {id: self.trace.numbers("grad_norm", id, self.sites) for id in sorted(self.filled)}

    def last(self, id: int) -> int:
        """How many of the measured passes, the last ones, left a gradient of exactly zero."""
        norms = [norm for _, norm in self.series.get(id, ())]
        return next((n for n, norm in enumerate(reversed(norms)) if norm != 0), len(norms))

    @cached_property
    def idle(self) -> set[int]:
        """The parameters whose gradient has been exactly zero in the last measured passes."""
        return {id for id in self.filled if self.last(id) >= ENOUGH}

    def always_there(self, id: int, count: int) -> bool:
        """Whether none of the last `count` was zero."""
        norms = [norm for _, norm in self.series.get(id, ())]
        return len(norms) >= count and all(norm > 0 for norm in norms[-count:])

    def is_wrong(self, count: int) -> bool:
        """Whether the loss of the last `count` measured passes was a number other than 0."""
        losses = [loss for _, loss in self.trace.numbers("loss", None, self.sites)][-count:]
        return len(losses) >= ENOUGH and all(loss != 0 and math.isfinite(loss) for loss in losses)


def zeros_of_lines(trace: Trace) -> Iterator[Zeros]:
    known, thrown = paths(trace), thrown_away(trace)
    lines = {event.site.user.location(): event for event in known.backwards}
    for line, event in lines.items():
        sites = {e.site.id for e in trace.of(Backward) if e.site.user.location() == line}
        filled = {id for id in set(event.filled) - thrown.get(line, set()) if trace.parameter(id).steps > 1}
        yield Zeros(trace, known, event, sites, filled)


def reads_zeros(line: Zeros, graph: Graph, op: Op) -> int | None:
    """The weight of one of `LAYERS` whose whole input has been zero in the last measured passes."""
    if len(op.inputs) != 3:
        return None
    weight, bias = (line.known.parameter_of((graph.id, index)) for index in op.inputs[1:])
    if weight is None or bias is None or weight.id not in line.idle:
        return None
    return weight.id if line.always_there(bias.id, line.last(weight.id)) else None
