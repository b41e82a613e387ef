"""Calls of modules in a mode that an earlier line has left on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.analysis.calls import Call, Calls
from gradscope.analysis.loop import in_order, parameters_of, timeline
from gradscope.analysis.reach import Key
from gradscope.events import Backward, Mode, ModuleCall, Step, ZeroGrad
from gradscope.model import GRADIENTS_OFF, Graph, Parameter, Region, Site, Value
from gradscope.store import Trace


@dataclass
class TrainedInEval:
    """A forward in evaluation mode whose gradients steps used."""

    call: Call
    mode: Mode | None  # the `eval()` that it ran under
    step: Step  # the first that used them
    times: int = 0  # that such a step was looked at


def trained_in_eval(known: Calls, *, without_layers: bool = False) -> Iterator[TrainedInEval]:
    """Forwards in evaluation mode whose gradients steps used, once per line; or those of models without a layer that
    the mode is of any matter to."""
    by_event = {id(call.event): call for call in known.all}
    pending: dict[int, Call] = {}  # parameter → the eval-mode call whose gradient it holds
    candidates: list[Call] = []
    modes: list[Mode] = []
    trained: set[int] = set()  # layers that a training forward had in training mode
    asked: set[int] = set()  # of `modes`, those after which the model was evaluated
    meant: set[int] = set()  # of `candidates`, those since whose `eval()` nothing was evaluated
    told: dict[tuple[tuple[str, int], int], TrainedInEval] = {}
    for event in known.trace.of(ModuleCall, Mode, Backward, ZeroGrad, Step):
        if isinstance(event, Mode):
            modes.append(event)
        elif isinstance(event, ModuleCall):
            call = by_event.get(id(event))
            counts = call is not None and (
                _without_layers(call)
                if without_layers
                else _in_eval(known, call) or _left(known, call, trained, modes, asked)
            )
            if call is not None and counts:
                candidates.append(call)
                mode = _switched(known, modes, call)
                meant |= {id(call)} if mode is not None and id(mode) not in asked else set()
            if call is not None and call.trains:
                trained.update(event.train_layers)
            elif not event.grad:
                asked.update(map(id, modes))
        elif isinstance(event, ZeroGrad):
            for number in event.parameters:
                pending.pop(number, None)
        elif isinstance(event, Backward):
            candidates = _after(known, candidates, meant, event, pending)
        elif isinstance(event, Step):
            for number in event.fresh:
                call = pending.pop(number, None)
                if call is not None:
                    key = (call.entry.location(), known.called(call.event))
                    if key not in told:
                        told[key] = TrainedInEval(call, _switched(known, modes, call), event)
                    told[key].times = max(told[key].times, event.count)
    yield from told.values()


def _after(
    known: Calls, candidates: list[Call], meant: set[int], event: Backward, pending: dict[int, Call]
) -> list[Call]:
    """The calls that still wait for their backward after this pass, which of a GAN may be the other
    network's; those that it gave gradients are noted in `pending`. Where no evaluation came between, and only a part is
    trained while the rest stands still, evaluation mode is meant: the rest is to give what it gives when it is used."""
    accumulated = set(event.filled)
    waiting = []
    for call in candidates:
        own = _parameters(known, call)
        mine = accumulated.intersection(p.id for p in own)
        still = any(p.id not in mine and (p.passes or not p.requires_grad) for p in own)
        if id(call) not in meant or not still:
            pending.update(dict.fromkeys(mine, call))
        if not mine:
            waiting.append(call)
    if event.call != "backward" or event.inputs or not accumulated:
        return []
    reach = known.paths.reach((event.graph, root) for root in event.roots)
    if not reach.complete:
        return []
    return [call for call in waiting if reach.nodes.isdisjoint(_nodes(known, call))]


def _parameters(known: Calls, call: Call) -> list[Parameter]:
    """Those of the module that was called; of a container made in passing those of the model whose layers it has."""
    layers = [known.trace.modules[n] for n in call.event.eval_layers if n in known.trace.modules]
    return known.parameters(call.event) or [p for one in layers[:1] for p in known.parameters_of(one.root)]


def _nodes(known: Calls, call: Call) -> list[Key]:
    values = known.paths.graph(call.event.graph).values
    return [(number, node) for number, i in known.outputs(call.event) if (node := values[i].node) is not None]


def _in_eval(known: Calls, call: Call) -> bool:
    if call.event.training or not call.trains:
        return False
    frozen = set(call.event.frozen_eval)
    return any(layer not in frozen for layer in call.event.eval_layers)


def _without_layers(call: Call) -> bool:
    event = call.event
    return call.trains and not (event.training or event.eval_layers or event.train_layers)


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
    around = _around(known.trace, layer)
    return next((event for event in reversed(modes) if event.module in around), None)


def _around(trace: Trace, module: int) -> list[int]:
    """The module and all that it is a part of."""
    found: list[int] = []
    above: int | None = module
    while above is not None and above in trace.modules:
        found.append(above)
        above = trace.modules[above].parent
    return found


def steps_in_eval(known: Calls, one: TrainedInEval) -> int:
    """How often its step ran while the module was in evaluation mode, whether it was looked at or not: switches
    and steps are seen all the while."""
    above = _around(known.trace, known.called(one.call.event) if one.mode is None else one.mode.module)
    evaluates, found = one.mode is None, 0
    for repeat, event in in_order(known.trace):
        if isinstance(event, Mode) and event.module in above:
            evaluates = not event.training
        elif isinstance(event, Step) and (event.optimizer, event.site.id) == (
            one.step.optimizer, one.step.site.id,
        ):  # fmt: skip
            found += repeat * evaluates
    return found


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


def switched_back(known: Calls, mode: Mode) -> Mode | None:
    """The `train()` that later takes back an `eval()`."""
    above = _around(known.trace, mode.module)
    begun = False
    for _, event in in_order(known.trace):
        begun = begun or event is mode
        if begun and isinstance(event, Mode) and event.training and event.module in above:
            return event
    return None


def put_there_before(known: Calls, mode: Mode) -> Site | None:
    """The `eval()` of the same model, further up in the same function, that has put it into evaluation mode already
    before one that stands behind an evaluation there."""
    last: Mode | None = None
    called = False
    for _, event in in_order(known.trace):
        if event is mode:
            break
        if isinstance(event, Mode) and event.module == mode.module:
            last, called = event, False
        called = called or isinstance(event, ModuleCall)
    if last is None or last.training or not called:
        return None
    first, second = last.site.user, mode.site.user
    same = (first.parent and first.parent.id) == (second.parent and second.parent.id)
    return first if same and first.function == second.function and first.line < second.line else None


def relied_on(known: Calls, called: int) -> bool:
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


def times_asked(trace: Trace, sites: set[int]) -> Iterator[int]:
    """How many calls come from these places in each stretch without a backward pass in which there is one; of a
    stretch that repeats, 2 at least."""
    asked = 0
    for repeat, events in timeline(trace):
        trains = any(isinstance(event, Backward) for event in events)
        for event in events:
            if isinstance(event, Backward):
                if asked:
                    yield asked
                asked = 0
            elif isinstance(event, ModuleCall) and event.site.id in sites:
                asked += 2 if repeat > 1 and not trains else 1
    if asked:
        yield asked


@dataclass
class LeftOff:
    """A training call that built no graph, since an earlier statement had turned gradients off."""

    call: ModuleCall
    region: Region
    trains: bool  # `train()` was called of its model after that statement
    steps: int = 0  # that found no gradient since, of optimizers of its model whose steps found some before


def left_off(trace: Trace) -> Iterator[LeftOff]:
    """Training calls without a graph, once per statement that turned gradients off: the same lines built graphs
    before, and since then `train()` was called, or an optimizer stepped on without gradients."""
    trained: set[tuple[str, int]] = set()  # lines that built a graph in training mode
    off: dict[int, set[int]] = {}  # regions that calls were in → models on which `train()` was called since
    found: dict[tuple[str, int], LeftOff] = {}
    fed: set[int] = set()  # optimizers whose steps found gradients
    for repeat, event in in_order(trace):
        if isinstance(event, Mode) and event.training:
            for models in off.values():
                models.add(_model(trace, event))
        elif isinstance(event, Step):
            if event.fed:
                fed.add(event.optimizer)
            for one in found.values() if event.optimizer in fed and not event.fed else ():
                one.steps += repeat if _model(trace, one.call) in _models(trace, event) else 0
        if not isinstance(event, ModuleCall):
            continue
        place = event.site.user.location()
        if event.grad:
            trained |= {place} if event.training and event.builds_graph else set()
            found.pop(place, None)
            off.clear()  # what was switched off is on again
            continue
        region = _region_of_call(trace, event)
        if region is None or not outlived(trace, region, event.site):
            continue
        if place in trained and (event.training or _returned(region, event)):
            trains = event.training and _model(trace, event) in off.get(region.id, ())
            if place not in found or (trains and not found[place].trains):
                found[place] = LeftOff(event, region, trains, found[place].steps if place in found else 0)
        off.setdefault(region.id, set())
    told = [o for o in found.values() if o.trains or (o.steps >= 2 and not _decides(trace, o.region))]
    yield from {one.region.id: one for one in reversed(told)}.values()


def _returned(region: Region, call: ModuleCall) -> bool:
    """Whether the function that turned gradients off is over: in it, a call in evaluation mode is meant."""
    opened = region.site.user
    inside = {(frame.path, frame.function) for frame in call.site.stack}
    return not opened.function.startswith("<") and (opened.path, opened.function) not in inside


def _models(trace: Trace, step: Step) -> set[int]:
    """The outermost modules that have parameters of this optimizer."""
    held = trace.optimizers[step.optimizer].parameters if step.optimizer in trace.optimizers else ()
    numbers = {p.module for p in parameters_of(trace, list(held)) if p.module in trace.modules}
    return {trace.modules[number].root for number in numbers if number is not None}


def _decides(trace: Trace, region: Region) -> bool:
    """Whether the statement computes if gradients are on (`set_grad_enabled(phase == "train")`): a loop that
    steps in both phases is not one that has forgotten to switch back."""
    node = trace.source_file(region.site.path).at(region.site)
    given = [*node.args, *(word.value for word in node.keywords)] if isinstance(node, ast.Call) else []
    return any(not isinstance(value, ast.Constant) for value in given)


def _model(trace: Trace, event: ModuleCall | Mode) -> int:
    """The outermost module of the one that was called, or put into a mode."""
    number = event.module
    return trace.modules[number].root if number in trace.modules else number


def _region_of_call(trace: Trace, event: ModuleCall) -> Region | None:
    outputs = event.outputs
    if event.graph < 0 or not outputs:
        return None
    graph = trace.graph(event.graph)
    return region_of(trace, graph, graph.values[outputs[0]])


def region_of(trace: Trace, graph: Graph, value: Value) -> Region | None:
    """The mode under which a value was computed."""
    number = graph.ops[value.op].region if value.op is not None else None
    region = trace.regions.get(number) if number is not None else None
    return region if region is not None and region.kind in GRADIENTS_OFF else None


def outlived(trace: Trace, region: Region, later: Site) -> bool:
    """Whether a statement opened the mode and this came after the code that it stands in. Of a mode that a library
    opened, the user's line is the call of the library: after that has returned, nothing of it ends the mode."""
    if region.site.kind == "user":
        return as_statement(trace, region)
    opened = region.site.user
    entered = any(frame.function.endswith("__enter__") for frame in region.site.stack)
    within = {(frame.path, frame.function, frame.line) for frame in later.stack}
    return (
        opened.kind == "user"
        and not entered
        and (opened.path, opened.function, opened.line) not in within
        and not isinstance(
            trace.source_file(opened.path).statement(opened), (ast.With, ast.AsyncWith, ast.For)
        )
    )


def as_statement(trace: Trace, region: Region) -> bool:
    """`torch.set_grad_enabled(False)` or `mode.__enter__()` on a line of the user's own."""
    if region.site.kind != "user":
        return False
    file = trace.source_file(region.site.path)
    node = file.at(region.site)
    return isinstance(node, ast.Call) and isinstance(file.parent.get(id(node)), (ast.Expr, ast.Assign))
