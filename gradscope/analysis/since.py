"""Since which step of the program something was so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate

from gradscope.analysis.loop import stretches
from gradscope.analysis.memo import once
from gradscope.events import Backward
from gradscope.model import Finding, Since, Site
from gradscope.store import Trace

Line = tuple[str, int]


def since_segment(trace: Trace, index: int) -> Since | None:
    """The step to which a segment belongs. None where no step came after it."""
    known = _steps(trace)
    place = bisect_left(known.indices, index)
    before = known.before[place] if place < len(known.indices) else known.total
    return known.since(before + 1, place > 0 and place - 1 in known.asleep) if before < known.total else None


def since_step(trace: Trace, step: int | None) -> Since | None:
    """A step of which it is known that this was seen in it; what slept before it may have had it already."""
    known = _steps(trace)
    if step is None or step > known.total:
        return None
    return known.since(step, bisect_left(known.before, step) - 2 in known.asleep)


def since_stretch(trace: Trace, number: int) -> Since | None:
    """The step to which a stretch of the timeline belongs. An event that comes again has the segment of its
    first time: what matters from later on has its own stretch."""
    return since_segment(trace, _stretches(trace)[number])


@once
def _stretches(trace: Trace) -> list[int]:
    """The segments that `timeline` has, by index."""
    return [segment.index for segment, _ in stretches(trace) if segment.events is not None]


def since_pass(trace: Trace, ids: Iterable[int]) -> Since | None:
    """The step in which the first pass filled any of these."""
    wanted = frozenset(ids)
    first = next((event for event in trace.of(Backward) if not wanted.isdisjoint(event.filled)), None)
    return since_segment(trace, first.segment) if first is not None else None


def since_places(trace: Trace, finding: Finding) -> Since | None:
    """The first step in which the lines of its cause and its effect had both run."""
    first = _first_runs(trace)
    lines = (site.location() for site in (finding.cause, finding.effect) if site is not None)
    found = [first[line] for line in lines if line in first]
    return since_segment(trace, max(found)) if found else None


class _Steps:
    """The segments of a run with the optimizer steps before each."""

    def __init__(self, trace: Trace):
        counts = [segment.repeat if segment.is_step else 0 for segment in trace.segments]
        self.indices = [segment.index for segment in trace.segments]
        self.before = list(accumulate(counts, initial=0))
        self.total = sum(counts)
        slept = {event.segment for event in trace.of(Backward) if event.unlooked}
        lists = {(s.events, s.graph) for s in trace.segments if s.index in slept}
        self.asleep = {place for place, s in enumerate(trace.segments) if (s.events, s.graph) in lists}
        self.round = sum(optimizer.steps > 0 for optimizer in trace.optimizers.values())

    def since(self, step: int, asleep: bool) -> Since:
        """The steps of several optimizers in the first round of a loop are its first."""
        return Since(step, asleep) if step > self.round else Since(1)


@once
def _steps(trace: Trace) -> _Steps:
    return _Steps(trace)


@once
def _first_runs(trace: Trace) -> dict[Line, int]:
    """Line of the program → the first segment in which it computed something or an event came from it."""
    sites: dict[int, tuple[Site, int]] = {}
    graphs: set[int] = set()
    for segment in trace.segments:
        if segment.graph is not None and segment.graph not in graphs:
            graphs.add(segment.graph)
            for op in trace.graph(segment.graph).ops:
                sites.setdefault(op.site.id, (op.site, segment.index))
    for event in trace.events:
        known = sites.get(event.site.id)
        if known is None or event.segment < known[1]:
            sites[event.site.id] = event.site, event.segment
    found: dict[Line, int] = {}
    for site, index in sites.values():
        for frame in site.stack:
            found[frame.location()] = min(found.get(frame.location(), index), index)
    return found
