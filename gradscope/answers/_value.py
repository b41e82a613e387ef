"""Why a value requires grad, or does not; why its `.grad` is None."""

from __future__ import annotations

from collections.abc import Callable

from gradscope.analysis.names import names_of, op_name, shape_words
from gradscope.answers._answer import Answer, cut_words, opening, region_of, shortened, spoken
from gradscope.events import ErrorRaised, RequiresGrad
from gradscope.graph import Flow


def explain_value(flow: Flow, value: int, subject: str, at: bool = False) -> Answer:
    """The answer for one value; at: `subject` is a place, not its name."""
    shown = f"{spoken(flow, value)} at {subject}" if at else f"`{subject}`"
    answer = Answer(subject, "", _measured(flow, value))
    if flow.values[value].requires_grad:
        _with_grad(flow, value, shown, answer)
    else:
        _without_grad(flow, value, shown, answer)
    _refused(flow, value, answer)
    return shortened(answer)


def _measured(flow: Flow, value: int) -> list[str]:
    held = flow.values[value]
    shape = shape_words(held.shape)
    facts = [
        f"requires_grad is {held.requires_grad}, is_leaf is {held.is_leaf} ({shape} {held.dtype}"
        + (f" on {held.device})" if held.device != "cpu" else ")")
    ]
    node = flow.value_node[value]
    if not held.is_leaf and node is not None:
        facts.append(f"its grad_fn is {flow.nodes[node].name}")
    if held.requires_grad and flow.backwards:
        reached = node in flow.reached or value in flow.reached_leaves
        facts.append("a backward pass went through it" if reached else "no backward pass went through it")
    return facts


def _with_grad(flow: Flow, value: int, shown: str, answer: Answer) -> None:
    held = flow.values[value]
    maker = flow.maker[value]
    if held.is_leaf and maker is not None and flow.ops[maker].cut in ("no_grad", "inference_mode"):
        answer.headline = f"{shown} is a view without a graph: {cut_words(flow, maker)}"
        _open_region(flow, maker, answer)
        answer.step(flow.ops[maker].site, "the graph ends here", main=True)
        answer.seen.append("torch says of a view what it says of the tensor that it shows")
        return
    if held.is_leaf:
        answer.headline = (
            f"{shown} requires grad because it was asked to: it is a leaf, its gradient lands in `.grad`"
        )
        site = flow.ops[maker].site if maker is not None else held.site
        changes = [e for e in flow.events if isinstance(e, RequiresGrad) and e.to]
        on = [e for e in changes if flow.joined.get((e.graph, e.value)) == value]
        answer.step(
            on[-1].site if on else site, "requires_grad is set here" if on else "made here", main=True
        )
        return
    way = _way_up(flow, value, lambda v: flow.values[v].requires_grad and flow.values[v].is_leaf)
    if not way:
        answer.headline = f"{shown} requires grad: its graph was begun in an earlier step"
        answer.step(held.site, "first seen here", main=True)
    else:
        answer.headline = (
            f"{shown} requires grad because {spoken(flow, way[-1])} does, which it was computed from"
        )
        _along(flow, way[::-1], answer)
    if not flow.values[value].shape and value in flow.roots:
        return
    answer.fix = "it is not a leaf: `.grad` stays None. Call `.retain_grad()` on it before backward to see its gradient"


def _without_grad(flow: Flow, value: int, shown: str, answer: Answer) -> None:
    maker = flow.maker[value]
    if maker is None:
        answer.headline = f"{shown} does not require grad: it is a leaf that was never asked to"
        answer.step(flow.values[value].site, "first seen here", main=True)
        return
    if flow.ops[maker].cut is not None:
        answer.headline = f"{shown} does not require grad: {cut_words(flow, maker)}"
        before = [v for v in flow.inputs[maker] if flow.values[v].requires_grad]
        if before:
            _origin(flow, before[0], answer)
        _open_region(flow, maker, answer)
        answer.step(flow.ops[maker].site, "the graph ends here", main=True)
        return
    way = _way_up(flow, value, lambda v: (m := flow.maker[v]) is not None and flow.ops[m].cut is not None)
    if way:
        cut = flow.maker[way[-1]]
        assert cut is not None
        answer.headline = (
            f"{shown} does not require grad: what it was computed from is cut off at "
            f"{names_of(flow.trace).place(flow.ops[cut].site.user)}, where {cut_words(flow, cut)}"
        )
        _open_region(flow, cut, answer)
        _along(flow, way[::-1], answer, first="the graph ends here", main=True)
        return
    leaves = [v for v in sorted(flow.upstream([value])) if flow.maker[v] is None and v != value]
    names = list(dict.fromkeys(spoken(flow, v) for v in leaves))
    if not flow.inputs[maker]:
        answer.headline = f"{shown} does not require grad: it was made without `requires_grad=True`"
    elif names:
        listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        answer.headline = f"{shown} does not require grad: nothing it was computed from does ({listed})"
    else:
        answer.headline = f"{shown} does not require grad: nothing it was computed from does"
    answer.step(flow.ops[maker].site, "made here", main=True)


def _origin(flow: Flow, value: int, answer: Answer) -> None:
    """Says where what is cut off came from."""
    maker = flow.maker[value]
    site = flow.ops[maker].site if maker is not None else flow.values[value].site
    answer.step(site, f"{spoken(flow, value)} still requires grad here")


def _open_region(flow: Flow, op: int, answer: Answer) -> None:
    region = region_of(flow, op)
    if region is None or region.site.kind == "torch":
        return
    if flow.ops[op].cut in ("no_grad", "inference_mode"):
        answer.step(opening(region), "gradients are switched off from here on")


def _along(flow: Flow, way: list[int], answer: Answer, first: str = "", main: bool = False) -> None:
    """The lines that lead from the first value of `way` to its last."""
    for number, value in enumerate(way):
        maker = flow.maker[value]
        site = flow.ops[maker].site if maker is not None else flow.values[value].site
        if number == 0:
            leaf = f"{spoken(flow, value)} is a leaf that requires grad" if maker is not None else ""
            if maker is None and number + 1 < len(way):
                user = flow.maker[way[number + 1]]
                site = flow.ops[user].site if user is not None else site
                leaf = f"{spoken(flow, value)}, which requires grad, is read here"
            answer.step(site, first or leaf, main=main)
        elif maker is not None:
            name = flow.name(value)
            label = f"`{op_name(flow.ops[maker].name)}`" + (f" makes `{name}`" if name is not None else "")
            answer.step(site, label)


def _way_up(flow: Flow, value: int, wanted: Callable[[int], bool]) -> list[int]:
    """The shortest way against the data from `value` to a value that is `wanted`, along
    values that agree in requires_grad; empty where there is none."""
    grad = flow.values[value].requires_grad
    after: dict[int, int | None] = {value: None}
    todo = [value]
    for current in todo:  # grows while it is walked: breadth first
        if wanted(current):
            way = []
            step: int | None = current
            while step is not None:
                way.append(step)
                step = after[step]
            return way[::-1]
        maker = flow.maker[current]
        for source in flow.inputs[maker] if maker is not None else ():
            if source not in after and flow.values[source].requires_grad == grad:
                after[source] = current
                todo.append(source)
    return []


def _refused(flow: Flow, value: int, answer: Answer) -> None:
    for event in flow.backwards:
        roots = [flow.joined.get((event.graph, v)) for v in event.inputs]
        if isinstance(event, ErrorRaised) and value in roots:
            text = event.text.strip().split("\n")[0]
            answer.step(event.site, f"so torch refuses: {text}")
            return


def explain_number(flow: Flow, op: int, name: str) -> Answer:
    """The answer for a plain number that an op took out of a tensor."""
    taken = f"`{op_name(flow.ops[op].name)}` takes the plain value out of the graph"
    answer = Answer(name, f"`{name}` is no tensor, so it has no gradient: {taken}")
    answer.step(flow.ops[op].site, "the value leaves the graph here", main=True)
    return answer
