"""Learning-rate schedules: whether they or their optimizers step first."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.analysis.loop import in_order
from gradscope.events import Backward, Scaler, Scheduled, SchedulerMade, Step
from gradscope.model import Site
from gradscope.store import Trace


@dataclass(frozen=True)
class Early:
    """A schedule's step that came before the first step of its optimizer."""

    schedule: Scheduled
    times: int  # how often its line ran before that
    first: Step


def stepped_early(trace: Trace, made: SchedulerMade) -> Early | None:
    """The line that steps a schedule both before and after the optimizer's first step. None for an
    accumulation, whose schedule counts passes, and where a scaler may have skipped the first step."""
    number, optimizer = made.scheduler, made.optimizer
    before: dict[Site, tuple[Scheduled, int]] = {}
    first: Step | None = None
    held = set(trace.optimizers[optimizer].parameters)
    passes = since = 0  # passes into these parameters: before the schedule's first step, and after it
    for repeat, event in in_order(trace):
        if isinstance(event, Scaler) and event.optimizer == optimizer and first is None:
            return None
        if isinstance(event, Step) and event.optimizer == optimizer and first is None:
            first = event
            if passes and since:
                return None
        if isinstance(event, Backward) and first is None and held & set(event.filled):
            passes, since = (passes, since + repeat) if before else (passes + repeat, since)
        if isinstance(event, Scheduled) and event.scheduler == number:
            site = event.site.user
            if first is None:
                before[site] = (event, before.get(site, (event, 0))[1] + repeat)
            elif site in before:
                return Early(*before[site], first)
    return None
