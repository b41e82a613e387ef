"""A schedule of a resumed run begins at another step than its optimizer: `last_epoch` counts something else.

Why: `last_epoch` is the number of `scheduler.step()` calls that were made before, whatever its name says. Where the
schedule is stepped with every batch and is told the number of the epoch, it begins all over: the warm-up comes again,
and the rate never comes down.

Fix: save `scheduler.state_dict()` and load it, or hand over the number of steps that were made.

Measured: the schedule was made at a turn above 0, the optimizer's own state had counted its steps by then, and in this
run the one was stepped as often as the other. Silent on: schedules that begin at 0, and those that are stepped in a
rhythm of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.schedules import schedule_name
from gradscope.analysis.words import counted, located, optimizer_name
from gradscope.events import Rates, SchedulerMade
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace

MANY = 6  # turns of a schedule that tell its rhythm
ALIKE = 0.1  # of the steps: so many turns may be more or fewer
APART = 2  # times as many steps as turns


def bad() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(40, 8, 3)
    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(2):
        for x in data:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
    epochs, saved = 2, copy.deepcopy(opt.state_dict())

    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    opt.load_state_dict(saved)
    for group in opt.param_groups:
        group["initial_lr"] = 0.05
    schedule = torch.optim.lr_scheduler.LinearLR(  # cause: GS254
        opt, 1.0, 0.1, total_iters=160, last_epoch=epochs - 1
    )
    for x in data:
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()
        schedule.step()  # effect: GS254


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(40, 8, 3)
    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(2):
        for x in data:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
    steps, saved = 80, copy.deepcopy(opt.state_dict())

    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    opt.load_state_dict(saved)
    for group in opt.param_groups:
        group["initial_lr"] = 0.05
    schedule = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.1, total_iters=160, last_epoch=steps - 1)
    for x in data:
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()
        schedule.step()


@rule("GS254", name="schedule-resumed-elsewhere", severity="warning", over=("GS256",), needs=SchedulerMade)
def schedule_resumed_elsewhere(trace: Trace) -> Iterator[Finding]:
    rates = {event.scheduler: event for event in trace.of(Rates)}
    for made in trace.of(SchedulerMade):
        event, optimizer = rates.get(made.scheduler), trace.optimizers.get(made.optimizer)
        if event is None or optimizer is None or not made.turn or event.turns < MANY:
            continue
        if made.done >= APART * made.turn and abs(event.turns - optimizer.steps) <= ALIKE * optimizer.steps:
            yield _finding(trace, made, event, optimizer.steps)


def _finding(trace: Trace, made: SchedulerMade, event: Rates, steps: int) -> Finding:
    schedule, holder = schedule_name(trace, made), optimizer_name(trace, made.optimizer)
    begun = located(trace, made.site.user)
    return Finding(
        message=f"{schedule} goes on at its step {made.turn:,}, where {holder} has made {made.done:,}",
        cause=made.site.user,
        cause_label=f"begins at step {made.turn:,}",
        effect=event.site.user,
        effect_label="is stepped with every step of the optimizer",
        seen=(
            f"when {schedule} was made, the state of {holder} had counted {counted(made.done, 'step')}",
            f"from then on {counted(event.turns, 'step')} of {schedule} in {counted(steps, 'step')} of {holder}",
        ),
        fix=f"hand over the number of steps that were made: `last_epoch={made.done - 1}` in {begun}, as saved with the"
        " optimizer's state; or save the schedule's own `state_dict()` with it, and load that",
        count=event.turns,
        subjects=frozenset({("scheduler", made.scheduler)}),
    )
