"""Training steps ran while the model was still in evaluation mode.

Why: `model.eval()` holds until `model.train()` is called. Without that, dropout does
nothing and batch norm neither uses nor updates batch statistics, for the rest of the
training, with no error and a plausible loss.

Fix: call `model.train()` at the start of every training epoch.

Silent on: frozen layers that are put into eval mode on purpose; single layers in eval mode
while the model is in training mode, unless they trained before and an evaluation came between;
gradients that no step of the model uses.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.calls import Call, Calls, calls
from gradscope.analysis.loop import in_order
from gradscope.analysis.reach import Key
from gradscope.analysis.words import located, plural, user
from gradscope.events import Backward, Mode, ModuleCall, Step, ZeroGrad
from gradscope.fixes.source import Source, receiver
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
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
    by_event = {id(call.event): call for call in known.all}
    pending: dict[int, Call] = {}  # parameter → the eval-mode call whose gradient it holds
    candidates: list[Call] = []
    modes: list[Mode] = []
    trained: set[int] = set()  # layers that a training forward had in training mode
    asked: set[int] = set()  # of `modes`, those after which the model was evaluated
    told: dict[tuple[tuple[str, int], int], tuple[Call, Mode | None, int]] = {}
    for event in trace.of(ModuleCall, Mode, Backward, ZeroGrad, Step):
        if isinstance(event, Mode):
            modes.append(event)
        elif isinstance(event, ModuleCall):
            call = by_event.get(id(event))
            if call is not None and (_in_eval(known, call) or _left(known, call, trained, modes, asked)):
                candidates.append(call)
            if call is not None and call.trains:
                trained.update(event.train_layers)
            elif not event.grad:
                asked.update(map(id, modes))
        elif isinstance(event, ZeroGrad):
            for number in event.parameters:
                pending.pop(number, None)
        elif isinstance(event, Backward):
            candidates = _after(known, candidates, event, pending)
        elif isinstance(event, Step):
            for number in event.fresh:
                call = pending.pop(number, None)
                if call is not None:
                    key = (call.entry.location(), known.called(call.event))
                    if key not in told:
                        told[key] = (call, _switched(known, modes, call), 0)
                    first, mode, _ = told[key]
                    told[key] = (first, mode, max(told[key][2], event.count))
    for call, mode, times in told.values():
        yield _finding(known, call, mode, times)


def _after(known: Calls, candidates: list[Call], event: Backward, pending: dict[int, Call]) -> list[Call]:
    """The calls that still wait for their backward after this pass, which of a GAN may be the other
    network's; those that it gave gradients are noted in `pending`."""
    accumulated = set(event.filled)
    waiting = []
    for call in candidates:
        mine = accumulated.intersection(p.id for p in known.parameters(call.event))
        pending.update(dict.fromkeys(mine, call))
        if not mine:
            waiting.append(call)
    if event.call != "backward" or event.inputs or not accumulated:
        return []
    reach = known.paths.reach((event.graph, root) for root in event.roots)
    if not reach.complete:
        return []
    return [call for call in waiting if reach.nodes.isdisjoint(_nodes(known, call))]


def _nodes(known: Calls, call: Call) -> list[Key]:
    values = known.paths.graph(call.event.graph).values
    return [(number, node) for number, i in known.outputs(call.event) if (node := values[i].node) is not None]


def _in_eval(known: Calls, call: Call) -> bool:
    if call.event.training or not call.trains:
        return False
    frozen = set(call.event.frozen_eval)
    return any(layer not in frozen for layer in call.event.eval_layers)


def _left(known: Calls, call: Call, trained: set[int], modes: list[Mode], asked: set[int]) -> bool:
    """Whether a part of the model that trained before is still as an evaluation had it, while the
    model's own flag says training."""
    if not call.event.training or not call.trains:
        return False
    frozen = set(call.event.frozen_eval)
    for layer in trained.intersection(call.event.eval_layers) - frozen:
        event = _last_mode(known, modes, layer)
        if event is not None and not event.training and id(event) in asked:
            return bool(event.module != layer)  # a layer on its own is meant
    return False


def _last_mode(known: Calls, modes: list[Mode], layer: int) -> Mode | None:
    """The last `train()` or `eval()` that reached this layer."""
    around: list[int] = []
    above: int | None = layer
    while above is not None and above in known.trace.modules:
        around.append(above)
        above = known.trace.modules[above].parent
    return next((event for event in reversed(modes) if event.module in around), None)


def _switched(known: Calls, modes: list[Mode], call: Call) -> Mode | None:
    """The `eval()` that the call still ran under."""
    modules = known.trace.modules
    mine = modules.get(known.called(call.event))
    if call.event.training:
        layers = call.event.eval_layers
        return next((e for n in layers if (e := _last_mode(known, modes, n)) is not None), None)
    for event in reversed(modes):
        other = modules.get(event.module)
        if not event.training and mine and other and other.root == mine.root:
            if f"{mine.path}.".startswith(f"{other.path}.") or not other.path:
                return event
    return None


def _finding(known: Calls, call: Call, mode: Mode | None, times: int) -> Finding:
    name = known.name(call.event)
    bare = name.strip("`")
    layers = [n for n in call.event.eval_layers if n not in (call.event.frozen_eval or ())]
    switched = user(mode.site) if mode is not None else None
    return Finding(
        message=f"{name} is trained in evaluation mode: {known.layers(layers)} did not behave as in training",
        cause=switched or call.entry,
        cause_label="switched to evaluation mode here, and never back" if switched else "in evaluation mode",
        effect=call.entry if switched else None,
        effect_label="a training forward, still in evaluation mode",
        fix=f"call `{bare}.train()` before {located(known.trace, call.entry, 'this forward')}, at the start of every "
        f"epoch{' of training, not of evaluation, which runs here too' if _evaluated_at(known, call) else ''}",
        seen=(f"{plural(times, 'step')} used gradients of a forward in evaluation mode",),
        count=times,
        edits=_train_before(known, call, mode),
        subjects=frozenset({("module", known.called(call.event)), ("call", call.entry.location())}),
    )


def _train_before(known: Calls, call: Call, mode: Mode | None) -> tuple[Edit, ...]:
    """A `model.train()` before the statement or loop in which only training runs, and a `model.eval()`
    behind it where an evaluation relies on the mode that it finds."""
    trace, mine = known.trace, known.called(call.event)
    evaluations = [
        event
        for event in trace.of(ModuleCall)
        if not event.grad and known.called(event) == mine and not event.training
    ]
    frames = [frame for event in evaluations for frame in event.site.stack]
    keep_out = [*frames, *(mode.site.stack if mode is not None else ())]
    for frame in reversed(list(call.entry.stack)):
        here = Source(trace, frame.path)
        block = here.block(frame, keep_out=keep_out) if keep_out else here.file.statement(frame)
        if frame.kind != "user" or block is None:
            continue
        if not any(other.path == frame.path and _within(block, other) for other in frames):
            name = _name_at(trace, call, mode, frame)
            before = here.before(block, f"{name}.train()") if name else ()
            if not before or not _relied_on(known, mine):
                return before
            after = here.after(block, f"{name}.eval()")
            return (*before, *after) if after else ()
    return ()


def _evaluated_at(known: Calls, call: Call) -> bool:
    """Whether the same line evaluates the model."""
    place = call.entry.location()
    return any(not e.grad and e.site.user.location() == place for e in known.trace.of(ModuleCall))


def _within(statement: ast.stmt, site: Site) -> bool:
    return statement.lineno <= site.line <= (statement.end_lineno or statement.lineno)


def _name_at(trace: Trace, call: Call, mode: Mode | None, frame: Site) -> str:
    """What the model is called on a line: as it is called there, or as its `eval()` is in the same function."""
    if frame.location() == call.entry.location():
        return receiver(trace, call.entry) if call.direct else ""
    switched = mode.site.user if mode is not None else None
    near = switched is not None and (switched.path, switched.function) == (frame.path, frame.function)
    return receiver(trace, switched, "eval") if near else ""


def _relied_on(known: Calls, called: int) -> bool:
    """Whether an evaluation follows training without an `eval()` of its own between them."""
    modules = known.trace.modules
    trains = {id(call.event) for call in known.all if call.trains}
    trained = False
    for _, event in in_order(known.trace):
        if isinstance(event, ModuleCall) and known.called(event) == called:
            if trained and not event.grad:
                return True
            trained = trained or id(event) in trains
        elif isinstance(event, Mode) and not event.training:
            other = modules.get(event.module)
            if other is not None and modules[called].root == other.root:
                trained = False
    return False
