"""A resumed training decays the learning rate a second time: it was loaded decayed, and the schedule is wound forward.

Why: the rate is a part of the optimizer's state, and comes back as it was saved: already decayed. Schedules such as
`StepLR`, `MultiStepLR` and `ExponentialLR` multiply whatever rate they find there. One that is made anew and then
stepped once for each epoch that is over decays the loaded rate by all of these factors again.

Fix: leave the loop out that winds the schedule forward, and load the schedule's own `state_dict()` with the
optimizer's; or wind it forward before the optimizer's state is loaded.

Measured: the rates of the state that was loaded, and those that the schedule had begun with, as they stand in it; the
rates of the first step after that. Silent on: schedules that work out each rate from the first one; a rate that was
loaded as it was in the beginning; other factors than those that the state had already gone through.
"""

from collections.abc import Iterator

from gradscope.analysis.schedules import schedule_name
from gradscope.analysis.words import located, optimizer_name, parameter_subjects, plural
from gradscope.events import OptimizerLoaded, Scheduled, SchedulerMade, Step
from gradscope.fixes.source import Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace

ALIKE = 0.02  # by how much both factors may differ


def bad() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(4, 8, 3)
    model = nn.Linear(3, 1)
    saved = None
    for epochs in ((0, 4), (4, 6)):
        opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        if saved is not None:
            opt.load_state_dict(saved)
        schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.1)
        for _ in range(epochs[0]):
            schedule.step()  # cause: GS276
        for _ in range(*epochs):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()  # effect: GS276
            schedule.step()
        saved = copy.deepcopy(opt.state_dict())


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(4, 8, 3)
    model = nn.Linear(3, 1)
    saved, state = None, None
    for epochs in ((0, 4), (4, 6)):
        opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.1)
        if saved is not None:
            opt.load_state_dict(saved)
            schedule.load_state_dict(state)  # type: ignore[arg-type]
        for _ in range(*epochs):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()
            schedule.step()
        saved, state = copy.deepcopy(opt.state_dict()), schedule.state_dict()


@rule("GS276", name="loaded-rate-decayed-again", severity="warning", over=("GS240",), needs=OptimizerLoaded)
def loaded_rate_decayed_again(trace: Trace) -> Iterator[Finding]:
    loads: dict[int, OptimizerLoaded] = {}
    wound: dict[int, list[Scheduled]] = {}  # optimizer → steps of a schedule since the load
    made: dict[int, SchedulerMade] = {}
    for event in trace.of(OptimizerLoaded, SchedulerMade, Scheduled, Step):
        if isinstance(event, OptimizerLoaded):
            loads[event.optimizer] = event
            wound.pop(event.optimizer, None)
        elif isinstance(event, SchedulerMade):
            made[event.scheduler] = event
        elif isinstance(event, Scheduled):
            wound.setdefault(event.optimizer, []).append(event)
        elif isinstance(event, Step) and event.optimizer in loads:
            load, turns = loads.pop(event.optimizer), wound.pop(event.optimizer, [])
            scheduler = made.get(turns[-1].scheduler) if turns else None
            if scheduler is not None and _twice(load, turns[-1]):
                yield _finding(trace, load, scheduler, turns, event)


def _twice(load: OptimizerLoaded, last: Scheduled) -> bool:
    """Whether each rate was taken by these turns as far down as it had been when it was loaded."""
    rates, first, now = load.rates, load.first, last.after or ()
    if not rates or not len(rates) == len(first) == len(now):
        return False
    pairs = [
        (rate / begun, end / rate)
        for rate, begun, end in zip(rates, first, now, strict=True)
        if rate and begun
    ]
    return len(pairs) == len(rates) and all(a < 1 - ALIKE and abs(b - a) <= ALIKE * a for a, b in pairs)


def _finding(
    trace: Trace, load: OptimizerLoaded, made: SchedulerMade, turns: list[Scheduled], step: Step
) -> Finding:
    last = turns[-1]
    schedule, holder = schedule_name(trace, made), optimizer_name(trace, last.optimizer)
    count = sum(max(turn.count, 1) for turn in turns)
    here = Source(trace, last.site.user.path)
    loop = here.file.loop_of(node) if (node := here.file.at(last.site.user)) is not None else None
    alone = loop is not None and len(loop.body) == 1 and not loop.orelse
    what = (
        f"the loop around {located(trace, last.site.user)}"
        if loop is not None
        else located(trace, last.site.user)
    )
    rates, first, now = load.rates, load.first, last.after or ()
    optimizer = trace.optimizers.get(last.optimizer)
    return Finding(
        message=f"{schedule} decays the loaded rate of {holder} a second time: training goes on at {now[0]:.3g}, not at"
        f" {rates[0]:.3g}",
        cause=last.site.user,
        cause_label=f"brings the rate from {rates[0]:.3g} to {now[0]:.3g}",
        effect=step.site.user,
        effect_label=f"steps at {now[0]:.3g}",
        related=((load.site.user, f"brings the rate back as it was saved: {rates[0]:.3g}"),),
        seen=(
            f"the state that was loaded has a rate of {rates[0]:.3g}, {rates[0] / first[0]:.3g} of the first one,"
            f" {first[0]:.3g}",
            f"{plural(count, 'step')} of {schedule} before the first one of {holder} made it"
            f" {now[0] / rates[0]:.3g} of that",
        ),
        fix=f"leave {what} out, and load the schedule's own `state_dict()` for its place; or put it before"
        f" {located(trace, load.site.user)}",
        edits=(here.remove(loop) or here.replace(loop, "pass")) if alone and loop is not None else (),
        subjects=parameter_subjects(optimizer.parameters if optimizer is not None else ())
        | {("optimizer", last.optimizer), ("scheduler", last.scheduler)},
    )
