"""In the middle of a run the optimizer and its schedule are made anew, at the first rate: no step uses a lower one.

Why: a new optimizer begins at the rate that it is given, and a new schedule counts from 0. Made anew to leave out
parameters that are frozen from then on, they undo what the schedule had come to, and often the new one does not live
long enough to lower the rate again.

Fix: make the new optimizer with the rate of the old one, or keep it and freeze by `requires_grad_(False)`.

A note, since a second phase may be meant to begin at the first rate. Measured: both optimizers were bound to one name,
are of one kind, and step in the same line, one after the other; the second has part of the first one's parameters; both
schedules have the same settings, the first lowered the rate after the last step of its optimizer, the second never.
Silent on: phases with loops of their own, optimizers that one line makes again and again, rates that some step used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.loop import in_order, settled
from gradscope.analysis.words import counted, located, optimizer_name, variable
from gradscope.events import OptimizerMade, Rates, Scheduled, SchedulerMade, Step
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Optimizer, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], 0.01)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 6, 0.1)
    for epoch in range(9):
        if epoch == 6:
            body.requires_grad_(False)
            opt = torch.optim.Adam(head.parameters(), 0.01)  # cause: GS249
            schedule = torch.optim.lr_scheduler.StepLR(opt, 6, 0.1)
        for _ in range(4):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (head(body(x).tanh()) - x[:, :1]).pow(2).mean().backward()
            opt.step()  # effect: GS249
        schedule.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], 0.01)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 6, 0.1)
    for epoch in range(9):
        if epoch == 6:
            body.requires_grad_(False)
            opt = torch.optim.Adam(head.parameters(), opt.param_groups[0]["lr"])
            schedule = torch.optim.lr_scheduler.StepLR(opt, 6, 0.1)
        for _ in range(4):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (head(body(x).tanh()) - x[:, :1]).pow(2).mean().backward()
            opt.step()
        schedule.step()


@rule("GS249", name="schedule-begun-anew", severity="note", needs=Rates)
def schedule_begun_anew(trace: Trace) -> Iterator[Finding]:
    rates = trace.of(Rates)
    if len(rates) < 2 or not settled(trace):
        return
    classes = {event.scheduler: event.cls for event in trace.of(SchedulerMade)}
    for old in rates:
        late = old.began == old.turns > 0  # the very last turn was the first to change the rate
        for new in rates if late else []:
            first, second = trace.optimizers.get(old.optimizer), trace.optimizers.get(new.optimizer)
            if new.moved or first is None or second is None or first is second:
                continue
            same = classes.get(old.scheduler) == classes.get(new.scheduler) and old.settings == new.settings
            if (
                same
                and old.settings
                and (old.last or 0) < (old.high or 0)
                and _takes_over(trace, first, second)
            ):
                step = _step(trace, first, second)
                if step is not None:
                    yield _finding(trace, old, new, first, second, step)


def _takes_over(trace: Trace, first: Optimizer, second: Optimizer) -> bool:
    """Whether the second is one like the first, made elsewhere for part of its parameters, and bound to its name."""
    if first.site is None or second.site is None or first.cls != second.cls:
        return False
    apart = [one.location() for one in _ways(first.site)] != [one.location() for one in _ways(second.site)]
    name = variable(trace, first.site) or ""
    one, other = first.site.user.function, second.site.user.function
    if one != other and not (name.startswith("self.") and one.rpartition(".")[0] == other.rpartition(".")[0]):
        return False  # another variable of this name
    part = set(second.parameters) < set(first.parameters) and bool(second.parameters)
    return (
        apart
        and part
        and bool(name)
        and name == variable(trace, second.site)
        and _rate(first) == _rate(second)
    )


def _ways(site: Site) -> list[Site]:
    """The program's lines that led to a call, itself the last."""
    return [frame for frame in site.stack if frame.kind == "user"]


def _rate(optimizer: Optimizer) -> list[object]:
    return [group.get("lr") for group in optimizer.groups][:1]


def _step(trace: Trace, first: Optimizer, second: Optimizer) -> Step | None:
    """The second one's first step, where both step in one line, and the first one no more once its schedule has made
    its last turn and the second was made."""
    places: set[int] = set()
    found, last = None, ""
    for _, event in in_order(trace):
        if isinstance(event, OptimizerMade) and event.optimizer == second.id:
            if last != "turn":
                return None
            last = "made"
        elif isinstance(event, Scheduled) and event.optimizer == first.id:
            last = "turn"
        elif isinstance(event, Step) and event.optimizer in (first.id, second.id):
            places.add(event.site.id)
            if event.optimizer == second.id:
                found = found or event
            elif last == "made":
                return None
            else:
                last = "step"
    return found if last == "made" and len(places) == 1 else None


def _finding(
    trace: Trace, old: Rates, new: Rates, first: Optimizer, second: Optimizer, step: Step
) -> Finding:
    assert first.site is not None and second.site is not None
    site, name = second.site.user, optimizer_name(trace, second.id)
    again = first.site.user.location() == site.location()  # one function makes both
    pairs = zip(_ways(first.site)[::-1], _ways(second.site)[::-1], strict=False)
    anew = next((other for one, other in pairs if one.location() != other.location()), site)
    text, edits = _at_the_rate(trace, site, first) if not again else ("", ())
    return Finding(
        message=f"{name} is made anew at its first rate, just when its schedule had lowered it: no step uses a lower"
        " one",
        cause=site,
        cause_label=f"begins at {old.high:g} again; the schedule had come to {old.last:g}",
        effect=step.site.user,
        effect_label=f"goes on with {old.high:g}",
        related=((anew, "makes it once more, through this"),)
        if again
        else ((first.site.user, "the first one"),),
        seen=(
            f"the schedule of the first one lowered the rate to {old.last:g} after the last of"
            f" {counted(first.steps, 'step')}; that of the second left it at {new.high or 0:g} in"
            f" {counted(new.turns, 'turn')}, {counted(second.steps, 'step')}",
        ),
        fix=f"make it with the rate that the first one has come to, in {located(trace, site)}{text}, or keep the first"
        " one and freeze with `requires_grad_(False)`",
        edits=edits,
        count=second.steps,
        subjects=frozenset({("scheduler", new.scheduler)}),
    )


def _at_the_rate(trace: Trace, site: Site, first: Optimizer) -> tuple[str, Edits]:
    """The rate of the first one in place of what the second is given: its name still stands for the first."""
    here = Source(trace, site.path)
    call, name = here.file.at(site), variable(trace, first.site)
    if not isinstance(call, ast.Call) or not name:
        return "", ()
    given = next(
        (k.value for k in call.keywords if k.arg == "lr"), call.args[1] if len(call.args) > 1 else None
    )
    rate = f'{name}.param_groups[0]["lr"]'
    return (f": `{rate}`", here.replace(given, rate)) if given is not None else ("", ())
