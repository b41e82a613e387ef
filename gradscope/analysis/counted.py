"""Whether how often something is told is all there was: while sampling sleeps only some kinds of events are seen."""

from __future__ import annotations

from collections import Counter

from gradscope.analysis.memo import once
from gradscope.analysis.words import plural
from gradscope.events import Backward, CallTime, ModuleCall, Rested, Step, ZeroGrad
from gradscope.store import Trace


def is_at_least(trace: Trace, count: int) -> bool:
    """Whether what is told to have come so often may have come oftener: sampling has slept, and the count is not
    that of all the passes or steps of a line, or of all but the first."""
    slept = any(event.unlooked for event in trace.of(Backward)) or any(trace.of(Rested))
    return count > 1 and slept and count not in _counts(trace)


def at_least(trace: Trace, count: int, noun: str) -> str:
    """ "7 steps", or "at least 7 steps", where they may have been more."""
    return f"{'at least ' if is_at_least(trace, count) else ''}{plural(count, noun)}"


@once
def _counts(trace: Trace) -> set[int]:
    """How often each line made a pass or a step, of those that made some while sampling slept; and how many calls of
    a line were timed, where these are more than were noted: those in evaluation all are, as `eval()` ends the sleep."""
    unlooked = {segment.index for segment in trace.segments if segment.graph is None}
    times: Counter[tuple[str, tuple[str, int]]] = Counter()
    slept: Counter[tuple[str, tuple[str, int]]] = Counter()
    for event in trace.of(Backward, Step, ZeroGrad):
        for line in {frame.location() for frame in event.site.stack}:
            times[event.kind, line] += event.count
            slept[event.kind, line] += event.count if event.segment in unlooked else 0
    noted: Counter[int] = Counter()
    training: set[int] = set()
    for call in trace.of(ModuleCall):
        noted[call.site.id] += call.count
        training |= {call.site.id} if call.training else set()
    return {
        *(e.calls for e in trace.of(CallTime) if noted[e.site.id] < e.calls and e.site.id not in training),
        *(times[line] for line in times if slept[line]),
        *(times[line] - 1 for line in times if slept[line] > 1),
    }
