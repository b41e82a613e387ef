"""A training is resumed with an optimizer that begins from nothing.

Why: Adam, and SGD with momentum, keep running averages of the gradients. A new optimizer has none: its first steps
are those of a training's beginning, full-size ones with Adam, where the training had come to small ones.

Fix: save `optimizer.state_dict()` with the rest, and load it where the schedule is loaded, into the optimizer that
steps: one that is made anew after that knows nothing of it.

Silent on: optimizers that keep no state; a schedule that begins anew; one that is only stepped ahead; a new
optimizer with other settings than the one that was loaded, or for parameters of other values.
"""

from collections.abc import Iterator

from gradscope.analysis.since import since_segment
from gradscope.analysis.words import code, located, method, optimizer_name
from gradscope.events import LoadLost, Resumed, Step
from gradscope.fixes.calls import moved
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    kept: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.StepLR(opt, 4)
        if run:
            model.load_state_dict(kept["model"])
            schedule.load_state_dict(kept["schedule"])  # cause: GS222
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()  # effect: GS222
            schedule.step()
        kept = {"model": model.state_dict(), "schedule": schedule.state_dict()}


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    kept: dict[str, dict[str, object]] = {}
    for run in range(2):
        model = nn.Linear(3, 1)
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.StepLR(opt, 4)
        if run:
            model.load_state_dict(kept["model"])
            schedule.load_state_dict(kept["schedule"])
            opt.load_state_dict(kept["opt"])
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            schedule.step()
        kept = {"model": model.state_dict(), "schedule": schedule.state_dict(), "opt": opt.state_dict()}


@rule("GS222", name="resumed-without-state", severity="warning")
def resumed_without_state(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Resumed):
        site, name = event.site.user, optimizer_name(trace, event.optimizer)
        cls = trace.optimizers[event.optimizer].cls if event.optimizer in trace.optimizers else "an optimizer"
        steps = [step for step in trace.of(Step) if step.optimizer == event.optimizer]
        yield Finding(
            message=f"the schedule resumes at step {event.turn}, but {name}, its `{cls}`, began with an empty state",
            cause=site,
            cause_label=f"resumes the schedule at step {event.turn}",
            effect=steps[0].site.user if steps else None,
            effect_label="its first step had no running averages",
            seen=(
                f"{code(trace, site, 'the schedule')} set the schedule's count of steps to {event.turn}; at the next"
                f" step of {name} its state was empty, and it has held tensors since",
            ),
            fix=f"save the state of {name} with that of the schedule, and load it beside {located(trace, site)}"
            f" by {method(trace, event.optimizer, 'load_state_dict')}",
            subjects=frozenset({("optimizer", event.optimizer)}),
            since=since_segment(trace, steps[0].segment) if steps else None,
        )
    for lost in trace.of(LoadLost):
        made = trace.optimizers[lost.optimizer].site
        if made is not None:
            yield _lost(trace, lost, made)


def _lost(trace: Trace, event: LoadLost, made: Site) -> Finding:
    """A state was loaded into an optimizer whose place a new one took."""
    name, cls = optimizer_name(trace, event.optimizer), trace.optimizers[event.optimizer].cls
    steps = [step for step in trace.of(Step) if step.optimizer == event.optimizer]
    load, anew = _apart(event.site, made)
    edits = moved(trace, load, anew, after=True, conditional=True)
    return Finding(
        message=f"the state that was loaded is lost: {name}, a new `{cls}` for the same parameters, began with an"
        " empty one",
        cause=made.user,
        cause_label="makes the optimizer that steps, after the load",
        effect=steps[0].site.user if steps else None,
        effect_label="its first step had no running averages",
        related=((event.site.user, "loads the state into another, which never stepped"),),
        seen=(
            f"the optimizer that {code(trace, event.site.user)} gave a state never stepped; {name} was made later with"
            " its settings, for parameters of the same values; its state was empty at its first step, and it has held"
            " tensors since",
        ),
        fix=f"load after the optimizer is made: {located(trace, load)} behind {located(trace, anew)}",
        edits=edits,
        subjects=frozenset({("optimizer", event.optimizer)}),
        since=since_segment(trace, steps[0].segment) if steps else None,
    )


def _apart(one: Site, other: Site) -> tuple[Site, Site]:
    """The lines of one function that led to each, where there is such a function; else the two themselves."""
    for a, b in zip(one.stack, other.stack, strict=False):
        if a.location() != b.location():
            same = (a.path, a.function) == (b.path, b.function) and a.kind == b.kind == "user"
            return (a, b) if same else (one.user, other.user)
    return one.user, other.user
