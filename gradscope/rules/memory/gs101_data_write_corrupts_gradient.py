"""Saved values were overwritten through `.data`, or by a call between ranks: backward is wrong, silently.

Why: `.data` gives a tensor that shares the memory but not the version counter. Autograd
saved that memory for backward and cannot see that it was written, so it uses the new
values where the old ones belong. `dist.all_reduce(x)`, `dist.broadcast(x)` and `dist.recv(x)`
write to `x` in the same way.

Fix: give the call that saved it a copy (`f(x.clone())`), or make a new tensor; and go through `x.detach()`:
then autograd notices such a write and stops instead of computing a wrong gradient. Give a call between ranks a copy
(`x.detach().clone()`).

Silent on: parameter updates through `.data` after backward; writes before anything was
saved; memory that backward does not read again.
"""

from collections.abc import Iterator
from dataclasses import replace

from gradscope.analysis.words import located, owner, source, variable_given
from gradscope.events import Corrupted
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.rules.memory._corruption import (
    BETWEEN_RANKS,
    OTHER_LIBRARIES,
    RECEIVES,
    copied_for_backward,
    corruption,
    corruptions,
)
from gradscope.store import Trace


def bad() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    b.data.zero_()  # cause: GS101
    loss.backward()  # effect: GS101


def good_clone() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    c = b.detach().clone()
    c.zero_()
    loss.backward()


@rule("GS101", name="data-write-corrupts-gradient", severity="error", over=("GS102",))
def data_write_corrupts_gradient(trace: Trace) -> Iterator[Finding]:
    for events in corruptions(trace):
        if events[0].through in BETWEEN_RANKS:
            yield _reduced(trace, events)
        elif events[0].through not in OTHER_LIBRARIES:
            write = trace.site(events[0].write)
            label = "written through `.data`, which hides the write from autograd's version check"
            found = corruption(trace, events, write, "data", label, "")
            fix, edits = copied_for_backward(trace, events, owner(source(trace, found.cause), "data"))
            fix = fix or "make a new tensor in place of the write, or write after the backward"
            detach = "`.detach()` in place of `.data` lets torch stop such a backward"
            yield replace(found, fix=f"{fix}; {detach}", edits=edits)


def _reduced(trace: Trace, events: list[Corrupted]) -> Finding:
    call = str(events[0].through)
    label = f"`dist.{call}` writes to its argument, which autograd's version check does not see"
    found = corruption(trace, events, trace.site(events[0].write), call, label, "")
    fix, _ = copied_for_backward(trace, events, "")
    if call in RECEIVES:
        given = variable_given(trace, found.cause)
        into = f"`{given} = torch.empty_like({given})`" if given else "`torch.empty_like(…)`"
        return replace(
            found,
            fix=f"receive into new memory each time ({into} before {located(trace, found.cause, 'the call')}): what was"
            " received before is needed until its backward",
        )
    return replace(
        found,
        fix=f"give `dist.{call}` a copy (`.detach().clone()`) where its result is only shown; "
        + (f"else {fix[:1].lower()}{fix[1:]}" if fix else "else call it before what saves these values"),
    )
