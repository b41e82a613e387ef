"""Attention runs along one axis, and its learned positions lie on the other one.

Why: attention cannot tell places apart but by what is added to them. Without `batch_first=True` an
`nn.TransformerEncoder` takes the first axis for the sequence: given (batch, sequence, …) each sample attends to the
others at the same place, and never to its own other places, though it is these that have positions of their own.

Fix: `batch_first=True` for what has the batch first.

A note: features of each node or agent may be meant, in a model that attends along time.

Silent on: positions along the axis that is attended along, masks, attention between different sequences.
"""

from collections.abc import Iterator
from typing import Literal

from gradscope.analysis.axes import Axes, Axis, Run, axes, size_of
from gradscope.analysis.ops import ADDITIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._layers import made, other_first
from gradscope.store import Trace

Added = Op | Literal[False] | None


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    places = nn.Parameter(torch.randn(1, 5, 8))
    attention, head = nn.MultiheadAttention(8, 2), nn.Linear(8, 3)  # cause: GS714
    opt = torch.optim.SGD([places, *attention.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(6, 5, 8) + places  # effect: GS714
        mixed, _ = attention(x, x, x)
        loss = nn.functional.cross_entropy(head(mixed).flatten(0, 1), torch.randint(0, 3, (30,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    places = nn.Parameter(torch.randn(1, 5, 8))
    attention, head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 3)
    opt = torch.optim.SGD([places, *attention.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(6, 5, 8) + places
        mixed, _ = attention(x, x, x)
        loss = nn.functional.cross_entropy(head(mixed).flatten(0, 1), torch.randint(0, 3, (30,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS714", name="positions-on-the-other-axis", severity="note")
def positions_on_the_other_axis(trace: Trace) -> Iterator[Finding]:
    if "multi_head_attention_forward" not in trace.op_names:
        return
    known, found = paths(trace), axes(trace)
    told: set[tuple[str, int]] = set()
    before: dict[tuple[Key, Axis, Axis], Added] = {}
    for run in found.runs:
        if not _on_itself(known, run):
            continue
        key = ((run.op.graph, run.op.inputs[0]), run.along, run.apart)
        added = before[key] = _positions(known, found, run, before)
        if isinstance(added, Op) and added.site.user.location() not in told:
            told.add(added.site.user.location())
            yield _finding(trace, known, run, added)


def _on_itself(known: Paths, run: Run) -> bool:
    """Whether it is attention of a sequence to itself, without a mask."""
    op, count = run.op, size_of(run.along)
    if (
        op.name != "multi_head_attention_forward"
        or len(set(op.inputs[:3])) != 1
        or count < 2
        or size_of(run.apart) < 2
    ):
        return False
    values = known.graph(op.graph).values
    return not any(
        values[i].kind != "parameter" and values[i].shape[-1:] == (count,) and len(values[i].shape) > 1
        for i in op.inputs[3:]
    )


def _positions(known: Paths, found: Axes, run: Run, before: dict[tuple[Key, Axis, Axis], Added]) -> Added:
    """The addition of learned positions along the axis that the layer treats apart; False where any lie along the
    one it runs along. `before` has what was found of earlier layers: a stack is gone through once."""
    graph = known.graph(run.op.graph)
    todo = [run.op.inputs[0]]
    seen = set(todo)
    other: Added = None
    for value in todo:  # grows while it is walked
        key = ((graph.id, value), run.along, run.apart)
        if key in before:
            if before[key] is False:
                return False
            other = before[key] or other
            continue
        own = found.of((graph.id, value))
        if own.count(run.along) != 1 or own.count(run.apart) != 1:
            continue
        op = graph.maker(value)
        if op is None:
            continue
        if op.name in ADDITIONS:
            for given in op.inputs:
                shape = graph.values[given].shape
                along, apart = (_size(shape, own, axis) for axis in (run.along, run.apart))
                if along > 1 and apart == 1:
                    return False
                if apart > 1 and along == 1 and _learned(known, (graph.id, given)):
                    other = op
        todo.extend(v for v in op.inputs if v not in seen)
        seen.update(op.inputs)
    return other


def _size(shape: tuple[int, ...], own: tuple[Axis, ...], axis: Axis) -> int:
    """How many places an operand has along an axis of the sum."""
    back = len(own) - own.index(axis)
    return shape[-back] if len(shape) >= back else 1


def _learned(known: Paths, key: Key) -> bool:
    """Whether it is made of parameters alone, by numbers of places at most."""
    flow = known.flow([key])
    ends = [
        known.graph(graph).values[value]
        for graph, value in flow.order
        if not known.sources((graph, value))[0]
    ]
    names = {
        known.graph(graph).ops[op].name
        for graph, value in flow.order
        if (op := known.graph(graph).values[value].op) is not None
    }
    return (
        any(known.parameter_of(k) is not None for k in flow.order)
        and all(value.kind == "parameter" or value.op is not None for value in ends)
        and names
        <= {"__getitem__", "unsqueeze", "expand", "embedding", "arange", "mul", "squeeze", "to", "view"}
    )


def _finding(trace: Trace, known: Paths, run: Run, added: Op) -> Finding:
    along, apart = size_of(run.along), size_of(run.apart)
    shape = known.graph(run.op.graph).values[run.op.inputs[0]].shape
    site = made(trace, known, run.op)
    fix, edits = other_first(trace, run.op, site, "attention")
    return Finding(
        message=f"attention runs along an axis of {along}, which has no positions: the learned ones lie on the axis of "
        f"{apart}, along which it never looks",
        cause=site or run.op.site.user,
        cause_label=f"attends along the axis of {along}",
        effect=added.site.user,
        effect_label=f"adds positions along the axis of {apart}",
        seen=(
            f"its input of shape {shape} was {apart} sequences of {along} places to it; what was learned and added "
            f"before is different in each of the {apart} sequences and the same at all {along} places",
        ),
        fix=f"if the axis of {apart} is the sequence, {fix}",
        edits=edits,
    )
