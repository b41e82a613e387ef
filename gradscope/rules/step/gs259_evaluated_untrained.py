"""A part of a model is evaluated with the weights that it began with: no optimizer holds it.

Why: a model that is put together of a trained part and a new one computes with random numbers where the new part has
weights of its own. Nothing fails: the shapes fit, and the answers are as good as drawn.

Fix: train it: a loss of the whole model, and an optimizer that has its parameters, too; or load weights into it.

Measured: parameters that require a gradient, that no optimizer holds, no pass filled and nothing wrote to, which are
read after steps of others and without a graph, together with what these trained. Silent on: copies, parts that also
took part where gradients were recorded, or made what others are trained with; results that nothing goes on with.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.calls import Call, Calls, calls
from gradscope.analysis.ops import FILLS
from gradscope.analysis.text import nodes_of_functions
from gradscope.analysis.words import code, located, optimizer_name, parameter_names, parameter_subjects
from gradscope.events import Step
from gradscope.model import Finding, Op, Parameter
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
    head, relation = nn.Linear(8, 3), nn.Sequential(trunk, nn.Linear(8, 2))
    opt = torch.optim.Adam([*trunk.parameters(), *head.parameters()], lr=0.01)  # effect: GS259
    for _ in range(4):
        x = torch.randn(16, 6)
        loss = nn.functional.cross_entropy(head(trunk(x)), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(relation(torch.randn(8, 6)).argmax(1).tolist())  # cause: GS259


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
    head, relation = nn.Linear(8, 3), nn.Sequential(trunk, nn.Linear(8, 2))
    opt = torch.optim.Adam([*relation.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 6)
        loss = nn.functional.cross_entropy(head(trunk(x)), x[:, :3].argmax(1))
        loss = loss + nn.functional.cross_entropy(relation(x), (x[:, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(relation(torch.randn(8, 6)).argmax(1).tolist())


@rule("GS259", name="evaluated-untrained", severity="warning")
def evaluated_untrained(trace: Trace) -> Iterator[Finding]:
    first = min((event.segment for event in trace.of(Step)), default=None)
    idle = {p.id: p for p in trace.parameters if _is_idle(p) and _is_new(p)}
    if first is None or not idle or _sets_data(trace):
        return
    known = calls(trace)
    idle = {number: p for number, p in idle.items() if number not in known.paths.feeding}
    reads = _reads(trace, idle, first)
    results = {n: {(op.graph, i) for op in ops for i in op.outputs} for n, ops in reads.items()}
    told: set[tuple[str, int]] = set()
    for call in known.all:
        event = call.event
        if not results or event.grad or event.segment < first or call.entry.location() in told:
            continue
        flow = known.paths.flow(known.outputs(event)).order
        mine = [idle[n] for n, made in results.items() if made & flow.keys()]
        if not mine:
            continue
        within = set().union(*(results[p.id] for p in mine))
        parts = [out for out in known.outputs(event) if within & known.paths.flow([out]).order.keys()]
        if not known.consumed(event, parts):
            continue
        behind = (known.paths.parameter_of(key) for key in flow if known.paths.value(key).is_leaf)
        trained = {p.id: p for p in behind if p is not None and p.steps}
        if trained:
            told.add(call.entry.location())
            yield _finding(trace, known, call, mine, list(trained.values()))


def _is_idle(parameter: Parameter) -> bool:
    touched = parameter.passes or parameter.steps or parameter.updates or parameter.optimizers
    return parameter.requires_grad and parameter.registered and parameter.module is not None and not touched


def _is_new(parameter: Parameter) -> bool:
    """Whether the constructor of a layer made it: not a copy of another, nor what was read from a file."""
    frames = parameter.site.stack if parameter.site is not None else ()
    return (
        bool(frames)
        and frames[-1].function.endswith("__init__")
        and not any("deepcopy" in f.function for f in frames)
    )


def _sets_data(trace: Trace) -> bool:
    """Whether the program gives some tensor other numbers by `x.data = y`: that is no write that is seen."""
    return any(
        isinstance(target, ast.Attribute) and target.attr == "data"
        for _, _, node in nodes_of_functions(trace, ast.Assign)
        for target in node.targets
    )


def _reads(trace: Trace, idle: dict[int, Parameter], first: int) -> dict[int, list[Op]]:
    """Of those that are read without a graph, after the first step, and never otherwise: the calls that do."""
    found: dict[int, list[Op]] = {}
    other: set[int] = set()
    serial = {segment.graph: segment.index for segment in reversed(trace.segments)}
    for graph in trace.graphs:
        for op in graph.ops:
            for index in {*op.inputs, *op.writes}:
                number = graph.values[index].parameter
                if number not in idle:
                    continue
                if index in op.writes:
                    other |= {number} if op.name not in FILLS else set()
                elif op.nodes or serial.get(graph.id, 0) < first:
                    other.add(number)
                else:
                    found.setdefault(number, []).append(op)
    return {number: ops for number, ops in found.items() if number not in other}


def _finding(
    trace: Trace, known: Calls, call: Call, idle: list[Parameter], trained: list[Parameter]
) -> Finding:
    number = next((n for p in trained for n in p.optimizers), None)
    holder = trace.optimizers.get(number) if number is not None else None
    ids = [p.id for p in idle]
    names, place = parameter_names(trace, ids), call.entry
    made = holder.site.user if holder is not None and holder.site is not None else None
    holds = f"`{known.name(call.event).strip('`')}.parameters()`"
    return Finding(
        message=f"{names} {'is' if len(ids) == 1 else 'are'} evaluated as {'it' if len(ids) == 1 else 'they'} began: no"
        " optimizer has them, and no pass went through them",
        cause=place,
        cause_label="computes with random weights",
        effect=made,
        effect_label="does not have them",
        seen=(
            "no pass put a gradient into them, nothing wrote to them, and no call with gradients on read them",
            f"{code(trace, place, 'the model')} computes with them and with"
            f" {parameter_names(trace, [p.id for p in trained], 1)}, which {optimizer_name(trace, number)} trained",
        ),
        fix=f"train them before {located(trace, place)}: a loss of what that gives, and an optimizer that holds"
        f" {holds}; or load their weights",
        subjects=parameter_subjects(ids),
    )
