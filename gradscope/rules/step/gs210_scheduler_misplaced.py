"""A learning-rate schedule runs ahead of its optimizer, or never runs.

Why: a scheduler sets the first learning rate when it is made, and the next one at each
`step()`. Called before the optimizer's step it skips the first value of the schedule; never
called, the learning rate stays what it was at the start.

Fix: call `scheduler.step()` after `optimizer.step()`: once per epoch, or once per batch where
the schedule counts batches.

Silent on: schedules that are tried out without training, fast-forwarding after a restart, a
first step that a gradient scaler skipped, warm-up whose first rate is 0 and skipped on
purpose, a program that an exception ends in its training, a schedule that is given to a library, one of two schedules
whose turn has not come when the run ends.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.loop import over
from gradscope.analysis.schedules import PLATEAU, NeverReached, never_reached, schedule_name, stepped_early
from gradscope.analysis.since import since_segment
from gradscope.analysis.text import called_in_source, calls_in_source, nodes_of_program, nodes_that_ran
from gradscope.analysis.trainers import is_configured
from gradscope.analysis.words import (
    code,
    is_known_at,
    listed,
    located,
    named_at,
    optimizer_name,
    plural,
    variable,
)
from gradscope.events import Scaler, Scheduled, SchedulerMade, Step
from gradscope.fixes.schedule_steps import place_of_step
from gradscope.fixes.source import Source
from gradscope.fixes.statements import moved_behind
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import called_name, method_name
from gradscope.store import Trace

PASSIVE = ("append", "print", "len", "type", "isinstance", "repr", "str", "id")  # calls that step nothing


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 1)
    for _ in range(3):
        scheduler.step()  # cause: GS210
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS210


def good_after_each_epoch() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 5)
    for i in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        if i % 100 == 99:
            scheduler.step()


@rule("GS210", name="scheduler-misplaced", severity="warning", needs=SchedulerMade)
def scheduler_misplaced(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(SchedulerMade):
        optimizer = trace.optimizers.get(event.optimizer)
        if optimizer is not None and optimizer.steps:
            yield from _ahead(trace, event)
            if optimizer.steps >= 2 and _never(trace, event):
                yield _forgotten(trace, event)
            if (kept_out := never_reached(trace, event)) is not None:
                yield _kept_out(trace, event, kept_out)


def _ahead(trace: Trace, made: SchedulerMade) -> Iterator[Finding]:
    """A line that steps the schedule both before and after the optimizer's first step."""
    found = stepped_early(trace, made)
    if found is None or found.times > 1:
        return
    early, first = found.schedule, found.first
    call = trace.source_file(early.site.user.path).at(early.site.user)
    if isinstance(call, ast.Call) and (call.args or call.keywords):
        return  # it is told at which turn it is
    old, new = early.before, early.after
    if old is not None and not any(old):
        return
    calling, stepping = code(trace, early.site.user, "the schedule"), code(trace, first.site.user, "the step")
    behind = _in_function_of(early.site.user, first.site)
    seen = [f"the first {calling} came before the first {stepping}"]
    if old and new and old != new:
        seen.append(f"learning rate {old[0]:g} was never used: the first step ran with {new[0]:g}")
    yield Finding(
        message=f"{calling} runs before {stepping}: the schedule is one step ahead",
        cause=early.site.user,
        cause_label="sets the next learning rate before the first was used",
        effect=first.site.user,
        effect_label="the optimizer's first step comes after it",
        seen=tuple(seen),
        fix=f"move {located(trace, early.site.user, 'it')} {_behind(trace, early.site.user, behind)}"
        f"{_and_its_loop(trace, made, early.site.user, behind)}{_with_its_if(trace, early.site.user)}",
        edits=moved_behind(trace, early.site.user, behind),
        subjects=frozenset({("scheduler", made.scheduler)}),
        since=since_segment(trace, first.segment),
    )


def _behind(trace: Trace, schedule: Site, step: Site) -> str:
    """Behind the step, and behind all of an `if` that it stands in and the schedule does not."""
    file, place = trace.source_file(step.path), located(trace, step, "the step")
    if (schedule.path, schedule.function) == (step.path, step.function):
        statement = file.statement(schedule)
        shared = set(map(id, file.above(statement))) if statement is not None else set[int]()
        own = [node for node in file.around(step) if isinstance(node, ast.If) and id(node) not in shared]
        if own:
            whole, last = "`if` and `else`" if own[-1].orelse else "`if`", own[-1].end_lineno
            return f"behind the whole {whole} of lines {own[-1].lineno} to {last}, in which {place} stands"
    return f"after {place}"


def _with_its_if(trace: Trace, site: Site) -> str:
    """The condition that stands over the call alone, which goes along."""
    file = trace.source_file(site.path)
    statement = file.statement(site)
    above = file.parent.get(id(statement))
    return (
        f", with its `if` (line {above.lineno})"
        if isinstance(above, ast.If) and above.body == [statement] and not above.orelse
        else ""
    )


def _never(trace: Trace, made: SchedulerMade) -> bool:
    """Whether nothing steps this optimizer's schedules, and the program's text does not either."""
    optimizer = made.optimizer
    if any(e.optimizer == optimizer for e in trace.of(Scheduled)):
        return False
    last = next((e for e in reversed(trace.of(Step)) if e.optimizer == optimizer), None)
    if last is None or not over(trace, last.site):
        return False
    if any(made.scheduler in e.drives for e in trace.of(SchedulerMade)):
        return False
    if _taken_over(trace, made.site.user):
        return False
    written = called_in_source(trace, made.site, "step")
    if written is None:  # handed on: is there any call that could be the schedule's?
        known = {e.site.user.location() for e in trace.of(Step, Scaler)}
        others = set(calls_in_source(trace, "step")) - known - _of_other_settings(trace)
        return bool(trace.sources) and not others
    return not written


def _of_other_settings(trace: Trace) -> set[tuple[str, int]]:
    """Where `.step()` is called under `if when == "batch":` in a function that ran: a setting that this run has not."""
    return {
        (path, call.lineno)
        for path, _, branch in nodes_that_ran(trace, ast.If)
        if isinstance(branch.test, ast.Compare) and isinstance(branch.test.ops[0], ast.Eq)
        if any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(branch.test))
        for statement in branch.body
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and method_name(call) == "step"
    }


def _taken_over(trace: Trace, site: Site) -> bool:
    """Whether the schedule is given to something that the program does not define, such as a
    trainer's handler, which may set the rates without `step()`."""
    name, file = variable(trace, site), trace.source_file(site.path)
    functions = [node for node in file.around(site) if isinstance(node, ast.FunctionDef)]
    scope = functions[-1] if functions else file.tree
    for call in ast.walk(scope) if name and scope is not None else ():
        if not isinstance(call, ast.Call):
            continue
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        callee = called_name(call)
        if any(isinstance(node, ast.Name) and node.id == name for node in given):
            if callee not in PASSIVE and not _defines(trace, callee):
                return True
    return False


def _defines(trace: Trace, name: str) -> bool:
    """Whether the program has a function, method or class of this name."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(node, kinds) and node.name == name for node in nodes_of_program(trace))


def _forgotten(trace: Trace, made: SchedulerMade) -> Finding:
    number = made.optimizer
    steps = trace.optimizers[number].steps
    step = next((e for e in trace.of(Step) if e.optimizer == number), None)
    subject = schedule_name(trace, made)
    rates = dict.fromkeys(
        rate
        for group in trace.optimizers[number].groups
        if group["parameters"] and isinstance(rate := group.get("lr"), (int, float))
    )
    rate = f" (lr {listed([f'{one:g}' for one in rates])})" if rates else ""
    place = place_of_step(trace, made, step) if step is not None else None
    at, often = (
        (place.site, place.text) if place is not None else (made.site.user, "once per epoch (or per batch)")
    )
    return Finding(
        message=f"{subject} is never stepped: the learning rate stays what it was",
        cause=made.site.user,
        cause_label="made here, and `step()` is never called",
        effect=step.site.user if step else None,
        effect_label="runs with the same learning rate all the time",
        seen=(f"{plural(steps, 'step')} of {optimizer_name(trace, number)}{rate}, no step of the schedule",),
        fix=f"call {_step_of(trace, made, at)} {often}",
        edits=place.edits if place is not None else (),
        count=1,
        subjects=frozenset({("scheduler", made.scheduler)}),
        since=since_segment(trace, step.segment) if step else None,
    )


def _step_of(trace: Trace, made: SchedulerMade, at: Site) -> str:
    """The call that is missing, as it can be written there."""
    given = "val_loss" if made.cls == PLATEAU else ""
    name = named_at(trace, variable(trace, made.site), at)
    if not name or is_known_at(trace, name, at):
        return f"`{name or 'scheduler'}.step({given})`"
    if is_configured(made.site):
        return f"`step()` of {schedule_name(trace, made)}, which `self.lr_schedulers()` gives there,"
    return f"`step()` of {schedule_name(trace, made)}, which has to be handed to the function that steps,"


def _kept_out(trace: Trace, made: SchedulerMade, found: NeverReached) -> Finding:
    """One of two schedules, whose turn never came."""
    subject, other = schedule_name(trace, made), found.other
    beside, step = code(trace, other.site.user, "the other schedule"), code(trace, found.step, "its step")
    return Finding(
        message=f"{subject} is never stepped: the condition before {step} goes on choosing {beside}, which has come to"
        " its end",
        cause=found.condition,
        cause_label=f"what `{found.named}` asks; the answer was the same every time",
        effect=found.step,
        effect_label="never ran",
        related=((made.site.user, "made here"), (other.site.user, "ran every time")),
        seen=(
            f"{beside} ran {plural(other.turns, 'time')} and changed the rate for the last time in turn {other.moved}:"
            f" it stood at {other.last:g} from there on; {step} never ran",
        ),
        fix=f"let {located(trace, found.condition, 'the condition')} ask how many steps were made, so that it changes"
        f" its answer when {beside} has made its last change",
        count=1,
        subjects=frozenset({("scheduler", made.scheduler)}),
    )


def _in_function_of(schedule: Site, step: Site) -> Site:
    """The line of the schedule's own function by which the optimizer's step came: where another function makes
    the step, it may not know the schedule."""
    same = step.frames_in(schedule)
    return next((frame for frame in same if frame.kind == "user"), step.user)


def _and_its_loop(trace: Trace, made: SchedulerMade, schedule: Site, step: Site) -> str:
    """Where the optimizer steps in a loop that the schedule stands outside of: of another function's loops the one in
    which it steps more often than the schedule."""
    here = Source(trace, step.path)
    lines = [n.lineno for n in here.file.around(step) if isinstance(n, (ast.For, ast.While))]
    if (schedule.path, schedule.function) != (step.path, step.function):
        turns = sum(e.count for e in trace.of(Scheduled) if e.scheduler == made.scheduler)
        often = trace.optimizers[made.optimizer].steps >= 2 * turns
        return f", behind the loop of line {lines[0]}, once where that has ended" if lines and often else ""
    outside = {n.lineno for n in here.file.around(schedule) if isinstance(n, (ast.For, ast.While))}
    inner = [line for line in lines if line not in outside]
    return f", behind the loop of line {inner[-1]}" if inner else ""
