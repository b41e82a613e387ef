"""How the loss of each line that makes backward passes went over the run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import isfinite
from statistics import fmean
from typing import NamedTuple

from gradscope.analysis.words import loss_given, owner, quoted, source
from gradscope.events import Backward
from gradscope.model import Optimizer, Site
from gradscope.store import Trace

ENOUGH = 10  # measured passes; of fewer a person reads nothing
STAYS = 0.98  # of what the loss was
STEADY = 0.9  # of the passes the loss is lower than in the one before
AS_BEFORE = 0.5  # of the fall in the first half is that in the second


class Course(NamedTuple):
    """line: of the program's, whose passes these are; name: of the loss, as the program has it; losses: those
    that were measured, in program order; steps: the step of each."""

    line: Site
    name: str
    losses: tuple[float, ...]
    steps: tuple[int, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """The means of the first and of the last tenth."""
        part = max(1, len(self.losses) // 10)
        return fmean(self.losses[:part]), fmean(self.losses[-part:])

    @property
    def stays(self) -> bool:
        """Whether the loss is what it was."""
        first, last = self.ends
        return all(map(isfinite, self.losses)) and last > STAYS * first > 0

    @property
    def creeps(self) -> bool:
        """Whether it falls from each pass to the next by about as much all the time, as it does far from where it is
        lowest."""
        pairs = list(pairwise(self.losses))
        half = self.losses[len(self.losses) // 2]
        first, second = self.losses[0] - half, half - self.losses[-1]
        return sum(a > b for a, b in pairs) >= STEADY * len(pairs) and second >= AS_BEFORE * first > 0


def course_of(trace: Trace, optimizer: Optimizer) -> Course | None:
    """That of the line whose passes fill what an optimizer holds, where it is one."""
    held = set(optimizer.parameters)
    lines = {event.site.user.location() for event in trace.of(Backward) if held & set(event.filled)}
    return next((one for one in courses(trace) if lines == {one.line.location()}), None)


def courses(trace: Trace) -> Iterator[Course]:
    """Those that are long enough to be read, in the order of the lines' first passes."""
    return (course for course in measured(trace) if len(course.losses) >= ENOUGH)


def measured(trace: Trace) -> Iterator[Course]:
    """All of which a loss was measured, in the order of the lines' first passes."""
    lines: dict[tuple[str, int], list[Backward]] = {}
    for event in trace.of(Backward):
        lines.setdefault(event.site.user.location(), []).append(event)
    for events in lines.values():
        known = list(trace.numbers("loss", sites={event.site.id for event in events}))
        if known:
            line = events[0].site.user
            steps, losses = zip(*known, strict=True)
            yield Course(line, _named(trace, events[0]), losses, steps)


def _named(trace: Trace, event: Backward) -> str:
    """ "`loss`" of `loss.backward()` and of `accelerator.backward(loss)`; "the loss" where the pass is a library's or a
    larger expression's."""
    name = loss_given(trace, event)
    if name is None:
        text = source(trace, event.site.user)
        name = owner(text, "backward")
        name = name if text.startswith(f"{name}.backward") else ""
    return quoted(name) if name else "the loss"
