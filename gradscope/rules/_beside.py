"""What stands beside a call of a model: other parts of it, and the steps of a training function."""

from __future__ import annotations

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
