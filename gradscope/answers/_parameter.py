"""Why a parameter has a gradient, or has none."""

from __future__ import annotations

from itertools import groupby

from gradscope.analysis.cuts import cut_words as rule_words
from gradscope.analysis.lost import End, end_of, lost
from gradscope.analysis.names import names_of, op_name
from gradscope.analysis.reach import paths
from gradscope.analysis.stops import Stop, frozen, frozen_behind, set_at, stops
from gradscope.analysis.thaws import Late, too_late
from gradscope.analysis.words import located, parameter_name
from gradscope.answers._answer import MAX_STEPS, Answer, Step, cut_words, shortened, spoken
from gradscope.events import Backward, ErrorRaised, RequiresGrad, ZeroGrad
from gradscope.graph import Flow
from gradscope.model import Event, Parameter

_STATES = {
    "none": "None", "fresh": "a gradient that no step has used yet", "used": "the gradient that the last step used",
    "stale": "a sum with a gradient that a step had used before", "zero": "zeros",
}  # fmt: skip


def explain_parameter(flow: Flow, parameter: Parameter, name: str = "") -> Answer:
    """The answer for one parameter, or for another leaf that goes by `name`."""
    name = name or parameter_name(flow.trace, parameter.id)
    answer = Answer(name, "", _measured(flow, parameter), parameter=parameter)
    value = _value_of(flow, parameter)
    stop = next((s for s in stops(flow.trace) if parameter.id in s.parameters), None)
    if stop is not None:
        _stopped(flow, parameter, name, stop, answer)
    elif (
        late := next((one for one in too_late(flow.trace) if parameter.id in one.leaves), None)
    ) is not None:
        _too_late(name, late, answer)
    elif parameter.passes and (off := frozen_behind(flow.trace, parameter.id)) is not None:
        _frozen_behind(flow, name, off, answer)
    elif parameter.passes:
        _received(flow, parameter, name, value, answer)
    elif paths(flow.trace).has_gradient(parameter):
        _by_hand(flow, parameter, name, answer)
    elif not parameter.requires_grad:
        _frozen(flow, parameter, name, answer)
    elif value is None or not flow.consumers.get(value):
        answer.headline = f"`{name}` has no gradient: no captured operation read it"
        answer.step(parameter.site, "first seen here", main=True)
    else:
        _missing(flow, parameter, name, value, answer)
    return shortened(answer)


def _value_of(flow: Flow, parameter: Parameter) -> int | None:
    """The value that it was in the forward (initialising it in place makes others)."""
    values = [v for v, id in flow.parameter_of.items() if id == parameter.id]
    reached = [v for v in values if v in flow.reached_leaves]
    trained = [v for v in values if v in flow.leaf_of.values()]
    used = [v for v in values if v in flow.consumers]
    return next(iter([*reached, *trained[::-1], *used[::-1], *values]), None)


def _measured(flow: Flow, parameter: Parameter) -> list[str]:
    total = flow.trace.summary["passes"]
    reached = f"{parameter.passes} of {total} backward passes reached it"
    facts = [f"it is a leaf, requires_grad is {parameter.requires_grad}; {reached}"]
    if parameter.grad_norm is not None:
        facts.append(f"the last gradient measured has norm {parameter.grad_norm:.4g}")
    if parameter.grad != "none" or not parameter.passes or _cleared(flow, parameter):
        when = "at the end" if flow.trace.program.get("ended", True) else "as last noted"
        facts.append(f"{when} `.grad` is {_STATES.get(parameter.grad, parameter.grad)}")
    if parameter.passes or parameter.steps:
        facts.append(f"{parameter.steps} optimizer steps used a gradient of it")
    elif flow.trace.optimizers:
        facts.append("an optimizer holds it" if parameter.optimizers else "no optimizer holds it")
    return facts


def _cleared(flow: Flow, parameter: Parameter) -> list[Event]:
    return [e for e in flow.trace.of(ZeroGrad) if parameter.id in (e.parameters)]


def _received(flow: Flow, parameter: Parameter, name: str, value: int | None, answer: Answer) -> None:
    answer.headline = f"`{name}` gets its gradient by the way below"
    way = _way_to(flow, value) if value is not None else []
    if not way:
        answer.headline = f"`{name}` got a gradient in a pass whose graph was not captured in full"
        answer.step(parameter.site, "first seen here")
    zero = _cleared(flow, parameter)
    if zero and parameter.grad == "none":
        answer.headline = f"`{name}` got gradients, and none is left: `.grad` was set to None after that"
        answer.step(zero[-1].site, "`.grad` is cleared here", main=True)
    if way and value is not None:
        _walk_down(flow, way, value, answer)


def _by_hand(flow: Flow, parameter: Parameter, name: str, answer: Answer) -> None:
    """Its gradient came into no `.grad`, or not from a pass."""
    known = paths(flow.trace)
    passes = (
        event
        for event in known.backwards
        for value in event.inputs
        if known.parameter_of((event.graph, value)) is parameter
    )
    if (asked := next(passes, None)) is not None:
        answer.headline = f"`{name}` gets its gradient from a pass that was asked for it and fills no `.grad`"
        answer.step(asked.site, "gives the gradients of its `inputs` back", main=True)
    else:
        answer.headline = (
            f"`{name}` gets its gradient by the program's own hand: no backward pass gave it one"
        )
        answer.step(parameter.site, "first seen here", main=True)


def _way_to(flow: Flow, value: int) -> list[int]:
    """Grad nodes from a root of a backward pass to the leaf, the shortest way."""
    goal = next((node for node, leaf in flow.leaf_of.items() if leaf == value and node in flow.reached), None)
    way: list[int] = []
    while goal is not None:
        way.append(goal)
        goal = flow.before[goal]
    return way[::-1]


def _walk_down(flow: Flow, way: list[int], value: int, answer: Answer) -> None:
    starts = {flow.value_node[v]: e for v, e in flow.roots.items()}
    if (event := starts.get(way[0])) is not None:
        answer.step(event.site, "the gradient starts here")
    ops = (op for node in way[:-1] if (op := flow.node_op[node]) is not None)
    lines = [list(held) for _, held in groupby(ops, lambda op: flow.lines[op])]
    for number, held in enumerate(lines):
        if MAX_STEPS <= number < len(lines) - MAX_STEPS:  # only counted
            answer.steps.append(Step(flow.ops[held[0]].site, ""))
            continue
        told = set()
        for op in held:
            call = flow.ops[op].site.id, flow.ops[op].name
            if call in told and value not in flow.inputs[op]:
                continue  # another round of a loop
            told.add(call)
            named = [f"`{n}`" for v in flow.outputs[op] if (n := flow.name(v)) is not None]
            made = f" to {' and '.join(dict.fromkeys(named))}" if named else ""
            label = f"through `{op_name(flow.ops[op].name)}`{made}"
            answer.step(
                flow.ops[op].site, label if value not in flow.inputs[op] else f"reaches {spoken(flow, value)}"
            )


def _frozen(flow: Flow, parameter: Parameter, name: str, answer: Answer) -> None:
    answer.headline = f"`{name}` has no gradient: it does not require one"
    off = [e for e in flow.trace.of(RequiresGrad) if not e.to and parameter.id in e.leaves]
    if off:
        answer.step(off[-1].site, "requires_grad is switched off here", main=True)
        line = located(flow.trace, off[-1].site.user, "the line that switches it off")
        answer.fix = (
            f"if it should be trained, leave {line} out, or set `requires_grad_(True)` before the forward"
        )
    else:
        answer.step(parameter.site, "first seen here, without requires_grad")
        answer.fix = "if it should be trained, set `requires_grad_(True)` before the forward"


def _too_late(name: str, late: Late, answer: Answer) -> None:
    answer.headline = (
        f"`{name}` got a gradient in the first pass only: each later one finds it frozen, since it is switched on"
        " again when the pass is over"
    )
    answer.step(late.off.site, "requires_grad is switched off here")
    if late.forward is not None:
        answer.step(late.forward, "the next forward finds it frozen")
    answer.step(late.backward, "no gradient comes to it")
    answer.step(late.on, "requires_grad is switched on again here, too late for this pass", main=True)


def _frozen_behind(flow: Flow, name: str, off: Event, answer: Answer) -> None:
    """It had a gradient, and too few for the loss of it to be called a stop."""
    answer.headline = f"`{name}` gets no gradient any more: requires_grad was switched off"
    answer.step(set_at(flow.trace, off), "requires_grad is switched off here", main=True)


def _stopped(flow: Flow, parameter: Parameter, name: str, stop: Stop, answer: Answer) -> None:
    """It had gradients, and has none from some step on."""
    answer.seen.append(stop.seen(flow.trace, [parameter.id]))
    end = lost(flow.trace).get(parameter.id)
    if end is not None and end.known.stop is stop:
        _cut_off(flow, parameter, name, end, answer, f" since step {stop.step}")
        return
    off = frozen(flow.trace, stop).get(parameter.id)
    reason = "no loss depends on it" if off is None else "requires_grad was switched off"
    answer.headline = f"`{name}` has no gradient since step {stop.step}: {reason} from there on"
    froze = set_at(flow.trace, off) if off is not None else None
    if froze is not None:
        answer.step(froze, "requires_grad is switched off here", main=True)
    answer.step(stop.site, "steps without it", main=froze is None)


def _cut_off(flow: Flow, parameter: Parameter, name: str, end: End, answer: Answer, since: str = "") -> None:
    read = next(iter(end.known.uses(parameter.id)), None)
    site = end.wrapped or end.op.site
    where = names_of(flow.trace).place(site.user)
    answer.headline = f"`{name}` has no gradient{since}: on its way to the loss it is cut off at {where}"
    if read is not None:
        answer.step(read.site, f"`{name}` is read here")
    if end.wrapped is not None and end.wrapped.user.location() != end.op.site.user.location():
        answer.step(end.op.site, _cut_words(flow, end))
        answer.step(end.wrapped, "the graph ends here: a new tensor is made of the numbers", main=True)
    else:
        answer.step(end.op.site, f"the graph ends here: {_cut_words(flow, end)}", main=True)
    _loss(flow, answer, end.loss)


def _missing(flow: Flow, parameter: Parameter, name: str, value: int, answer: Answer) -> None:
    known = paths(flow.trace)
    if parameter.id in known.unfinished:
        raised = [e for e in flow.trace.of(ErrorRaised) if parameter.id in known.on_the_way(e)]
        _raised(name, raised[-1], answer)
        return
    if (end := end_of(flow.trace, parameter)) is not None:
        _cut_off(flow, parameter, name, end, answer)
        return
    consumers = [flow.ops[index] for index in flow.consumers[value]]
    used = [op for op in consumers if not op.writes]  # not how it was given its first numbers
    read = next(iter([*paths(flow.trace).uses(parameter.id), *used]), consumers[0])
    if not flow.backwards:
        answer.headline = f"`{name}` has no gradient: no backward pass ran on what was computed from it"
        answer.step(read.site, f"`{name}` is read here", main=True)
        return
    if value in flow.reached_leaves:
        _reached_but_empty(flow, name, value, answer)
        return
    answer.step(read.site, f"`{name}` is read here")
    if value in flow.feeds_root:
        answer.headline = (
            f"`{name}` has no gradient, though the loss was computed from it: why could not be told"
        )
        _loss(flow, answer)
    else:
        answer.headline = f"`{name}` has no gradient: nothing that was computed from it is part of a loss"
        last = _last_use(flow, value)
        label = f"the last that is computed from it: {spoken(flow, last)}"
        maker = flow.maker[last]
        answer.step(flow.ops[maker].site if maker is not None else None, label, main=True)
        _loss(flow, answer)


def _reached_but_empty(flow: Flow, name: str, value: int, answer: Answer) -> None:
    errors = [e for e in flow.backwards if isinstance(e, ErrorRaised)]
    passes = [e for e in flow.backwards if isinstance(e, Backward)]
    grads = [e for e in passes if e.call == "grad" or e.inputs]
    way = _way_to(flow, value)
    if errors:
        _raised(name, errors[-1], answer)
    elif grads:
        answer.headline = f"`{name}` has no `.grad`: the pass was asked for other gradients only"
        answer.step(
            grads[-1].site, "gives the gradients of its `inputs`, and fills no other `.grad`", main=True
        )
    else:
        answer.headline = (
            f"`{name}` has no gradient, though a way leads to it: an operation on it gave None back"
        )
        _walk_down(flow, way, value, answer)


def _raised(name: str, event: ErrorRaised, answer: Answer) -> None:
    answer.headline = f"`{name}` has no gradient: the backward pass failed before it was complete"
    answer.step(event.site, event.text.split("\n")[0], main=True)


def _cut_words(flow: Flow, end: End) -> str:
    """Why no gradient passes the cut that the rules found."""
    at = (end.op.graph, end.op.index)
    index = next((i for i, op in enumerate(flow.ops) if (op.graph, op.index) == at), None)
    if end.kind == "numpy" and end.op.cut in ("detach", "data"):
        return f"the value leaves torch for numpy, behind `{op_name(end.op.name)}`"
    if index is not None and end.op.cut is not None:
        return cut_words(flow, index)
    return f"{rule_words(end.op, end.kind)} passes no gradient"


def _loss(flow: Flow, answer: Answer, event: Event | None = None) -> None:
    event = event or (flow.backwards[-1] if flow.backwards else None)
    if event is not None:
        answer.step(event.site, "the backward pass starts here")


def _last_use(flow: Flow, value: int) -> int:
    """The last value computed from this one."""
    touched = {value}
    last = value
    for index, inputs in enumerate(flow.inputs):
        if any(v in touched for v in inputs):
            touched.update(flow.outputs[index])
            last = flow.outputs[index][-1] if flow.outputs[index] else last
    return last
