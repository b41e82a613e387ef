"""What stands beside a call of a model: other parts of it, and the steps of a training function."""

from __future__ import annotations

import re

from gradscope.model import Site
from gradscope.rules._calls import Call, Calls


def bare_layer(known: Calls, call: Call) -> bool:
    """Whether a layer without parameters was called by a method of its model other than `forward`."""
    event = call.event
    return known.called(event) != event.data["module"] and not known.parameters(event)


def beside(known: Calls, call: Call) -> list[Call]:
    """The calls of parts of the same model in the same block."""
    event, region = call.event, known.region(call.event)
    return [
        c
        for c in known.all
        if c.event.data["module"] == event.data["module"]
        and c.event.graph == event.graph
        and known.called(c.event) != event.data["module"]
        and known.region(c.event) == region
    ]


def inside_step(known: Calls, call: Call) -> bool:
    """Whether the call stands between `zero_grad()` and `step()` of the function that
    trains: whatever its result is for, it is no evaluation."""
    event = call.event
    near = [
        e
        for e in known.trace.of("zero_grad", "step")
        if e.segment == event.segment and e.site.user.function == event.site.user.function
    ]
    cleared = any(e.kind == "zero_grad" and e.position <= event.position for e in near)
    return cleared and any(e.kind == "step" and e.position >= event.position for e in near)


def trains_at(known: Calls, call: Call) -> list[Call]:
    """The calls of the same line that train."""
    return [c for c in known.all if c.trains and c.entry.location() == call.entry.location()]


def callers(call: Call) -> tuple[tuple[str, int], ...]:
    """The user's lines that led to the call, with its own."""
    return tuple(frame.location() for frame in call.entry.stack if frame.kind == "user")


def kept(known: Calls, call: Call) -> bool:
    """Whether the result is given a name or passed on after training began: not so for a
    shape probe, or a forward that only refreshes running statistics."""
    entry, first = call.entry, known.paths.first_pass
    if first is None or call.event.segment < first:
        return False
    lines = known.trace.lines(entry.path)
    before = lines[entry.line - 1][: entry.column - 1].strip() if 0 < entry.line <= len(lines) else ""
    return bool(before) and not before.endswith((":", ";")) and not re.match(r"_\w*\s*=$", before)


def trained_at(known: Calls, call: Call) -> Site | None:
    """The line that calls the same model to train it, in another function."""
    return next(
        (
            other.entry
            for other in known.all
            if other.trains
            and other.direct
            and other.entry.function != call.entry.function
            and known.called(other.event) == known.called(call.event)
        ),
        None,
    )
