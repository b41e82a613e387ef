"""A learning-rate schedule is stepped in another rhythm than it was made for.

Why: a schedule counts its own `step()` calls, not epochs. One that is made for epochs and stepped after every
batch runs through all of its rates at once: soon nothing moves any more, or the rate goes up and down all the
time. One that is made for batches and stepped once per epoch never leaves its first rates.

Fix: call `scheduler.step()` once per what its settings count.

The same of a cosine that is stepped on behind its end: it has no end, and brings the rate up again; and of one that
the program has written itself and whose waves take a few steps each.

A note where warm restarts come several times in each pass over a data loader, and it was gone through as many times as
one period has turns: the period may have been counted in epochs. A note, too, where a cosine is on its second way up.
Silent on: schedules that come down at the end of the run, as they are meant to; that were told where to end and go on
with a small rate; that another schedule takes over from; that are stepped as often as their settings say;
`ReduceLROnPlateau` once per turn of the only loop; runs that an exception ended.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.loop import settled
from gradscope.analysis.schedules import PLATEAU, is_rate, is_taken_over, schedule_name
from gradscope.analysis.text import site_of
from gradscope.analysis.trainers import is_configured, runs_it
from gradscope.analysis.words import code, counted, located, optimizer_name, user, variable, where
from gradscope.events import Loader, Rates, SchedulerMade, Step
from gradscope.fixes.source import Source
from gradscope.fixes.statements import behind_their_loop, beside, moved
from gradscope.model import Edit, Finding, Optimizer, Site
from gradscope.rules import rule
from gradscope.store import Trace

MANY = 6  # turns of a schedule that tell its rhythm
SEVERAL = 1.9  # turns of a schedule for each step of its optimizer
AGAIN = 3  # times that a cosine goes through its length
WAVES = 8  # of a schedule that the program has made for itself
SHORT = 32  # turns: shorter waves are nobody's wish
WAVE_OFF = 0.1  # of the number of passes
WAVING = {"CyclicLR", "CosineAnnealingWarmRestarts", "OneCycleLR", "CosineAnnealingLR"}
RESTARTS = 3  # in each pass over a data loader
WARMING = 5  # turns of a warm-up that tell its rhythm
FEW = 20  # times as many steps as turns, and as high a rate as it came to
EVEN = 0.1  # of a rise that is the same in each turn
RISEN = 0.05  # of what a rate had come down by, at the end of the run


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=2)  # cause: GS217
    for _ in range(4):
        for _ in range(5):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            scheduler.step()  # effect: GS217


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=20)
    for _ in range(4):
        for _ in range(5):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            scheduler.step()


class _Wrong(NamedTuple):
    """What a schedule did to the rate."""

    message: str
    label: str
    seen: str
    fix: str
    edits: tuple[Edit, ...] = ()
    why: str = ""
    cause: Site | None = None  # where it is not the schedule
    severity: str = ""
    related: tuple[tuple[Site, str], ...] = ()


@rule("GS217", name="rate-next-to-nothing", severity="warning", needs=Rates)
def rate_next_to_nothing(trace: Trace) -> Iterator[Finding]:
    made = {event.scheduler: event for event in trace.of(SchedulerMade)}
    for event in trace.of(Rates):
        maker = made.get(event.scheduler)
        optimizer = trace.optimizers.get(event.optimizer)
        if maker is None or optimizer is None or not optimizer.steps or not settled(trace):
            continue
        wrong = _nothing(trace, event, maker, optimizer.steps) or _again(trace, event, maker, optimizer.steps)
        wrong = wrong or _waves(trace, event, maker, optimizer.steps) or _risen(trace, event, maker)
        wrong = wrong or _seldom(trace, event, optimizer.steps) or _restarts(trace, event, maker)
        wrong = wrong or _still_rising(trace, event, optimizer)
        if wrong is not None:
            yield Finding(
                message=wrong.message,
                cause=wrong.cause or maker.site.user,
                cause_label=wrong.label,
                effect=event.site.user,
                effect_label=f"runs {counted(event.turns, 'time')} in all",
                related=wrong.related,
                seen=(wrong.seen,),
                why=wrong.why,
                fix=wrong.fix,
                edits=wrong.edits,
                count=event.turns,
                severity=wrong.severity,
                subjects=frozenset({("scheduler", event.scheduler)}),
            )


def _nothing(trace: Trace, event: Rates, made: SchedulerMade, steps: int) -> _Wrong | None:
    """The rate is below a thousandth of the highest for more than half of the turns."""
    if made.cls == PLATEAU and not event.passes and not _within_another_loop(trace, event):
        return None  # it cuts where its number stands still, as it is to do
    high, last = event.high, event.last
    if last and ("total_iters" in event.settings or "total_steps" in event.settings):
        return None  # it was told where to end, and goes on with a rate that is wanted
    if high is None or last is None or event.turns < MANY or event.fell * 2 > event.turns:
        return None
    holder, gamma = optimizer_name(trace, event.optimizer), event.settings.get("gamma")
    if event.own is not None and event.own**2 > last / high:
        return _written(trace, event, holder)  # most of the fall came between its turns
    seen = (
        f"the learning rate of {holder} went from {high:g} to {last:.3g}; below a thousandth of that after "
        f"{event.fell - 1:,} of {counted(event.turns, 'step')} of the schedule ({counted(steps, 'step')} of {holder})"
    )
    label = f"made to fall with {_settings(event)}" if event.settings else "made here"
    fix, edits = _rhythm(trace, event, steps)
    if gamma == 0:
        holder = f"{_name(trace, event)} ({where(made.site)})"
        fix = f"give {holder} a `gamma` above 0: 1 leaves the rate as it is, 0 makes it 0"
        edits = ()
    return _Wrong(
        f"{_name(trace, event)} brings the learning rate to next to nothing early in the run",
        label,
        seen,
        fix,
        edits,
    )


def _written(trace: Trace, event: Rates, holder: str) -> _Wrong | None:
    """The program writes the rate itself, in one line."""
    lines = [
        site_of(path, "", node)
        for path in trace.sources
        for node in trace.source_file(path).nodes
        if isinstance(node, ast.stmt) and _changes_a_rate(node)
    ]
    if len(lines) != 1:
        return None
    return _Wrong(
        f"the program itself brings the learning rate of {holder} to next to nothing early in the run",
        "writes the rate of a group, again and again",
        f"the learning rate went from {event.high:g} to {event.last:.3g}; {counted(event.turns, 'step')} of "
        f"{_name(trace, event)} made it {event.own:.3g} times as large, the rest came between them",
        f"set the rate of a group once, where the optimizer is made: take {located(trace, lines[0])} out of what runs "
        "at every step",
        cause=lines[0],
        why="what is multiplied into a rate stays in it: done at every step, it is there as often as there are steps.",
    )


def _changes_a_rate(node: ast.stmt) -> bool:
    """Whether it writes `group["lr"]` by what it was."""
    if isinstance(node, ast.AugAssign):
        return is_rate(node.target)
    return isinstance(node, ast.Assign) and all(
        any(map(is_rate, ast.walk(part))) for part in (node.targets[0], node.value)
    )


def _again(trace: Trace, event: Rates, made: SchedulerMade, steps: int) -> _Wrong | None:
    """A cosine that is stepped past its length goes up again, and down, and up."""
    length = event.settings.get("T_max", 0)
    if made.cls != "CosineAnnealingLR" or length <= 0 or event.turns < max(AGAIN * length, MANY):
        return None
    fix, edits = _rhythm(trace, event, steps)
    return _Wrong(
        f"{_name(trace, event)} goes through its whole length again and again: the learning rate goes up and down",
        f"made for {length:g} steps of its own",
        f"stepped {counted(event.turns, 'time')} with `T_max={length:g}`: a half wave each",
        fix,
        edits,
    )


def _waves(trace: Trace, event: Rates, made: SchedulerMade, steps: int) -> _Wrong | None:
    """A schedule of the program's own goes up and down in waves of a few turns, in an inner loop: a cosine that counts
    turns of the outer one."""
    length = event.turns / event.waves if event.waves else 0
    if event.waves < WAVES or made.cls in WAVING or not _within_another_loop(trace, event):
        return None
    if length > SHORT and not _as_many_as_epochs(length, event.passes):
        return None
    fix, edits = _rhythm(trace, event, steps)
    return _Wrong(
        f"{_name(trace, event)} takes the learning rate down and up again every {length:.0f} steps",
        "made here",
        f"stepped {counted(event.turns, 'time')}: the rate of {optimizer_name(trace, event.optimizer)} came up to half"
        f" of {event.high:g} from below a tenth of it {counted(event.waves, 'time')}",
        f"{fix}; or give it a length that counts these steps, {event.turns:,} in all",
        edits,
        related=_asked_for(made),
    )


def _as_many_as_epochs(length: float, passes: int) -> bool:
    """Whether a wave, or half of one, takes as many turns as the run has passes through its loader."""
    return any(abs(length - whole) <= WAVE_OFF * whole for whole in (passes, 2 * passes))


def _asked_for(made: SchedulerMade) -> tuple[tuple[Site, str], ...]:
    """The call of the function that makes it: what it is given there may be the length."""
    own = made.site.user
    callers = [frame for frame in made.site.stack if frame.kind == "user" and frame.function != own.function]
    return ((callers[-1], "asks for it"),) if callers else ()


def _risen(trace: Trace, event: Rates, made: SchedulerMade) -> _Wrong | None:
    """A cosine that has come down and was stepped on: at the end of the run the rate is up again."""
    length, turns = event.settings.get("T_max", 0), event.turns
    high, low, last = event.high, event.low, event.last
    if made.cls != "CosineAnnealingLR" or not 0 < length < turns or turns < MANY or event.lowest != length:
        return None
    if high is None or low is None or last is None or low > high / 2 or last - low < RISEN * (high - low):
        return None
    new, edits = _as_long(trace, made, turns)
    return _Wrong(
        f"{_name(trace, event)} is stepped on behind its end: the learning rate comes up again before the run is over",
        f"made for {length:g} steps of its own",
        f"the learning rate of {optimizer_name(trace, event.optimizer)} went from {high:.3g} to {low:.3g} in"
        f" {counted(event.lowest, 'step')} of the schedule, and up to {last:.3g} in the {turns - event.lowest:,} after",
        f"let it come to its end with the run: {new}, as often as {located(trace, event.site.user, 'its step')}"
        " runs; a warm-up before it takes a `LinearLR` of its own, both in a `SequentialLR`",
        edits,
        why="`CosineAnnealingLR` has no end: from `T_max` on it goes back up as it came down, and what was learned at"
        " small rates is shaken up once more.",
        severity="" if turns <= 2 * length else "note",
    )


def _as_long(trace: Trace, made: SchedulerMade, turns: int) -> tuple[str, tuple[Edit, ...]]:
    """`T_max` as many as the turns were: where it is a part of another number, that number."""
    site = made.site.user
    here = Source(trace, site.path)
    call = here.file.at(site)
    given = (
        [word.value for word in call.keywords if word.arg == "T_max"] if isinstance(call, ast.Call) else []
    )
    given += call.args[1:2] if isinstance(call, ast.Call) else []
    plain = f"`T_max={turns}`"
    if len(given) != 1:
        return plain, ()
    (length,) = given
    if isinstance(length, ast.BinOp) and isinstance(length.op, (ast.Sub, ast.Div, ast.FloorDiv)):
        whole = here.file.text(length.left)
        return f"{plain}, or `{whole}` in place of `{here.file.text(length)}`", here.replace(length, whole)
    return plain, here.replace(length, str(turns)) if isinstance(length, ast.Constant) else ()


def _restarts(trace: Trace, event: Rates, made: SchedulerMade) -> _Wrong | None:
    """Warm restarts that come several times in each pass over a loader, where as many passes were made as one period
    has turns."""
    length, passes = event.settings.get("T_0", 0), event.passes
    if made.cls != "CosineAnnealingWarmRestarts" or not 0 < length <= passes:
        return None
    if event.turns < passes * RESTARTS * length or event.raised < passes * (RESTARTS - 1):
        return None
    called = located(trace, event.site.user, "the schedule's step")
    loops = [user(trace.site(loader.loop)) for loader in trace.of(Loader)]
    line, edits = behind_their_loop(trace, [event.site.user], around=1)
    if not any(loop is not None and (loop.path, loop.line) == (event.site.user.path, line) for loop in loops):
        line, edits = 0, ()
    behind = f", behind the loop of line {line}" if line else ""
    each = event.turns / passes
    return _Wrong(
        f"{_name(trace, event)} begins anew {each / length:.0f} times in each pass over the data",
        f"made for {length:g} steps of its own",
        f"stepped {counted(event.turns, 'time')} in {counted(passes, 'pass')} over a data loader, with"
        f" `T_0={length:g}`: {event.raised} turns made the rate at least twice as large; as many passes as `T_0` would"
        " have been one whole period",
        f"if `T_0` counts epochs, call {called} once per epoch{behind}",
        edits,
        severity="note",
    )


def _seldom(trace: Trace, event: Rates, steps: int) -> _Wrong | None:
    """A schedule made for as many turns as there were optimizer steps gets a fraction of them."""
    name = _counting(event)
    length = event.settings.get(name, 0)
    if not name or event.turns * 3 > length or steps < MANY or abs(length - steps) > 0.1 * steps:
        return None
    if is_taken_over(trace, event.scheduler, event.optimizer):
        return None
    step = next((e for e in trace.of(Step) if e.optimizer == event.optimizer), None)
    after = code(trace, step.site.user, "the step") if step is not None else "the step"
    return _Wrong(
        f"{_name(trace, event)} is made for every batch and stepped {counted(event.turns, 'time')} only",
        f"made for {length:g} steps of its own",
        f"{counted(event.turns, 'step')} of the schedule in {counted(steps, 'step')} of "
        f"{optimizer_name(trace, event.optimizer)}, with `{name}={length:g}`",
        _by_a_library(trace, event, steps, "step")
        or f"call {located(trace, event.site.user, 'it')} right after {after}, in the same loop",
    )


def _still_rising(trace: Trace, event: Rates, optimizer: Optimizer) -> _Wrong | None:
    """A warm-up that counts steps gets a turn in many of them: at the end of the run the rate is at its beginning."""
    base, turns = optimizer.rate, event.turns
    if turns < WARMING or turns * FEW > optimizer.steps or event.high is None or event.last != event.high:
        return None
    if base is None or event.own is None or base < FEW * event.high:
        return None
    if event.moved != turns or abs(event.own - turns - 1) > EVEN * (turns + 1):
        return None
    step = next((e.site.user for e in trace.of(Step) if e.optimizer == event.optimizer), None)
    after = located(trace, step) if step is not None else "the step of its optimizer"
    return _Wrong(
        f"{_name(trace, event)} is in the first turns of its warm-up when the run ends: it is stepped"
        f" {counted(turns, 'time')} in {counted(optimizer.steps, 'step')}",
        "made here",
        f"the learning rate of {optimizer_name(trace, event.optimizer)} rose by the same amount in each of"
        f" {counted(turns, 'turn')}, to {event.high:.3g}, and had not stopped rising; it was made with {base:g}",
        f"call {located(trace, event.site.user, 'its step')} right after {after}",
        _each_step(trace, event.site.user, step) if step is not None else (),
    )


def _each_step(trace: Trace, own: Site, step: Site) -> tuple[Edit, ...]:
    """Its step right behind the optimizer's, in whose loop it then runs."""
    here = Source(trace, own.path)
    statement, to = here.file.statement(own), here.file.statement(step)
    if not beside(trace, own, step) or not isinstance(statement, ast.Expr) or to is None:
        return ()
    return here.move(statement, to, after=True)


def _counting(event: Rates) -> str:
    """The setting that says for how many turns the schedule is made, by its name; "" where it has none."""
    return next((name for name in ("total_steps", "T_max") if event.settings.get(name)), "")


def _by_a_library(trace: Trace, event: Rates, steps: int, interval: str) -> str:
    """The same where a library steps it: the rhythm is its own, or a setting. "" where the program does it itself."""
    if runs_it(event.site) is None:
        return ""
    made = next(e for e in trace.of(SchedulerMade) if e.scheduler == event.scheduler)
    if is_configured(made.site):
        name = variable(trace, user(made.site)) or "scheduler"
        default = ", which is once per epoch where nothing is said" if interval == "step" else ""
        return (
            f'return it from `configure_optimizers` with its interval{default}: `{{"scheduler": {name}, "interval": '
            f'"{interval}"}}`'
        )
    name = _counting(event)
    count = "that count its steps" + (f": `{name}={event.turns}`" if name else "")
    return (
        f"{code(trace, event.site.user)} steps it {counted(event.turns, 'time')} in {counted(steps, 'step')}: "
        f"give it settings {count}"
    )


def _rhythm(trace: Trace, event: Rates, steps: int) -> tuple[str, tuple[Edit, ...]]:
    """Once per turn of the outer loop, where it is stepped with every step of the optimizer."""
    if event.turns * 1.25 < steps:
        return "give it settings with which the rate falls over the whole run", ()
    called = located(trace, event.site.user, "the schedule's step")
    if (step := _seldomer_step(trace, event, steps)) is not None:
        times = f"{event.turns / steps:.3g}".removesuffix(".0")
        fix = f"call {called} behind {located(trace, step)}: it runs {times} times for each step of the optimizer"
        return fix, moved(trace, event.site.user, step, after=True)
    line, edits = behind_their_loop(trace, _together(trace, event))
    if line:
        return f"call {called} once per epoch: behind the loop of line {line}", edits
    by_library = _by_a_library(trace, event, steps, "epoch")
    return by_library or f"call {called} once per epoch, or give it settings that count batches", ()


def _seldomer_step(trace: Trace, event: Rates, steps: int) -> Site | None:
    """The step of its optimizer, in the function that steps the schedule, where the schedule's runs several times for
    each of them: gradients are accumulated between."""
    if event.turns < SEVERAL * steps:
        return None
    own = event.site.user
    sites = {e.site.user.location(): e.site.user for e in trace.of(Step) if e.optimizer == event.optimizer}
    here = [site for site in sites.values() if (site.path, site.function) == (own.path, own.function)]
    return here[0] if len(here) == len(sites) == 1 else None


def _within_another_loop(trace: Trace, event: Rates) -> bool:
    return bool(behind_their_loop(trace, _together(trace, event))[0])


def _together(trace: Trace, event: Rates) -> list[Site]:
    """Its line, and those of other schedules that are stepped in the same function as often: one edit for all."""
    own = event.site.user
    sites = [e.site.user for e in trace.of(Rates) if e.turns == event.turns and e.fell * 2 <= e.turns]
    alike = {s.location(): s for s in sites if (s.path, s.function) == (own.path, own.function)}
    return list({own.location(): own, **alike}.values())


def _name(trace: Trace, event: Rates) -> str:
    made = next(e for e in trace.of(SchedulerMade) if e.scheduler == event.scheduler)
    return schedule_name(trace, made)


def _settings(event: Rates) -> str:
    return "`" + ", ".join(f"{name}={value:g}" for name, value in event.settings.items()) + "`"
