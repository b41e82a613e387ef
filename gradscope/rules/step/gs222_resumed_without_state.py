"""A training is resumed with an optimizer that begins from nothing.

Why: Adam, and SGD with momentum, keep running averages of the gradients. A new optimizer has none: its first steps
are those of a training's beginning, full-size ones with Adam, where the training had come to small ones. A new
`GradScaler` leaves out steps until it has found the scale again that the saved one had.

Fix: save `optimizer.state_dict()` with the rest, and load it where the schedule is loaded, into the optimizer that
steps: one that is made anew after that knows nothing of it.

Silent on: optimizers that keep no state; a checkpoint whose model is trained on from the first epoch (fine-tuning);
a schedule that begins anew; one that is only stepped ahead; a new optimizer with other settings than the one that was
loaded, or for parameters of other values; a new scaler that leaves out fewer than three steps.
"""

from collections.abc import Iterator

from gradscope.analysis.checkpoints import goes_on_counting, left_out_load
from gradscope.analysis.since import since_segment
from gradscope.analysis.stacks import beside_each_other
from gradscope.analysis.words import code, counted, listed, located, method, optimizer_name, plural, user
from gradscope.events import LoadLost, Resumed, ScalerAnew, StateLeft, Step
from gradscope.fixes.resuming import asked_for, state_taken_along
from gradscope.fixes.statements import moved
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

LEFT_OUT = 3  # steps, by a scaler that begins anew


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


@rule(
    "GS222",
    name="resumed-without-state",
    severity="warning",
    needs=(LoadLost, Resumed, ScalerAnew, StateLeft),
)
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
    for left in trace.of(StateLeft):
        if goes_on_counting(trace, left.counts):
            yield _left(trace, left)
    for lost in trace.of(LoadLost):
        made = trace.optimizers[lost.optimizer].site
        if made is not None:
            yield _lost(trace, lost, made)
    for anew in trace.of(ScalerAnew):
        if anew.lowered >= LEFT_OUT:
            yield _scaler(trace, anew)


def _scaler(trace: Trace, event: ScalerAnew) -> Finding:
    load, step, name = event.site.user, user(trace.site(event.step)), optimizer_name(trace, event.optimizer)
    before = f"; the scaler before the load had come to {event.before:g}" if event.before is not None else ""
    return Finding(
        message=f"{name} goes on from its saved state, but the gradient scaler begins anew: it left out"
        f" {plural(event.lowered, 'step')}",
        cause=load,
        cause_label="loads the optimizer's state, and no scaler is given one",
        effect=step,
        effect_label=f"begins with a scale of {event.first or 0:g}",
        seen=(
            f"{event.lowered} of the scaler's first {plural(event.updates, 'update')} lowered its scale, each for a"
            f" step that was left out because gradients were not finite: from {event.first or 0:g} to"
            f" {event.last or 0:g}{before}",
        ),
        fix=f"save the scaler's `state_dict()` with the rest, and load it beside {located(trace, load)} by its"
        " `load_state_dict(…)`",
        subjects=frozenset({("optimizer", event.optimizer)}),
    )


def _left(trace: Trace, event: StateLeft) -> Finding:
    """The checkpoint's model trains on, its optimizer's state stays in the file."""
    name = optimizer_name(trace, event.optimizer)
    optimizer = trace.optimizers[event.optimizer]
    steps = [step for step in trace.of(Step) if step.optimizer == event.optimizer]
    made = optimizer.site
    rate = ""
    if event.saved is not None and event.rate is not None and event.saved != event.rate:
        rate = (
            f"; its learning rate was {event.saved:.3g} when it was saved, and {event.rate:.3g} at this step"
        )
    passed_over = left_out_load(trace, event.key)
    if passed_over is not None and made is not None:
        return _passed_over(trace, event, passed_over, *beside_each_other(event.site, made))
    keys = [event.key, *event.schedules]
    shown = listed([f'`["{key}"]`' for key in keys])
    return Finding(
        message=f"the training goes on from a checkpoint, but {name} begins with an empty state: {shown} of it"
        f" {'is' if len(keys) == 1 else 'are'} not loaded",
        cause=beside_each_other(event.site, made)[1] if made is not None else event.site.user,
        cause_label=f"a new `{optimizer.cls}`, which is given nothing of it",
        effect=steps[0].site.user if steps else None,
        effect_label="its first step had no running averages",
        related=((event.site.user, "loads the checkpoint"),),
        seen=(
            f'the checkpoint\'s `["{event.key}"]` is a state after {counted(event.steps, "step")} for parameters of the'
            f" shapes that {name} holds; at its first step after the load its own was empty, and no optimizer was given"
            f" one{rate}",
        ),
        fix=f"give {name} its state back once it is made: {method(trace, event.optimizer, 'load_state_dict')} with"
        f' `["{event.key}"]` of what {located(trace, event.site.user)} gives'
        + (
            f", and its schedule that of {listed([f'`[{chr(34)}{key}{chr(34)}]`' for key in keys[1:]])}"
            if keys[1:]
            else ""
        ),
        edits=state_taken_along(trace, event),
        subjects=frozenset({("optimizer", event.optimizer)}),
        since=since_segment(trace, steps[0].segment) if steps else None,
    )


def _passed_over(trace: Trace, event: StateLeft, line: Site, load: Site, maker: Site) -> Finding:
    """The program has a line that loads the state, and did not come to it."""
    name = optimizer_name(trace, event.optimizer)
    steps = [step for step in trace.of(Step) if step.optimizer == event.optimizer]
    late = maker.path == load.path and maker.line > load.line
    fix = f"let {located(trace, line)} run when the checkpoint is loaded"
    asked = asked_for(trace, line)
    if asked is not None:
        them = listed([f"`{one}`" for one in asked.names])
        fix = f"give {them} to {located(trace, asked.call)}, which {'are' if asked.names[1:] else 'is'} None there"
    elif late:
        fix = (
            f"make {name} before the checkpoint is loaded ({located(trace, load)}), or keep its state until"
            f" {located(trace, maker)} has made it"
        )
    return Finding(
        message=f"the training goes on from a checkpoint, but {name} begins with an empty state: the line that loads it"
        " did not run",
        cause=line if asked is None else asked.call,
        cause_label="was passed over"
        if asked is None
        else "gives the function no optimizer, which is None by default",
        effect=steps[0].site.user if steps else None,
        effect_label="its first step had no running averages",
        related=(
            *(((line, "was passed over"),) if asked is not None else ()),
            (event.site.user, "loads the checkpoint"),
            (maker, f"makes {name}"),
        ),
        seen=(
            f'the checkpoint\'s `["{event.key}"]` is a state after {counted(event.steps, "step")}; at the first step of'
            f" {name} after the load its own was empty, and no optimizer was given one",
        ),
        fix=fix,
        edits=asked.edits if asked is not None else (),
        subjects=frozenset({("optimizer", event.optimizer)}),
        since=since_segment(trace, steps[0].segment) if steps else None,
    )


def _lost(trace: Trace, event: LoadLost, made: Site) -> Finding:
    """A state was loaded into an optimizer whose place a new one took."""
    name, cls = optimizer_name(trace, event.optimizer), trace.optimizers[event.optimizer].cls
    steps = [step for step in trace.of(Step) if step.optimizer == event.optimizer]
    load, anew = beside_each_other(event.site, made)
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
