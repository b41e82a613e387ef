"""How the loss of each line that makes backward passes went over the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from gradscope.analysis.words import owner, quoted, source
from gradscope.events import Backward
from gradscope.model import Site
from gradscope.store import Trace

ENOUGH = 10  # measured passes; of fewer a person reads nothing


@dataclass(frozen=True)
class Course:
    """line: of the program's, whose passes these are; name: of the loss, as the program has it; losses: those
    that were measured, in program order."""

    line: Site
    name: str
    losses: tuple[float, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """The means of the first and of the last tenth."""
        part = max(1, len(self.losses) // 10)
        return fmean(self.losses[:part]), fmean(self.losses[-part:])


def courses(trace: Trace) -> Iterator[Course]:
    """In the order of the lines' first passes."""
    lines: dict[tuple[str, int], list[Backward]] = {}
    for event in trace.of(Backward):
        lines.setdefault(event.site.user.location(), []).append(event)
    for events in lines.values():
        losses = [loss for _, loss in trace.numbers("loss", sites={event.site.id for event in events})]
        if len(losses) >= ENOUGH:
            line = events[0].site.user
            yield Course(line, _named(source(trace, line)), tuple(losses))


def _named(text: str) -> str:
    """ "`loss`" of `loss.backward()`; "the loss" where the pass is a library's or a larger expression's."""
    name = owner(text, "backward")
    return quoted(name) if name and text.startswith(f"{name}.backward") else "the loss"
