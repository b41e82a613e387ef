"""New weights that carry the graph of an inner update are copied into the parameters: the graph ends there.

Why: `load_state_dict()`, `copy_()` under `no_grad` and `vector_to_parameters()` copy numbers. The loss that is computed
next knows the new weights as constants: its gradient is that at the new place, and nothing of how they came about. The
graph that `create_graph=True` has built is never gone through; what was to be the gradient through the update is of
first order.

Fix: run the model with the new weights themselves: `torch.func.functional_call(model, weights, (x,))`.

Measured: what was written to a trained parameter has a graph, through gradients that were computed with
`create_graph=True`, and no pass goes through it.
Silent on: updates without `create_graph` (first-order methods); weights that a pass does go through, and that are
copied as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural
from gradscope.events import Backward, Update
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.reach._with_graph import keeps_graph, passes_with_graph
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    net = nn.Linear(3, 1)
    meta = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(4):
        old = {name: value.clone() for name, value in net.state_dict().items()}
        inner = net(torch.randn(8, 3)).pow(2).mean()
        slopes = torch.autograd.grad(inner, list(net.parameters()), create_graph=True)  # effect: GS322
        new = {name: p - 0.1 * g for (name, p), g in zip(net.named_parameters(), slopes, strict=True)}
        net.load_state_dict(new)  # cause: GS322
        meta.zero_grad()
        net(torch.randn(8, 3)).pow(2).mean().backward()
        net.load_state_dict(old)
        meta.step()


def good() -> None:
    import torch
    from torch import nn

    net = nn.Linear(3, 1)
    meta = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(4):
        inner = net(torch.randn(8, 3)).pow(2).mean()
        slopes = torch.autograd.grad(inner, list(net.parameters()), create_graph=True)
        new = {name: p - 0.1 * g for (name, p), g in zip(net.named_parameters(), slopes, strict=True)}
        meta.zero_grad()
        torch.func.functional_call(net, new, (torch.randn(8, 3),)).pow(2).mean().backward()
        meta.step()


@rule("GS322", name="graph-ends-in-copy", severity="warning", over=("GS604", "GS302"))
def graph_ends_in_copy(trace: Trace) -> Iterator[Finding]:
    if not any(event.create_graph for event in trace.of(Backward)):
        return
    known = paths(trace)
    assigned = _assigned(trace)
    found: dict[tuple[str, int], tuple[Op, Op, set[int]]] = {}
    unmet: dict[tuple[str, int], set[int]] = {}  # parameters that pass their gradient on by this graph alone
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.ops:
            targets, value = _written(known, graph, op, assigned)
            grad = _update(known, graph, value) if targets else None
            if grad is not None:
                place = op.site.user.location()
                found.setdefault(place, (op, grad, set()))[2].update(targets)
                behind = known.behind((graph.id, value))
                unmet.setdefault(place, set()).update(id for id in behind if not known.parameters[id].passes)
    for place, (copy, grad, ids) in found.items():
        yield _finding(trace, copy, grad, ids, unmet[place])


def _assigned(trace: Trace) -> dict[tuple[str, int], set[int]]:
    """Where the program gives parameters other numbers by `p.data = …`, with the parameters."""
    found: dict[tuple[str, int], set[int]] = {}
    for event in trace.of(Update):
        if event.how == "assigned":
            found.setdefault(event.site.location(), set()).add(event.parameter)
    return found


def _written(
    known: Paths, graph: Graph, op: Op, assigned: dict[tuple[str, int], set[int]]
) -> tuple[set[int], int]:
    """The trained parameters that an op copies into without a graph, or makes the new numbers for; and of what."""
    if op.name == "data" and op.cut and len(op.inputs) == 1 and not graph.consumers.get(op.outputs[0]):
        ids = assigned.get(op.site.location(), set())
        return {id for id in ids if known.parameters[id].passes}, op.inputs[0]
    if op.name != "copy_" or op.nodes or len(op.inputs) != 2 or not op.writes:
        return set(), -1
    parameter = known.parameter_of((graph.id, known.memory(graph.id, op.writes[0])))
    return {parameter.id} if parameter is not None and parameter.passes else set(), op.inputs[1]


def _update(known: Paths, graph: Graph, value: int) -> Op | None:
    """The gradients with a graph that a value was made of, where no pass goes through it."""
    node = graph.values[value].node
    if node is None or (graph.id, node) in known.reached.nodes:
        return None
    made = (known.maker(key) for key in known.flow([(graph.id, value)]).order)  # a pass may stand between
    return next((op for op in made if op is not None and keeps_graph(op)), None)


def _finding(trace: Trace, copy: Op, grad: Op, ids: set[int], unmet: set[int]) -> Finding:
    site, line = copy.site.user, grad.site.user.location()
    text, names = code(trace, site, "the copy"), parameter_names(trace, sorted(ids))
    times = passes_with_graph(trace, line)
    return Finding(
        message=f"{text} copies numbers into {names}: the graph of the update that they come from ends there",
        cause=site,
        cause_label="what is computed with them from here on takes them for constants",
        effect=grad.site.user,
        effect_label="builds a graph that no pass goes through",
        seen=(
            *(
                (f"{parameter_names(trace, sorted(unmet))} would get a gradient by that graph alone",)
                if unmet
                else ()
            ),
            f"what was copied into {names} had a graph, over gradients of {plural(times, 'pass')} with"
            " `create_graph=True`; no pass of the run went through it",
        ),
        fix=f"do not copy in {located(trace, site)}: run the model with the new weights themselves, as"
        " `torch.func.functional_call(model, weights, (x,))`; where gradients of first order are meant, leave"
        " `create_graph=True` out",
        count=times,
        subjects=parameter_subjects(ids | unmet) | {("retain", line)},
    )
