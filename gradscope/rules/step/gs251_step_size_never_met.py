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

LEAST = 0.05  # of a factor


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


@rule("GS251", name="step-size-never-met", severity="warning", needs=Rates)
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
    fix, edits = _fix(trace, site, size, gamma)
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


def _fix(trace: Trace, site: Site, size: float, gamma: float) -> tuple[str, Edits]:
    here, place = Source(trace, site.path), located(trace, site)
    call = here.file.at(site)
    if isinstance(call, ast.Call) and not any(isinstance(one, ast.Starred) for one in call.args):
        words = {word.arg: word.value for word in call.keywords}
        given = dict(zip(("optimizer", "step_size", "gamma"), call.args, strict=False)) | words
        turns = given.get("step_size")
        if gamma > 1 and gamma == int(gamma) and turns is not None and "gamma" in given:
            text = f"in {place} {gamma:g} looks like the number of turns, and {size:g} like the factor: swap them"
            other = given["gamma"]
            return text, here.replace(turns, here.file.text(other)) + here.replace(
                other, here.file.text(turns)
            )
        if isinstance(turns, ast.BinOp) and isinstance(turns.op, ast.Div) and size >= 1:
            whole = f"{here.file.text(turns.left)} // {here.file.text(turns.right)}"
            return f"take a whole number of turns: `{whole}` in {place}, which is {int(size)}", here.replace(
                turns, whole
            )
        if turns is not None and "gamma" not in given and LEAST <= size < 1:
            kept = f"step_size=1, gamma={here.file.text(turns)}"
            text = (
                f"{size:g} looks like the factor: `{kept}` in {place} multiplies the rate by it at each turn"
            )
            word = next((word for word in call.keywords if word.arg == "step_size"), None)
            return text, here.replace(turns, kept.removeprefix("step_size=" if word is not None else ""))
    return (
        f"give {place} how many turns lie between two changes: at each of them the rate is multiplied by {gamma:g}",
        (),
    )
