"""A training is resumed with its optimizer, and the schedule of its learning rate begins anew.

Why: `optimizer.state_dict()` has the rate as it was, and not how far the schedule had come. A new schedule counts from
0: at its first turn it computes the rate of its own beginning, so that the warm-up comes again, or the rate never gets
down to where it was to end.

Fix: save `scheduler.state_dict()` beside that of the optimizer, and load it.

Measured: the state that the optimizer was given has another rate than its schedule begins with; its one schedule stood
at 0 at the first step after that, at 1 after its next turn, and that turn has made another rate of it.
Silent on: schedules that begin with the rate that they find (a new phase may be meant), that were loaded, made with
`last_epoch`, stepped up to where they were, or told the epoch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import isclose

from gradscope.analysis.schedules import schedule_name
from gradscope.analysis.text import nodes_that_ran
from gradscope.analysis.words import counted, located, optimizer_name, variable
from gradscope.events import Scheduled, ScheduleLeft, SchedulerMade
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace


def bad() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(10, 8, 3)
    saved: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.Adam(model.parameters(), lr=0.05)
        schedule = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.1, total_iters=5)
        if run:
            model.load_state_dict(saved["model"])
            opt.load_state_dict(saved["opt"])  # cause: GS266
        for _ in range(3):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()
            schedule.step()  # effect: GS266
        state = {"model": model.state_dict(), "opt": opt.state_dict()}
        saved = copy.deepcopy(state)


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(10, 8, 3)
    saved: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.Adam(model.parameters(), lr=0.05)
        schedule = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.1, total_iters=5)
        if run:
            model.load_state_dict(saved["model"])
            opt.load_state_dict(saved["opt"])
            schedule.load_state_dict(saved["schedule"])
        for _ in range(3):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()
            schedule.step()
        state = {"model": model.state_dict(), "opt": opt.state_dict(), "schedule": schedule.state_dict()}
        saved = copy.deepcopy(state)


APART = 0.2  # of a rate, between what it was and what the schedule makes of it


@rule("GS266", name="schedule-left-behind", severity="warning", needs=ScheduleLeft)
def schedule_left_behind(trace: Trace) -> Iterator[Finding]:
    made = {event.scheduler: event for event in trace.of(SchedulerMade)}
    for event in trace.of(ScheduleLeft):
        apart = any(not isclose(*pair, rel_tol=APART) for pair in zip(event.kept, event.turned, strict=False))
        if event.scheduler in made and apart:
            yield _finding(trace, event, made[event.scheduler])


def _finding(trace: Trace, event: ScheduleLeft, made: SchedulerMade) -> Finding:
    schedule, holder = schedule_name(trace, made), optimizer_name(trace, event.optimizer)
    kept, turned = max(event.kept), max(event.turned)
    name, load = variable(trace, made.site), located(trace, event.site.user)
    own = f"`{name}.state_dict()`" if name else "its `state_dict()`"
    fix, edits = f"save {own} in the checkpoint too, and load it beside {load}", _edits(trace, event, name)
    if _made_behind(event.site.user, made.site.user):
        fix = (
            f"save {own} in the checkpoint too, and load both states, first its own and then that of {holder} ({load}),"
            f" behind {located(trace, made.site.user)}: that sets the rate to its beginning when it is made"
        )
        edits = ()
    steps = f", after {counted(event.done, 'step')}" if event.done else ""
    return Finding(
        message=f"{holder} goes on where it was saved, and {schedule} begins anew: the rate goes from {kept:.3g} to"
        f" {turned:.3g}",
        cause=event.site.user,
        cause_label=f"brings {holder} back at a rate of {kept:.3g}",
        effect=_turn(trace, event),
        effect_label=f"counts from 0, and makes it {turned:.3g}",
        seen=(
            f"the state of {holder} has a rate of {kept:.3g}{steps}",
            f"{schedule} stood at 0 at the first step after that: no state was loaded into it",
        ),
        fix=fix,
        edits=edits,
        subjects=frozenset({("scheduler", event.scheduler)}),
    )


def _made_behind(load: Site, made: Site) -> bool:
    """Whether one function loads the optimizer's state before it makes the schedule."""
    return (load.path, load.function) == (made.path, made.function) and load.line < made.line


def _turn(trace: Trace, event: ScheduleLeft) -> Site | None:
    """Where the schedule makes its first turn after the load."""
    turns = (e for e in trace.of(Scheduled) if e.scheduler == event.scheduler and e.segment >= event.segment)
    return next((turn.site.user for turn in turns), None)


def _edits(trace: Trace, event: ScheduleLeft, schedule: str) -> Edits:
    """The schedule's state beside that of its optimizer, in the dictionary that is saved and where it is loaded:
    where the program has one such dictionary, and both stand in one place or know it as an attribute of one object."""
    path = event.site.user.path
    here = Source(trace, path)
    call, statement = here.file.at(event.site.user), here.file.statement(event.site.user)
    given = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not schedule:
        return ()
    if not isinstance(given, ast.Subscript) or not isinstance(given.slice, ast.Constant):
        return ()
    optimizer, key = here.file.text(call.func.value), given.slice
    saved = [
        (found, value)
        for where, _, found in nodes_that_ran(trace, ast.Dict)
        if where == path
        for name, value in zip(found.keys, found.values, strict=True)
        if isinstance(name, ast.Constant) and name.value == key.value
        if called_name(value) == "state_dict" and here.file.text(value) == f"{optimizer}.state_dict()"
    ]
    of_object = schedule.startswith("self.") and optimizer.startswith("self.")
    if len(saved) != 1 or not (of_object or here.file.scope_of(saved[0][0]) is here.file.scope_of(call)):
        return ()
    new = repr(f"{schedule.rpartition('.')[2]}_state")
    dictionary = f"{here.file.text(given.value)}[{new}]"
    return (
        *here.append(saved[0][1], f", {new}: {schedule}.state_dict()"),
        *here.after(statement, f"{schedule}.load_state_dict({dictionary})"),
    )
