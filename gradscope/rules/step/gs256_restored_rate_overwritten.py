"""A schedule that is resumed has set the learning rate back to its first one.

Why: many a schedule, as `LambdaLR`, writes its first rate into the optimizer when it is made.
`scheduler.load_state_dict()` brings back how far the schedule had come, and no rate: that comes with the optimizer's
state. Where this was loaded before the schedule was made, its rate is overwritten, and the resumed training takes the
large steps of a beginning until the next `scheduler.step()`. To set `scheduler.last_epoch` does not help: that is a
number, and changes no rate.

Fix: load the optimizer's state after the schedule is made.

Measured: the rate that the schedule, or the optimizer, was saved with, that of the optimizer when the schedule had been
made, and that of the first step after the schedule was loaded, or given another `last_epoch`. Silent on: rates that
differ by less than a twentieth, schedules that begin anew, rates that the program sets itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.schedules import schedule_name
from gradscope.analysis.words import located, optimizer_name, parameter_subjects
from gradscope.events import OptimizerLoaded, RatesApart, SchedulerMade, Step
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import beside, moved
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import names_in
from gradscope.store import Trace


def bad() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(40, 8, 3)
    saved: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.Adam(model.parameters(), lr=0.05)
        if run:
            opt.load_state_dict(saved["opt"])
        schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.5**epoch)  # cause: GS256
        if run:
            model.load_state_dict(saved["model"])
            schedule.load_state_dict(saved["schedule"])
        for _ in range(3):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()  # effect: GS256
            schedule.step()
        state = {"opt": opt.state_dict(), "model": model.state_dict(), "schedule": schedule.state_dict()}
        saved = copy.deepcopy(state)


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(40, 8, 3)
    saved: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.Adam(model.parameters(), lr=0.05)
        schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.5**epoch)
        if run:
            model.load_state_dict(saved["model"])
            schedule.load_state_dict(saved["schedule"])
            opt.load_state_dict(saved["opt"])
        for _ in range(3):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()
            schedule.step()
        state = {"opt": opt.state_dict(), "model": model.state_dict(), "schedule": schedule.state_dict()}
        saved = copy.deepcopy(state)


@rule("GS256", name="restored-rate-overwritten", severity="warning", over=("GS720",), needs=RatesApart)
def restored_rate_overwritten(trace: Trace) -> Iterator[Finding]:
    loads: dict[int | None, OptimizerLoaded] = {}
    made: dict[int, tuple[SchedulerMade, OptimizerLoaded | None]] = {}
    for event in trace.of(OptimizerLoaded, SchedulerMade, RatesApart):
        if isinstance(event, OptimizerLoaded):
            loads[event.optimizer] = event
        elif isinstance(event, SchedulerMade):
            made[event.scheduler] = event, loads.get(event.optimizer)
        elif isinstance(event, RatesApart) and event.scheduler in made:
            yield _finding(trace, event, *made[event.scheduler])


def _finding(trace: Trace, apart: RatesApart, made: SchedulerMade, loaded: OptimizerLoaded | None) -> Finding:
    schedule, holder = schedule_name(trace, made), optimizer_name(trace, apart.optimizer)
    kept, stepped = next((a, b) for a, b in zip(apart.kept, apart.stepped, strict=True) if a != b)
    after = [e for e in trace.of(Step) if e.optimizer == apart.optimizer and e.segment >= apart.segment]
    by_hand = apart.site.user == made.site.user
    resumes = located(trace, apart.site.user)
    if loaded is not None and by_hand:
        fix = f"make {schedule} before the state of {holder} is loaded: {resumes} above"
        fix += f" {located(trace, loaded.site.user)}"
    elif loaded is not None:
        fix = f"load the state of {holder} after the schedule is made: {located(trace, loaded.site.user)} behind"
        fix += f" {resumes}"
    else:
        fix = f"save the state of {holder} too, and load it after {resumes}: the rate comes with it"
    optimizer = trace.optimizers.get(apart.optimizer)
    return Finding(
        message=f"{schedule} goes on at its step {apart.turn:,}, and {holder} at a rate of {stepped:.3g}, not of"
        f" {kept:.3g} as it was saved",
        cause=made.site.user,
        cause_label=f"sets the rate of {holder} to {stepped:.3g}",
        effect=after[0].site.user if after else None,
        effect_label=f"steps at {stepped:.3g}",
        related=((loaded.site.user, f"gives {holder} its state before that"),) if loaded else (),
        seen=(
            f"`last_epoch` of {schedule} was {apart.turn:,} without one `step()`; the state that {holder} was given"
            f" has a rate of {kept:.3g}"
            if by_hand
            else f"{resumes} brought a schedule at step {apart.turn:,} back, saved with a rate of {kept:.3g}",
            f"the rate of {holder} was {stepped:.3g} when {schedule} had been made, and at the first step after the"
            " load",
        ),
        fix=fix,
        edits=_edits(trace, apart, made, loaded),
        subjects=parameter_subjects(optimizer.parameters if optimizer is not None else ())
        | {("optimizer", apart.optimizer), ("scheduler", apart.scheduler)},
    )


def _edits(trace: Trace, apart: RatesApart, made: SchedulerMade, loaded: OptimizerLoaded | None) -> Edits:
    if loaded is None or apart.site.user != made.site.user:
        return moved(trace, loaded.site.user, apart.site.user, after=True, conditional=True) if loaded else ()
    here = Source(trace, made.site.user.path)
    making, load = here.file.statement(made.site.user), here.file.statement(loaded.site.user)
    if making is None or load is None or not beside(trace, made.site.user, loaded.site.user):
        return ()
    passed = [s for s in here.file.siblings(making) if load.lineno <= (s.end_lineno or 0) < making.lineno]
    given = {name for statement in passed for name in names_in(statement, ast.Store)}
    return here.move(making, passed[0]) if passed and not given & names_in(making) else ()
