"""Attention runs along one axis, and its positions lie on the other one.

Why: attention cannot tell places apart but by what is added to them. Without `batch_first=True` an
`nn.TransformerEncoder` takes the first axis for the sequence: given (batch, sequence, …) each sample attends to the
others at the same place, and never to its own other places, though it is these that have positions of their own.
`pe[: x.size(0)]` numbers the first axis: of a batch that comes first, the samples.

Fix: `batch_first=True` for what has the batch first; positions that are numbered along the sequence.

A note where nothing says which axis holds the samples: features of each node or agent may be meant, in a model that
attends along time.

Silent on: positions along the axis that is attended along, masks, attention between different sequences.
"""

from collections.abc import Iterator
from typing import Literal

from gradscope.analysis.axes import Axes, Axis, Run, axes, size_of
from gradscope.analysis.ops import ADDITIONS, ATTENTION
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located, source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._layers import made, other_first
from gradscope.store import Trace

PLACES = {"arange", "linspace", "logspace"}  # that number places
BLANK = {"zeros", "empty", "zeros_like", "empty_like", "ones", "full", "eye"}
SPREADING = {"expand", "expand_as", "repeat", "broadcast_to", "tile"}  # give each sample the same

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


@rule("GS714", name="positions-on-the-other-axis", severity="warning")
def positions_on_the_other_axis(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(ATTENTION):
        return
    known, found = paths(trace), axes(trace)
    told: set[tuple[str, int]] = set()
    before: dict[tuple[Key, Axis, Axis], Added] = {}
    for run in found.runs:
        if not _on_itself(known, found, run):
            continue
        key = ((run.op.graph, run.op.inputs[0]), run.along, run.apart)
        added = before[key] = _positions(known, found, run, before)
        if isinstance(added, Op) and added.site.user.location() not in told:
            told.add(added.site.user.location())
            yield _finding(trace, known, found, run, added)


def _on_itself(known: Paths, found: Axes, run: Run) -> bool:
    """Whether it is attention of a sequence to itself, without a mask."""
    op, count = run.op, size_of(run.along)
    if op.name not in ATTENTION or count < 2 or size_of(run.apart) < 2:
        return False
    if op.name == "multi_head_attention_forward":
        same = len(set(op.inputs[:3])) == 1
    else:
        same = len(op.inputs) > 1 and found.of((op.graph, op.inputs[1]))[-2:-1] == (run.along,)
    values = known.graph(op.graph).values
    return same and not any(
        values[i].kind != "parameter" and values[i].shape[-1:] == (count,) and len(values[i].shape) > 1
        for i in op.inputs[3:]
    )


def _positions(known: Paths, found: Axes, run: Run, before: dict[tuple[Key, Axis, Axis], Added]) -> Added:
    """The addition of positions along the axis that the layer treats apart; False where any lie along the
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
                if apart > 1 and along == 1 and _fixed(known, (graph.id, given)):
                    other = op
        todo.extend(v for v in op.inputs if v not in seen)
        seen.update(op.inputs)
    return other


def _size(shape: tuple[int, ...], own: tuple[Axis, ...], axis: Axis) -> int:
    """How many places an operand has along an axis of the sum."""
    back = len(own) - own.index(axis)
    return shape[-back] if len(shape) >= back else 1


def _fixed(known: Paths, key: Key) -> bool:
    """Whether it is made of parameters and numbers of places alone, whatever the batch holds."""
    flow = known.flow([key])
    numbered = False
    for one in flow.order:
        op = known.maker(one)
        if known.parameter_of(one) is not None or (op is not None and op.name in PLACES):
            numbered = True
        elif op is None or op.name in SPREADING or (not op.inputs and op.name not in BLANK):
            return False
    return numbered


def _numbered(known: Paths, added: Op, size: int) -> Site:
    """The call that took so many positions: a slice of more, or numbers from 0 on; else the addition itself."""
    for given in added.inputs:
        if _fixed(known, (added.graph, given)):
            for key in known.flow([(added.graph, given)]).order:
                op = known.maker(key)
                if op is None or size not in known.graph(op.graph).values[op.outputs[0]].shape:
                    continue
                if all(size not in known.graph(op.graph).values[i].shape for i in op.inputs):
                    return op.site.user
    return added.site.user


def _finding(trace: Trace, known: Paths, found: Axes, run: Run, added: Op) -> Finding:
    along, apart = size_of(run.along), size_of(run.apart)
    graph = known.graph(run.op.graph)
    shape = graph.values[run.op.inputs[0]].shape
    drawn = found.drawn(run.apart)
    site = made(trace, known, run.op)
    fix, edits = other_first(trace, run.op, site, "attention")
    numbered = _numbered(known, added, apart)
    number = f"number the {along} places of a sequence in {located(trace, numbered)}, not the {apart} of the other axis"
    told = site is None or "batch_first" in source(trace, site)  # which axis attention runs along
    if drawn is not None or told:
        fix, edits = number, ()
    else:
        fix = f"if the axis of {apart} is the sequence, {fix}; if it holds the samples, {number}"
    samples = (
        f", which {located(trace, drawn.site.user)} had drawn in a random order," if drawn is not None else ""
    )
    places = [
        (site or run.op.site.user, f"attends along the axis of {along}"),
        (numbered, f"gives positions along the axis of {apart}"),
    ]
    (cause, cause_label), (effect, effect_label) = places[::-1] if samples or told else places
    return Finding(
        message=f"attention runs along an axis of {along}, which has no positions: they lie on the axis of "
        f"{apart}{' samples' if samples else ''}, along which it never looks",
        cause=cause,
        cause_label=cause_label,
        effect=effect,
        effect_label=effect_label,
        seen=(
            f"the input of attention, of shape {shape}, was {apart} sequences of {along} places to it; what was added"
            f" before, whatever the batch held, is different in each of the {apart} sequences{samples} and the same at"
            f" all {along} places",
        ),
        fix=fix,
        edits=edits,
        severity="" if samples else "note",
    )
