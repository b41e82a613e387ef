"""A derivative of the network stands in a residual without its graph, beside others that have one.

Why: `autograd.grad` gives numbers alone unless it is asked for a graph, by `create_graph=True`; `retain_graph=True`
keeps the graph that it went through, and makes none. In the residual of a differential equation such a derivative is a
constant of each step: the loss has the right value, and its gradient is that of another equation.

Fix: `create_graph=True` for every derivative that the loss is made of.

Measured: the derivative was taken of what trained parameters gave, by the network's input or where one of the two came
by way of a derivative that has its graph, and is added to other values of that network in the same expression. Silent
on: derivatives that only weigh or move something (adversarial samples, first-order fast weights, a balance of losses),
and derivatives of another network.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.cuts import differentiates
from gradscope.analysis.ops import ADDITIONS, COMPARING_LOSSES, NEGATIONS, PASSING, SCALES, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.calls import with_argument
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.rand(32, 1, requires_grad=True)
        u = net(x)
        (u_x,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), x, retain_graph=True)  # cause: GS399
        loss = (u_xx + u_x + u).pow(2).mean() + (net(torch.zeros(1, 1)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS399
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.rand(32, 1, requires_grad=True)
        u = net(x)
        (u_x,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
        loss = (u_xx + u_x + u).pow(2).mean() + (net(torch.zeros(1, 1)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Beside(NamedTuple):
    """What a derivative without a graph is added to."""

    sum: Op
    other: Key
    parameters: frozenset[int]  # that both come from


@rule("GS399", name="derivative-without-its-graph", severity="warning")
def derivative_without_its_graph(trace: Trace) -> Iterator[Finding]:
    if "grad" not in trace.op_names:
        return
    known, told = paths(trace), set[tuple[str, int]]()
    for number in dict.fromkeys(event.graph for event in known.backwards if event.call == "grad"):
        graph = known.graph(number)
        for op in graph.called({"grad"}) if number >= 0 else ():
            place = op.site.user.location()
            beside = _beside(known, graph, op) if place not in told and differentiates(op) else None
            loss = known.loss_of((number, beside.sum.outputs[0])) if beside is not None else None
            if beside is not None and loss is not None and loss.call == "backward":
                told.add(place)
                yield _finding(trace, known, loss, op, beside)


def _beside(known: Paths, graph: Graph, op: Op) -> _Beside | None:
    """The sum with values of the same network that have their graph."""
    differentiated, *asked = op.inputs
    trained = _trained(known, (graph.id, differentiated))
    if not trained:
        return None
    by_data = not _trained(known, *((graph.id, value) for value in asked))
    suffices = by_data or _by_a_derivative(graph, differentiated)
    for value, reader in graph.readers_behind(op.outputs, _is_pointwise):
        if reader.name not in ADDITIONS | SUBTRACTIONS | COMPARING_LOSSES or len(reader.inputs) != 2:
            continue
        other = next((i for i in reader.inputs if i != value), None)
        if other is None or not graph.values[other].requires_grad:
            continue
        both = known.reach([(graph.id, other)]).parameters & trained
        if both and (suffices or _by_a_derivative(graph, other)):
            return _Beside(reader, (graph.id, other), frozenset(both))
    return None


def _trained(known: Paths, *keys: Key) -> set[int]:
    """The parameters with steps that these values were computed from."""
    return {id for id in known.fed_by(*keys) if known.parameters[id].steps}


def _is_pointwise(op: Op) -> bool:
    return op.name in ADDITIONS | SUBTRACTIONS | SCALES | NEGATIONS | PASSING


def _by_a_derivative(graph: Graph, value: int) -> bool:
    """Whether it came by way of a call of `autograd.grad` that gave its result a graph."""
    makers = (graph.maker(one) for one in (value, *graph.upstream(value)))
    return any(op is not None and op.name == "grad" and op.extra.get("create_graph") for op in makers)


def _finding(trace: Trace, known: Paths, event: Backward, op: Op, beside: _Beside) -> Finding:
    here, ids = op.site.user, sorted(beside.parameters)
    kept = "retain_graph" in code(trace, here)
    return Finding(
        message=f"{code(trace, here, '`autograd.grad`')} gives a derivative without its graph, and the loss sets it"
        " beside what the same network gives with one: nothing is learned through it",
        cause=here,
        cause_label="`retain_graph` makes no graph of the result" if kept else "makes no graph of its result",
        effect=event.site.user,
        effect_label="goes back through the other terms of the expression alone",
        related=((beside.sum.site.user, "stands here beside what has a graph"),),
        seen=(
            f"in {passes(known.alike(event))} of this line; the derivative is of what {parameter_names(trace, ids)}"
            " gave",
        ),
        fix=f"add `create_graph=True` to {located(trace, here)}: what it gives is then a part of the graph",
        edits=with_argument(trace, here, "create_graph", "True"),
        count=known.alike(event),
        subjects=parameter_subjects(ids),
    )
