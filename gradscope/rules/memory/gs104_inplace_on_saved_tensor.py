"""A tensor that backward needs was changed in place: torch stops the backward.

Why: the forward saved this tensor to compute gradients with it. The in-place write
replaced its values, autograd saw the version move and refuses to go on.

Fix: make a new tensor instead of writing in place (`x = x + 1`, not `x += 1`), or give the call that
saved it a copy: `x[i] = f(x[i].clone())`. A copy of what is written (`x.clone()[i] = …`) loses the write.
A function that writes to what it was given needs a copy first: `out = x.clone()`, where `out = x` makes none.
"""

from collections.abc import Iterator
from typing import Any

from gradscope.analysis.failures import failure_subject, versions
from gradscope.analysis.words import code, counted, listed, located, source, user
from gradscope.events import ErrorRaised, Lane
from gradscope.fixes.in_place import argument_written, mended
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

_TEXT = "modified by an inplace operation"


def bad() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    b.detach().zero_()  # cause: GS104
    loss.backward()  # effect: GS104


def good() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    b += 1  # nothing has saved `b` yet
    loss = torch.mean(b * b)
    loss.backward()


@rule("GS104", name="inplace-on-saved-tensor", severity="error", over=("GS102",), needs=ErrorRaised)
def inplace_on_saved_tensor(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(ErrorRaised):
        if event.where == "backward" and _TEXT in event.text:
            yield _explained(trace, event)


def _explained(trace: Trace, event: ErrorRaised) -> Finding:
    writes = event.writes
    write = writes[0] if writes else {}
    cause, saved = user(trace.site(write.get("site"))), user(trace.site(event.saved_site))
    text = code(trace, cause, f"`{write['op']}`" if write.get("op") else "an in-place operation")
    by = f", saved by {code(trace, saved)}," if source(trace, saved) else ""
    sites = [trace.site(w.get("site")) for w in writes[1:4]]
    more = tuple(
        (site.user, "and written here")
        for site in sites
        if site is not None and not (cause is not None and _within(site.user, cause))
    )
    too = _too(trace, event)
    others = {
        write.location(): write for write, _ in too if cause is None or write.location() != cause.location()
    }
    more += tuple((write, "also writes to what backward needs") for write in others.values())
    lanes = [lane for lane in trace.of(Lane) if lane.steps] if not writes else []
    if lanes and not event.spoilt_too:
        return _by_another_thread(trace, event, lanes)
    fix, edits = mended(trace, event, write)
    own = argument_written(trace, event, write)
    if own is not None and own.alias is not None:
        more += ((own.alias, f"makes no copy: `{own.name}` is the tensor that came in as `{own.argument}`"),)
    return Finding(
        message=f"a tensor that backward needs{by} was changed by {text}",
        cause=cause,
        cause_label=f"written in place here{_versions(write)}",
        effect=user(event.site),
        effect_label="torch stops: the saved values are gone",
        related=(((saved, "saved here for backward"),) if saved is not None else ()) + more,
        seen=(
            versions(event.text),
            *(
                f"{located(trace, w)} changed what {code(trace, by, 'another call')} had saved too"
                for w, by in too
            ),
        ),
        fix=fix,
        count=event.count,
        edits=edits,
        subjects=frozenset({failure_subject(event)}),
    )


def _by_another_thread(trace: Trace, event: ErrorRaised, lanes: list[Lane]) -> Finding:
    saved, stopped = user(trace.site(event.saved_site)), user(event.site)
    by = f", saved by {code(trace, saved)}," if source(trace, saved) else ""
    threads = listed([f"`{lane.thread}`" for lane in lanes])
    thread = "another thread" if len(lanes) == 1 else f"{len(lanes):,} other threads"
    return Finding(
        message=f"a tensor that backward needs{by} was changed while {thread} made steps",
        cause=lanes[0].site.user,
        cause_label=f"{threads} trained here: {counted(sum(lane.steps for lane in lanes), 'step')}",
        effect=stopped,
        effect_label="torch stops: the saved values are gone",
        related=((saved, "saved here for backward"),) if saved is not None else (),
        seen=(versions(event.text), "no write to it was seen in the thread whose backward this is"),
        why="a step writes to the parameters in place. Where threads share a model, one makes its step between the"
        " forward and the backward of another; they share each `.grad` too, and one clears what the other computes",
        fix=f"give each thread a copy of the model for its forward and {code(trace, stopped, '`backward()`')}, and"
        " under a lock copy its gradients to the shared model and make the step; or hold the lock from the forward to"
        " the step",
        count=event.count,
        subjects=frozenset({failure_subject(event)}),
    )


def _within(site: Site, other: Site) -> bool:
    """Whether a call is a part of another: the `x[i]` that `x[i] += 1` writes back."""
    begin, end = (site.line, site.column), (site.end_line, site.end_column)
    return (
        site.path == other.path
        and (other.line, other.column) <= begin
        and end <= (other.end_line, other.end_column)
    )


def _too(trace: Trace, event: ErrorRaised) -> list[tuple[Site, Site]]:
    """The further writes at which the backward would stop next, each with a call that had saved what it wrote to."""
    saved = user(trace.site(event.saved_site))
    writes = [user(trace.site(one.get("site"))) for one in event.writes]
    told = {
        (write.location(), saved.location()) for write in writes if write is not None and saved is not None
    }
    found: dict[tuple[tuple[str, int], tuple[str, int]], tuple[Site, Site]] = {}
    for one in event.spoilt_too:
        write, by = user(trace.site(one["write"])), user(trace.site(one["site"]))
        if write is not None and by is not None and (write.location(), by.location()) not in told:
            found.setdefault((write.location(), by.location()), (write, by))
    return list(found.values())[:3]


def _versions(write: dict[str, Any]) -> str:
    if write.get("from") is None or write.get("to") is None:
        return ""
    return f" (version {write['from']} → {write['to']})"
