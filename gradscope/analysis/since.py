"""Since which step of the program something was so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate

from gradscope.analysis.loop import stretches
from gradscope.analysis.memo import once
from gradscope.events import Backward
from gradscope.model import Finding, Since, Site, Span
from gradscope.store import Trace

Line = tuple[str, int]


def called(trace: Trace, since: Since | None) -> Since | None:
    """With what the program calls that step."""
    if since is None or not trace.marks:
        return since
    place = bisect_left(trace.marks, since.step, key=lambda mark: mark.steps)
    return replace(since, called=trace.marks[place - 1].of(since.step)) if place else since


def since_segment(trace: Trace, index: int) -> Since | None:
    """The step to which a segment belongs: the one that was to come where passes went on after the last. None
    where training was over."""
    known = _steps(trace)
    place = bisect_left(known.indices, index)
    before = known.before[place] if place < len(known.indices) else known.total
    if before == known.total and not (known.total and index <= known.trained):
        return None
    return known.since(before + 1, known.slept_before(place))


def since_graph(trace: Trace, number: int) -> Since | None:
    """The step in which this graph was first seen."""
    first = next((segment.index for segment in trace.segments if segment.graph == number), None)
    return since_segment(trace, first) if first is not None else None


def since_step(
    trace: Trace, step: int | None, before: int | None = None, *, always: bool = False
) -> Since | None:
    """A step of which it is known that this was seen in it; what slept before it may have had it already, or
    nobody measured it since `before`. always: it is noted of steps that sampling sleeps through, too."""
    known = _steps(trace)
    if step is None or step > known.total:
        return None
    unknown = before is not None and before < step - 1
    slept = not always and bisect_left(known.before, step - 1) - 1 in known.asleep
    return known.since(step, unknown or slept)


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
    """The first step in which its cause and its effect had both run: these expressions, else their lines."""
    first = _first_runs(trace)
    found = []
    for site in (finding.cause, finding.effect):
        places = (site.span(), site.location()) if site is not None else ()
        found += [first[place] for place in places if place in first][:1]
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
        self.steps = [place for place, segment in enumerate(trace.segments) if segment.is_step]
        self.trained = max(  # the last segment with a pass
            (s.index for s, events in stretches(trace) if any(isinstance(e, Backward) for e in events)),
            default=-1,
        )
        self.round = sum(optimizer.steps > 0 for optimizer in trace.optimizers.values())

    def slept_before(self, place: int) -> bool:
        """Whether sampling slept in the step before this segment."""
        at = bisect_left(self.steps, place)
        return at > 0 and self.steps[at - 1] in self.asleep

    def since(self, step: int, asleep: bool) -> Since:
        """The steps of several optimizers in the first round of a loop are its first."""
        return Since(step, asleep) if step > self.round else Since(1)


@once
def _steps(trace: Trace) -> _Steps:
    return _Steps(trace)


@once
def _first_runs(trace: Trace) -> dict[Line | Span, int]:
    """Line of the program, or expression → the first segment in which it computed something or an event came
    from it."""
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
    found: dict[Line | Span, int] = {}
    for site, index in sites.values():
        for frame in site.stack:
            for place in (frame.location(), frame.span()):
                found[place] = min(found.get(place, index), index)
    return found
