"""Gradients that pile up and that nothing ever clears or uses."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.model import Event, Finding, Site
from gradscope.rules._common import parameter_names, parameter_subjects, plural, timeline
from gradscope.store import Trace


def never_used(trace: Trace) -> Iterator[Finding]:
    """Several passes pile up and nothing is ever cleared, stepped or updated."""
    if trace.of("step", "zero_grad", "update"):
        yield from _left_over(trace)
        return
    filled: dict[int, Event] = {}
    piles: dict[Site, tuple[Event, set[int], int]] = {}
    for repeat, events in timeline(trace):
        fresh: dict[int, Event] = {}  # passes over one forward belong together: several losses, retain_graph
        for event in events:
            if event.kind == "backward" and event.data.get("call") != "grad":
                again = {p for p in event.data.get("accumulated", ()) if p in filled or repeat > 1}
                if again:
                    first, ids, count = piles.get(event.site.user, (event, set(), 0))
                    piles[event.site.user] = (first, ids | again, count + repeat)
                fresh.update(dict.fromkeys(event.data.get("accumulated", ()), event))
        filled.update(fresh)
    for site, (first, ids, count) in piles.items():
        yield Finding(
            message=f"{parameter_names(trace, sorted(ids))}: gradients of several backward passes pile up",
            cause=site,
            cause_label="adds to what earlier passes left, and nothing clears it",
            seen=(f"gradients were added to earlier ones {plural(count, 'time')}",),
            severity="note",
            subjects=parameter_subjects(ids),
            count=max(count, first.count),
        )


def _left_over(trace: Trace) -> Iterator[Finding]:
    """A pass adds to used gradients that nothing in the whole run ever clears."""
    cleared = {p for event in trace.of("zero_grad") for p in event.data.get("parameters", ())}
    for event in trace.of("backward"):
        ids = [p for p in event.data.get("stale") or () if p not in cleared]
        if ids:
            yield Finding(
                message=f"{parameter_names(trace, ids)}: a used gradient was added to, nothing cleared it",
                effect=event.site.user,
                effect_label="adds to gradients that a step has used already",
                severity="note",
                subjects=parameter_subjects(ids),
                count=event.count,
            )
