"""The step runs with non-zero gradients, and the parameters are bit-equal afterwards.

Why: with a learning rate of 0 nothing moves. Nor does it where the update is smaller than the
parameter's number format can tell apart (half-precision weights with a small learning rate), where
a state is loaded again after each step, or where the update goes to a new tensor that nothing keeps.

Fix: give the optimizer a learning rate above 0; keep the weights in float32 and let autocast
compute in half precision; load a state once, before the loop; write to the parameter itself, in
place, under `torch.no_grad()`.

A note for a warm-up that stands at 0 for several steps, and for single parameters among others
that move. Silent where only the first step of a warm-up is at 0, where a schedule ends there, and
where what a step changed was read before a state was loaded (meta learning, test-time adaptation).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gradscope.analysis.loop import norm
from gradscope.analysis.words import code, optimizer_name, parameter_names, parameter_subjects, plural, where
from gradscope.events import NoEffect, Scheduled, SchedulerMade, Step
from gradscope.fixes.blocks import moved_out
from gradscope.model import Event, Finding, Optimizer
from gradscope.rules import rule
from gradscope.rules.step._lost_writes import dropped_finding, dropped_updates, unwritten
from gradscope.rules.step._undone import undone, undone_finding
from gradscope.store import Trace

WARM_UP = 3  # steps of a schedule that may pass at rate 0


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0)  # cause: GS212
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        for p in model.parameters():
            p.data.clamp_(-1, 1)


@rule("GS212", name="step-has-no-effect", severity="error")
def step_has_no_effect(trace: Trace) -> Iterator[Finding]:
    told: set[int] = set()
    for number, optimizer in trace.optimizers.items():
        events = [e for e in trace.of(NoEffect) if e.optimizer == number]
        still = [e for e in events if not e.moved]
        lost = sum(e.count for e in still)
        if still and lost >= 2 and lost >= min(optimizer.steps, COMPARED):
            told.add(number)
            yield _finding(trace, number, optimizer, still, lost, _severity(trace, number, still[0]))
        elif lost > 1 and _at_the_start(trace, number, still[0]):
            yield _finding(trace, number, optimizer, still, lost, "note")
        elif partly := [e for e in events if e.moved]:
            yield from _partly(trace, number, optimizer, partly)

    for found in undone(trace):
        if found.optimizer not in told:
            yield replace(undone_finding(trace, found), edits=moved_out(trace, found.site))
    yield from map(partial(dropped_finding, trace), dropped_updates(trace))


def _severity(trace: Trace, number: int, event: NoEffect) -> str:
    if not event.zero_rate:
        return "" if unwritten(trace, event) else "warning"
    made = [e for e in trace.of(SchedulerMade) if e.optimizer == number]
    turns = sum(e.count for e in trace.of(Scheduled) if e.optimizer == number)
    return "note" if made and turns < WARM_UP else ""


def _at_the_start(trace: Trace, number: int, event: Event) -> bool:
    first = next((e for e in trace.of(Step) if e.optimizer == number), None)
    return first is not None and first.segment == event.segment


def _finding(
    trace: Trace, number: int, optimizer: Optimizer, events: list[NoEffect], lost: int, severity: str
) -> Finding:
    ids = list(dict.fromkeys(p for e in events for p in e.parameters))
    event = events[0]
    step = code(trace, event.site.user, "the step")
    why, label, fix = reason(trace, number, event, ids)
    return Finding(
        message=f"{step} changes nothing: {why}",
        cause=optimizer.site.user if optimizer.site else None,
        cause_label=label,
        effect=event.site.user,
        effect_label="leaves every parameter bit-equal",
        seen=tuple(measured(trace, ids, lost, optimizer, event)),
        fix=fix,
        count=lost,
        severity=severity,
        subjects=parameter_subjects(ids) | {("optimizer", number)},
    )


def _partly(trace: Trace, number: int, optimizer: Optimizer, events: list[NoEffect]) -> Iterator[Finding]:
    """Single parameters that never moved where others did: lost in rounding (rate 0 is a choice)."""
    at_rest = {p for group in optimizer.groups if group.get("lr") == 0 for p in group["parameters"]}
    ids = [p for p in events[0].parameters if p not in at_rest]
    times = sum(e.count for e in events if set(ids) <= set(e.parameters))
    coarse = [p for p in ids if trace.parameter(p).dtype in ("float16", "bfloat16")]
    if coarse and times >= min(3, optimizer.steps) and times >= 2:
        event = next(e for e in events if set(coarse) <= set(e.parameters))
        yield _finding(trace, number, optimizer, [event], times, "note")


COMPARED = 24  # steps that are compared at most while nothing changes (hooks/measures/effects.py)


def reason(trace: Trace, number: int, event: NoEffect, ids: list[int]) -> tuple[str, str, str]:
    """Why nothing changes, what to say of the optimizer's line, and what to do."""
    holder, made = optimizer_name(trace, number), trace.optimizers[number].site
    if event.zero_rate:
        zero = "the learning rate is 0"
        return zero, zero, f"give {holder} a learning rate above 0 ({where(made)})"
    if unwritten(trace, event):
        fix = (
            "write to the parameters in place (`p.add_(…)` under `torch.no_grad()`): binding a name anew"
            " (`p = p - …`) changes none"
        )
        return "it writes to no parameter", "its `step` gives nothing back to the parameters", fix
    kinds = ", ".join(sorted({f"`{trace.parameter(p).dtype}`" for p in ids}))
    fix = (
        f"keep the parameters of {holder} in float32 and compute under `torch.autocast`,"
        " or raise the learning rate"
    )
    return f"the update is too small for {kinds}", "made with this learning rate", fix


def measured(trace: Trace, ids: list[int], lost: int, optimizer: Optimizer, event: NoEffect) -> Iterator[str]:
    """How many parameters stayed, and how small their update was."""
    yield (
        f"{plural(len(ids), 'parameter')} with a non-zero gradient bit-equal after"
        f" {lost} of {plural(min(optimizer.steps, max(lost, COMPARED)), 'step')} compared"
    )
    last, rates = norm(trace, ids[0]), event.rates
    if last and rates and not unwritten(trace, event):
        name = parameter_names(trace, ids[:1])
        yield f"norm of {name}'s gradient {last:.4g}, times the learning rate {rates[0]:g}: {last * rates[0]:.4g}"
