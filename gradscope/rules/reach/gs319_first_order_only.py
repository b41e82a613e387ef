"""An inner update uses gradients without a graph: the outer pass takes them for constants.

Why: `torch.autograd.grad(…)` gives plain numbers unless it is told `create_graph=True`. A pass that goes
back through `p - lr * g` then sees `p`, but not that `g` depends on it, too: the second order of the
outer gradient is missing.

Fix: `torch.autograd.grad(loss, parameters, create_graph=True)`; leave it as it is where the first order is
meant (it costs less).

Silent on: updates under `no_grad`, or of inputs (adversarial examples, sampling), gradients that no later pass
has a use for.
"""

from collections.abc import Iterator

from gradscope.analysis.memo import once
from gradscope.analysis.ops import CASTS, CLIPS, NEGATIONS, SCALES
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural
from gradscope.events import Backward
from gradscope.fixes.calls import with_argument
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    w = nn.Parameter(torch.randn(4))
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randn(8, 4)
        inner = (x @ w).pow(2).mean()
        (g,) = torch.autograd.grad(inner, [w])  # cause: GS319
        fast = w - 0.1 * g
        opt.zero_grad()
        (y @ fast - 1).pow(2).mean().backward()  # effect: GS319
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    w = nn.Parameter(torch.randn(4))
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randn(8, 4)
        inner = (x @ w).pow(2).mean()
        (g,) = torch.autograd.grad(inner, [w], create_graph=True)
        fast = w - 0.1 * g
        opt.zero_grad()
        (y @ fast - 1).pow(2).mean().backward()
        opt.step()


FURTHER = SCALES | CLIPS | CASTS | NEGATIONS


@rule("GS319", name="first-order-only", severity="note")
def first_order_only(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    passes = [e for e in known.backwards if e.call == "backward" and e.filled]
    found: dict[tuple[str, int], tuple[Op, Op, Backward, set[int]]] = {}
    places = {
        (event.graph, event.site.user.location()): event
        for event in known.backwards
        if event.call == "grad" and not event.create_graph
    }  # a pass for each sample, say
    second = {e.site.user.location() for e in known.backwards if e.call == "grad" and e.create_graph}
    for event in places.values():
        if event.site.user.location() in found or event.site.user.location() in second:
            continue  # an evaluation of what is trained to second order
        graph = known.graph(event.graph)
        for op in graph.called({"grad"}):
            if op.nodes or op.site.user.location() != event.site.user.location():
                continue
            updates = _updates(known, graph, op)
            if not updates:
                continue
            reached = known.reach([(one.graph, i) for one in updates for i in one.outputs]).parameters
            update = updates[0]
            through = next((p for p in passes if _goes_through(known, p, update)), None)
            ids = set(through.filled) & reached if through is not None else set()
            if through is not None and ids:
                found[op.site.user.location()] = op, update, through, ids
                break
    for op, update, through, ids in found.values():
        yield _finding(trace, op, update, through, ids)


def _updates(known: Paths, graph: Graph, grad: Op) -> list[Op]:
    """The calls that put one of the differentiated tensors and its gradient together, with a graph; also
    in the graphs that follow."""
    takers = _takers(known.trace)
    asked = {(graph.id, i) for i in grad.inputs[1:]}
    leaves = {p for i in grad.inputs[1:] if (p := graph.values[i].parameter) is not None}
    found: dict[tuple[int, int], Op] = {}
    todo = [(graph.id, i) for i in grad.outputs]
    seen = set(todo)
    while todo:
        for op in takers.get(todo.pop(), ()):
            at = op.graph, op.index
            if at <= (graph.id, grad.index):
                continue
            if op.nodes:
                values = known.graph(op.graph).values
                given = {key for i in op.inputs for key in ((op.graph, i), values[i].origin)}
                own = not asked.isdisjoint(given) or any(values[i].parameter in leaves for i in op.inputs)
                if own and op.outputs and (op.graph, op.outputs[0]) in known.used.order:
                    found[at] = op
            if not op.nodes or op.name in FURTHER:  # scaled, clipped; by a rate that is learned, too
                further = [key for i in op.outputs if (key := (op.graph, i)) not in seen]
                seen.update(further)
                todo += further
    return [found[at] for at in sorted(found)]


@once
def _takers(trace: Trace) -> dict[tuple[int, int], list[Op]]:
    """Value → the calls that it is given to, in its own graph or carried along to a later one. Made once: a run
    may have thousands of inner updates, each of which would go through all of its graphs."""
    known = paths(trace)
    takers: dict[tuple[int, int], list[Op]] = {}
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.ops:
            for i in dict.fromkeys(op.inputs):
                for key in ((number, i), graph.values[i].origin):
                    if key is not None:
                        takers.setdefault(key, []).append(op)
    return takers


def _goes_through(known: Paths, through: Backward, update: Op) -> bool:
    roots = [(through.graph, root) for root in through.roots]
    nodes = known.reach(roots).nodes
    return any((update.graph, node) in nodes for node in update.nodes)


def _finding(trace: Trace, op: Op, update: Op, through: Backward, ids: set[int]) -> Finding:
    names = parameter_names(trace, sorted(ids))
    asked = located(trace, op.site.user, "the gradients")
    return Finding(
        message=f"the gradients of {code(trace, op.site.user, 'the inner pass')} are constants for the pass that goes"
        f" back through the update: {names} {'learns' if len(ids) == 1 else 'learn'} to first order only",
        cause=op.site.user,
        cause_label="gives gradients without a graph",
        effect=through.site.user,
        effect_label="goes through the update, and not through the gradients in it",
        related=((update.site.user, "the update that the later loss is computed with"),)
        if update.site.user.location() != op.site.user.location()
        else (),
        seen=(
            f"the {plural(len(op.outputs), 'gradient')} had no graph; the later pass reached"
            f" {plural(len(ids), 'parameter')} through the update",
        ),
        fix=f"pass `create_graph=True` to {asked}, unless the first order is what is meant",
        edits=with_argument(trace, op.site.user, "create_graph", "True"),
        subjects=parameter_subjects(ids) | {("grad", op.site.user.location())},
    )
