"""Where a gradient that was used should be cleared: in words, and as a patch."""

from __future__ import annotations

from gradscope.model import Edit, Event, Site
from gradscope.rules._common import listed
from gradscope.rules._edits import Source, receiver
from gradscope.rules._stale import gradients_read
from gradscope.store import Trace


def own_pass(trace: Trace, use: Event, effect: Site | None) -> Site | None:
    """The first pass of the step that used the sum, where an earlier one, made for another optimizer's
    step, began it: cleared before that one, its gradients would still be among those used."""
    ids = set(use.data.get("parameters", ()))
    passes = [
        event.site.user
        for event in trace.of("backward")
        if event.segment == use.segment and ids & set(event.data.get("accumulated", ()))
    ]
    return passes[0] if passes and effect not in passes else None


def argument(trace: Trace, effect: Site | None) -> str:
    """What to tell `zero_grad()` where the program goes on adding to the gradient itself."""
    passes = {event.site.user.location() for event in trace.of("backward")}
    return "set_to_none=False" if effect is not None and effect.location() not in passes else ""


def zeroed(trace: Trace, cause: Site | None, effect: Site | None, own: Site | None) -> tuple[Edit, ...]:
    """A `zero_grad()` after the step; before the backward where several optimizers share gradients."""
    if cause is None:
        return ()
    optimizer = receiver(trace, cause, "step")
    if not optimizer:
        return _zeroed_by_hand(trace, cause)
    if own is not None:
        here = Source(trace, own.path)
        if (own.path, own.function) != (cause.path, cause.function):
            return ()
        return here.before(here.file.statement(own), f"{optimizer}.zero_grad()")
    late = effect is not None and effect.path == cause.path and effect.function == cause.function
    if len({event.data.get("optimizer") for event in trace.of("step")}) > 1 and late and effect is not None:
        here = Source(trace, effect.path)
        return here.before(here.file.statement(effect), f"{optimizer}.zero_grad({argument(trace, effect)})")
    here = Source(trace, cause.path)
    return here.after(here.file.statement(cause), f"{optimizer}.zero_grad({argument(trace, effect)})")


def _zeroed_by_hand(trace: Trace, cause: Site) -> tuple[Edit, ...]:
    """`w.grad = None` after `w -= lr * w.grad`."""
    here = Source(trace, cause.path)
    reads = gradients_read(trace, cause)
    return here.after(here.file.statement(cause), f"{reads[0]}.grad = None") if len(reads) == 1 else ()


def by_hand(trace: Trace, cause: Site | None) -> str:
    """What clears the gradients that an update by hand has used."""
    reads = list(gradients_read(trace, cause)) if cause is not None else []
    return listed([f"`{name}.grad = None`" for name in reads]) or "`p.grad = None` for each parameter"
