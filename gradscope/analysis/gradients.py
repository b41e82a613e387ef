"""The life of every gradient: what filled it, what used it, what cleared it, what was left.

A gradient that several passes filled belongs to all of them until a step or an update by hand uses it, or a call
clears it. So accumulation, GANs and closures need no rule of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.loop import timeline
from gradscope.analysis.memo import once
from gradscope.events import Backward, Step, Update, ZeroGrad
from gradscope.store import Trace

Use = Step | Update


@dataclass(eq=False)
class Fill:
    """What one backward pass put into gradients, and what became of it.

    `times` is how often the pass came in a row before anything else could use what it filled. A parameter is
    in `waiting` until its gradient is used or cleared; what is in it at the end was left.
    """

    number: int  # in program order
    event: Backward
    times: int
    waiting: set[int]
    uses: list[tuple[Use, frozenset[int]]] = field(default_factory=list)
    clears: list[tuple[ZeroGrad, frozenset[int]]] = field(default_factory=list)

    @property
    def parameters(self) -> frozenset[int]:
        return frozenset(self.event.filled)

    @property
    def used(self) -> frozenset[int]:
        """Parameters whose gradient a step or an update by hand used."""
        return frozenset(id for _, ids in self.uses for id in ids)

    @property
    def cleared(self) -> frozenset[int]:
        """Parameters whose gradient was cleared before anything used it."""
        return frozenset(id for _, ids in self.clears for id in ids)


@dataclass(eq=False)
class Turn:
    """A step with the passes whose gradients it used, and how often it came like this in a row."""

    step: Step
    times: int
    fills: list[Fill]


class Gradients:
    """All fills and turns of a run, in program order."""

    def __init__(self, trace: Trace):
        self.fills: list[Fill] = []
        self.turns: list[Turn] = []
        self._waiting: dict[int, list[Fill]] = {}  # parameter → fills that nothing has used or cleared
        for repeat, events in timeline(trace):
            passes = 1 if any(isinstance(event, Step) for event in events) else repeat
            for event in events:
                if isinstance(event, Backward) and event.filled:
                    self._fill(event, passes)
                elif isinstance(event, Step):
                    self.turns.append(Turn(event, repeat, self._use(event, event.fresh)))
                elif isinstance(event, Update):
                    self._use(event, {event.parameter})
                elif isinstance(event, ZeroGrad):
                    for fill, ids in self._gone(event.parameters):
                        fill.clears.append((event, ids))

    def _fill(self, event: Backward, times: int) -> None:
        fill = Fill(len(self.fills), event, times, set(event.filled))
        self.fills.append(fill)
        for parameter in event.filled:
            self._waiting.setdefault(parameter, []).append(fill)

    def _use(self, event: Use, ids: set[int] | frozenset[int]) -> list[Fill]:
        found = list(self._gone(ids))
        for fill, mine in found:
            fill.uses.append((event, mine))
        return [fill for fill, _ in found]

    def _gone(
        self, ids: tuple[int, ...] | set[int] | frozenset[int]
    ) -> Iterator[tuple[Fill, frozenset[int]]]:
        """The fills that waited for these parameters, in program order, with those of each."""
        found: dict[int, set[int]] = {}
        for parameter in ids:
            for fill in self._waiting.pop(parameter, ()):
                found.setdefault(fill.number, set()).add(parameter)
        for number, mine in sorted(found.items()):
            self.fills[number].waiting -= mine
            yield self.fills[number], frozenset(mine)


@once
def gradients(trace: Trace) -> Gradients:
    """What became of each gradient of the run."""
    return Gradients(trace)
