"""An inner step makes weights that no loss uses.

Why: meta-learning takes a step on the task's own samples, `fast = weight - rate * gradient`, and asks of the stepped
weights how they do on others. A loss of those that is computed with the weights themselves is a loss of no step:
training goes on as if there were no inner loop.

Fix: compute the loss behind the inner step with what it gave, through `torch.func.functional_call(model, fast, x)` or
the layers as functions; with `create_graph=True` where the second derivative is to count.

Measured: nothing reads what a parameter less its own gradient gives, in none of the steps, and another pass trains
that parameter.
Silent on: steps that are written into the parameters, and weights that are read in some steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.dead_ends import taken_along
from gradscope.analysis.keeping import assigned
from gradscope.analysis.ops import SCALES, SUMS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural
from gradscope.events import Backward
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 3  # steps


def bad() -> None:
    import torch

    w = torch.zeros(6, 1, requires_grad=True)
    meta = torch.optim.Adam([w], lr=0.01)
    for _ in range(4):
        task, support, query = torch.randn(6, 1), torch.randn(16, 6), torch.randn(16, 6)
        error = (support @ w - support @ task).square().mean()
        (slope,) = torch.autograd.grad(error, [w], create_graph=True)
        fast = w - 0.1 * slope  # noqa: F841  # cause: GS274
        loss = (query @ w - query @ task).square().mean()
        meta.zero_grad()
        loss.backward()  # effect: GS274
        meta.step()


def good() -> None:
    import torch

    w = torch.zeros(6, 1, requires_grad=True)
    meta = torch.optim.Adam([w], lr=0.01)
    for _ in range(4):
        task, support, query = torch.randn(6, 1), torch.randn(16, 6), torch.randn(16, 6)
        error = (support @ w - support @ task).square().mean()
        (slope,) = torch.autograd.grad(error, [w], create_graph=True)
        fast = w - 0.1 * slope
        loss = (query @ fast - query @ task).square().mean()
        meta.zero_grad()
        loss.backward()
        meta.step()


@rule("GS274", name="inner-step-unused", severity="warning")
def inner_step_unused(trace: Trace) -> Iterator[Finding]:
    if "grad" not in trace.op_names:
        return
    known = paths(trace)
    if known.unseen:
        return  # a pass that was never looked at may go through the stepped weights
    unread: dict[tuple[str, int], dict[int, Site]] = {}
    counts: dict[tuple[str, int], int] = {}
    read: set[tuple[str, int]] = set()
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.called(SUMS):
            parameter = _stepped(known, graph, op)
            if parameter is None:
                continue
            line = op.site.user.location()
            if graph.consumers.get(op.outputs[0]) or (number, op.outputs[0]) in taken_along(trace):
                read.add(line)
            unread.setdefault(line, {})[parameter] = op.site.user
            counts[line] = counts.get(line, 0) + graph.count
    for line, ids in unread.items():
        passed = _trained_by(trace, set(ids))
        if line not in read and passed is not None and counts[line] >= ENOUGH * len(ids):
            yield _finding(trace, ids, counts[line] // len(ids), passed)


def _stepped(known: Paths, graph: Graph, op: Op) -> int | None:
    """The parameter that a call takes a step of: it adds to it a multiple of its own gradient, in a new tensor."""
    if (
        op.writes
        or len(op.inputs) != 2
        or len(op.outputs) != 1
        or not graph.values[op.outputs[0]].requires_grad
    ):
        return None
    sides = [(graph.id, index) for index in op.inputs]
    own = [known.parameter_of(side) for side in sides]
    for parameter, other in ((own[0], sides[1]), (own[1], sides[0])):
        if parameter is None or parameter.updates:
            continue
        made = known.maker_behind(other, SCALES)
        if made is not None and made.name == "grad":
            asked = [known.parameter_of((made.graph, index)) for index in made.inputs]
            return parameter.id if parameter in asked else None
    return None


def _trained_by(trace: Trace, ids: set[int]) -> Backward | None:
    """The pass whose gradients steps of these parameters use."""
    stepped = {id for id in ids if trace.parameter(id).steps}
    passed = (e for e in trace.of(Backward) if e.call == "backward" and stepped & set(e.filled))
    return next(passed, None)


def _finding(trace: Trace, ids: dict[int, Site], times: int, passed: Backward) -> Finding:
    place, names = next(iter(ids.values())), parameter_names(trace, sorted(ids))
    given = sorted(assigned(trace.source_file(place.path).statement(place)))
    made = f"`{given[0]}`" if len(given) == 1 else f"what {located(trace, place, 'this line')} gives"
    return Finding(
        message=f"{made} is used by nothing: the inner step of {names} changes no loss",
        cause=place,
        cause_label="the stepped weights, which nothing reads",
        effect=passed.site.user,
        effect_label="goes back from a loss of the weights as they were",
        seen=(
            f"in {plural(times, 'inner step')} nothing took what {code(trace, place, 'the line')} gave;"
            f" {code(trace, passed.site.user, 'the pass')} trained {names} itself",
        ),
        fix=f"compute the loss of {located(trace, passed.site.user)} with {made}: by"
        " `torch.func.functional_call(model, fast, inputs)`, or with the layers as functions",
        count=times,
        subjects=parameter_subjects(ids),
    )
