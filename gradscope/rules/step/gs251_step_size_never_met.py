"""A `StepLR` has a `step_size` that is no whole number: no turn is a multiple of it, and the rate never changes.

Why: `StepLR` multiplies the rate where the number of its turns leaves no rest when it is divided by `step_size`. Turns
are whole numbers, so that 0.01 (the learning rate, say, or the share that was meant as `gamma`) divides none of them.

Fix: give it the number of turns between two changes, and the factor as `gamma`.

Measured: the rate was the same before and after each of its turns, of which there were more than twice `step_size`.
Silent on: whole numbers, also as 10.0; a half, a quarter and the like, which divide some turns; a `gamma` of 1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.words import code, counted, located, optimizer_name
from gradscope.events import Rates, SchedulerMade
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

FEW = 2  # turns that were due to change the rate


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    rate = 0.05
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=rate)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=rate, gamma=0.5)  # type: ignore[arg-type]  # cause: GS251
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()  # effect: GS251


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rate = 0.05
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=rate)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        scheduler.step()


@rule("GS251", name="step-size-never-met", severity="warning")
def step_size_never_met(trace: Trace) -> Iterator[Finding]:
    made = {event.scheduler: event for event in trace.of(SchedulerMade)}
    for event in trace.of(Rates):
        maker, optimizer = made.get(event.scheduler), trace.optimizers.get(event.optimizer)
        size, gamma = event.settings.get("step_size"), event.settings.get("gamma")
        if maker is None or maker.cls != "StepLR" or optimizer is None or not optimizer.steps:
            continue
        if size is None or size <= 0 or size == int(size) or gamma in (None, 1) or event.moved:
            continue
        if event.turns > FEW * size and event.turns >= FEW:
            yield _finding(trace, event, maker.site.user, size, gamma)


def _finding(trace: Trace, event: Rates, site: Site, size: float, gamma: float) -> Finding:
    holder = optimizer_name(trace, event.optimizer)
    edits = _swapped(trace, site) if gamma > 1 and gamma == int(gamma) else ()
    fix = (
        f"in {located(trace, site)} {gamma:g} looks like the number of turns, and {size:g} like the factor: swap them"
        if edits
        else f"give {located(trace, site)} how many turns lie between two changes: `step_size=1` multiplies the rate by"
        f" {gamma:g} at each of them"
    )
    return Finding(
        message=f"{code(trace, site, 'the schedule')} never changes the rate: its `step_size` is {size:g}, and no"
        " number of turns is a multiple of that",
        cause=site,
        cause_label=f"`step_size` counts turns, and is {size:g}",
        effect=event.site.user,
        effect_label=f"ran {counted(event.turns, 'time')} and left the rate as it was",
        seen=(
            f"the learning rate of {holder} was {event.last:g} before and after each of {counted(event.turns, 'step')}"
            f" of the schedule; {size:g} divides none of them without a rest: `gamma` ({gamma:g}) was never used",
        ),
        fix=fix,
        edits=edits,
        count=event.turns,
        subjects=frozenset({("scheduler", event.scheduler)}),
    )


def _swapped(trace: Trace, site: Site) -> Edits:
    """`StepLR(opt, 0.1, 30)` → `StepLR(opt, 30, 0.1)`, where both stand by their places."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    if not isinstance(call, ast.Call) or len(call.args) != 3 or call.keywords:
        return ()
    if any(isinstance(a, ast.Starred) for a in call.args):
        return ()
    size, gamma = call.args[1:]
    return here.replace(size, here.file.text(gamma)) + here.replace(gamma, here.file.text(size))
