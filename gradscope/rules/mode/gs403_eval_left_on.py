"""Training steps ran while the model was still in evaluation mode.

Why: `model.eval()` holds until `model.train()` is called. Without that, dropout does
nothing and batch norm neither uses nor updates batch statistics, for the rest of the
training, with no error and a plausible loss.

Fix: call `model.train()` at the start of every training epoch.

Silent on: frozen layers that are put into eval mode on purpose; single layers in eval mode
while the model is in training mode, unless they trained before and an evaluation came between;
gradients that no step of the model uses; a part that is trained while the rest of the model stands still, where nothing
was evaluated since `eval()`.
"""

from collections.abc import Iterator

from gradscope.analysis.calls import Call, Calls, calls
from gradscope.analysis.modes import (
    TrainedInEval,
    put_there_before,
    relied_on,
    steps_in_eval,
    switched_back,
    trained_in_eval,
)
from gradscope.analysis.since import since_segment
from gradscope.analysis.trainers import runs_it
from gradscope.analysis.words import code, located, plural, user
from gradscope.events import Backward, Mode, ModuleCall
from gradscope.fixes.calls import renamed
from gradscope.fixes.source import Source, receiver
from gradscope.fixes.statements import beside, line_after
from gradscope.model import Edit, Event, Finding, Site
from gradscope.rules import rule
from gradscope.source import LOOPS, stands_in
from gradscope.store import Trace


def bad_train_called_once() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, dtype=torch.long)
    model.train()
    for _ in range(3):
        for _ in range(2):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), target)  # effect: GS403
            loss.backward()
            opt.step()
        model.eval()  # cause: GS403
        with torch.no_grad():
            (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()


def good_train_in_every_epoch() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.zeros(8, dtype=torch.long)
    for _ in range(3):
        model.train()
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), target).backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            (model(torch.randn(8, 4)).argmax(dim=1) == 0).sum().item()


@rule("GS403", name="eval-left-on", severity="warning")
def eval_left_on(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    for one in trained_in_eval(known):
        yield _finding(known, one)


def _finding(known: Calls, one: TrainedInEval) -> Finding:
    call, mode = one.call, one.mode
    name = known.name(call.event)
    if mode is not None and not known.parameters(call.event):  # `net[:3](x)`
        name = known.name_of(mode.module)
    bare = _name_at(known.trace, call, mode, call.entry)
    switch = f"`{bare}.train()`" if bare else f"`train()` of {name}"
    layers = [n for n in call.event.eval_layers if n not in (call.event.frozen_eval or ())]
    switched = user(mode.site) if mode is not None else None
    back = switched_back(known, mode) if mode is not None else None
    if mode is not None and (first := put_there_before(known, mode)) is not None:
        fix, edits = _train_instead(known.trace, mode.site.user, first)
        until = f"it was in that mode already since {located(known.trace, first)}"
    elif mode is not None and back is not None:
        fix, edits = _back_sooner(known, call, mode, back, switch)
        until = f"back only by {located(known.trace, _again(known, mode, back))}"
    else:
        until = "never back"
        fix = f"call {switch} before {located(known.trace, call.entry, 'this forward')}{_when(known, call, mode)}"
        edits = _train_before(known, call, mode)
    times = max(one.times, steps_in_eval(known, one))
    used = f"{plural(one.times, 'step')} used gradients of a forward in evaluation mode"
    if times > one.times:
        used = (
            f"{times} steps were made in evaluation mode; of those that were looked at, {one.times} used "
            "gradients of a forward in that mode"
        )
    return Finding(
        message=f"{name} is trained in evaluation mode: {known.layers(layers)} did not behave as in training",
        cause=switched or call.entry,
        cause_label=f"switched to evaluation mode here, and {until}" if switched else "in evaluation mode",
        effect=call.entry if switched else None,
        effect_label="a training forward, still in evaluation mode",
        fix=fix,
        seen=(used,),
        count=times,
        edits=edits,
        subjects=frozenset({("module", known.called(call.event)), ("call", call.entry.location())}),
        since=since_segment(known.trace, call.event.segment),
    )


def _back_sooner(
    known: Calls, call: Call, mode: Mode, back: Mode, switch: str
) -> tuple[str, tuple[Edit, ...]]:
    """The `train()` of the program's own once more, behind the call that evaluates in the midst of training."""
    trace = known.trace
    evaluation = _evaluating(known, call, mode)
    again = _again(known, mode, back)
    if evaluation is None and runs_it(call.event.site) is not None:
        switched = mode.site.user  # a callback's: what stands before the library's call trains nothing
        name = receiver(trace, switched, "eval")
        if name:
            return (
                f"switch back where the evaluation ends: call `{name}.train()` at the end of `{switched.function}`,"
                f" which {located(trace, switched)} puts into evaluation mode",
                (),
            )
    if evaluation is None:
        here = f"before {located(trace, call.entry, 'this forward')}"
        edits = _train_before(known, call, mode)
        return f"switch back where the evaluation ends: call {switch} {here}", edits
    text = code(trace, again) if beside(trace, again, evaluation) else ""
    switched = mode.site.user
    name = receiver(trace, switched, "eval")
    if not text and name and not beside(trace, switched, evaluation):
        return (
            f"switch back where the evaluation ends: call `{name}.train()` at the end of `{switched.function}`, which"
            f" {located(trace, switched)} puts into evaluation mode and {located(trace, evaluation)} runs, as"
            f" {located(trace, again)} does",
            (),
        )
    return (
        f"switch back where the evaluation ends: call {text or switch} after {located(trace, evaluation)}",
        line_after(trace, evaluation, text.strip("`")) if text and "…" not in text else (),
    )


def _evaluating(known: Calls, call: Call, mode: Mode) -> Site | None:
    """The user's call, beside the training, in which the model was put into evaluation mode and evaluated."""
    training = {frame.id for frame in call.event.site.stack}
    inside = [{frame.id for frame in event.site.stack} for event in _evaluations(known)]
    for frame in mode.site.stack:
        if frame.id not in training:
            return frame if frame.kind == "user" and any(frame.id in ids for ids in inside) else None
    return None


def _again(known: Calls, mode: Mode, back: Mode) -> Site:
    """The user's call by which `train()` is reached, from where its stack leaves that of the `eval()`, and that does
    no more than this: neither training nor an evaluation is made in it."""
    events: tuple[Event, ...] = (*known.trace.of(ModuleCall), *known.trace.of(Backward))
    more = {frame.id for event in (mode, *events) for frame in event.site.stack}
    return next((f for f in back.site.stack if f.kind == "user" and f.id not in more), back.site.user)


def _train_instead(trace: Trace, switched: Site, first: Site) -> tuple[str, tuple[Edit, ...]]:
    """The second `eval()` of a function, behind its evaluation, stands where the `train()` belongs."""
    name = receiver(trace, switched, "eval")
    return (
        f"call `{name or 'model'}.train()` in place of {located(trace, switched)}: {located(trace, first)} has put it"
        " into evaluation mode for what stands between them, and this is where that ends",
        renamed(trace, switched, "eval", "train"),
    )


def _when(known: Calls, call: Call, mode: Mode | None) -> str:
    """How often `train()` is to be called, where that can be told."""
    if _evaluated_at(known, call):
        return ", where it trains: the same line evaluates too"
    keep_out = mode.site.stack if mode is not None else ()
    for frame in call.entry.stack:
        here = Source(known.trace, frame.path)
        block = here.block(frame, keep_out=keep_out) if frame.kind == "user" else None
        if isinstance(block, LOOPS) and here.file.loop_of(block) is not None:
            return ", at the start of every epoch"
    return ", each time after it was evaluated" if mode is not None and mode.count > 1 else ""


def _train_before(known: Calls, call: Call, mode: Mode | None) -> tuple[Edit, ...]:
    """A `model.train()` before the statement or loop in which only training runs, and a `model.eval()`
    behind it where an evaluation relies on the mode that it finds."""
    trace, mine = known.trace, known.called(call.event)
    evaluations = [e for e in _evaluations(known) if known.called(e) == mine and not e.training]
    frames = [frame for event in evaluations for frame in event.site.stack]
    keep_out = [*frames, *(mode.site.stack if mode is not None else ())]
    for frame in reversed(list(call.entry.stack)):
        here = Source(trace, frame.path)
        block = here.block(frame, keep_out=keep_out) if keep_out else here.file.statement(frame)
        if frame.kind != "user" or block is None:
            continue
        if not any(other.path == frame.path and stands_in(block, other) for other in frames):
            name = _name_at(trace, call, mode, frame)
            before = here.before(block, f"{name}.train()") if name else ()
            if not before or not relied_on(known, mine):
                return before
            after = here.after(block, f"{name}.eval()")
            return (*before, *after) if after else ()
    return ()


def _evaluated_at(known: Calls, call: Call) -> bool:
    """Whether the same line evaluates the model."""
    place = call.entry.location()
    return any(e.site.user.location() == place for e in _evaluations(known))


def _evaluations(known: Calls) -> list[ModuleCall]:
    """The calls without gradients, and those with which no pass goes on."""
    idle = {id(call.event) for call in known.all if not call.used}
    return [event for event in known.trace.of(ModuleCall) if not event.grad or id(event) in idle]


def _name_at(trace: Trace, call: Call, mode: Mode | None, frame: Site) -> str:
    """What the model is called on a line: as it is called there, or as its `eval()` is in the same function."""
    if frame.location() == call.entry.location():
        if runs_it(call.event.site) is not None:
            return ""
        if name := receiver(trace, call.entry):
            return name
    switched = mode.site.user if mode is not None else None
    near = switched is not None and (switched.path, switched.function) == (frame.path, frame.function)
    return receiver(trace, switched, "eval") if near else ""
