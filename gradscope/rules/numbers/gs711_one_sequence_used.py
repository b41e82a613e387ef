"""A recurrent layer or attention runs along the samples: of its own sequences only one reaches the loss.

Why: without `batch_first=True` the first axis is time for `nn.LSTM` and its like, and the second one the batch. Of a
batch that comes first each sample then goes on from the one before it, and `out[:, -1]` is not the last step, but the
last of the layer's sequences; all others are computed for nothing.

Fix: `batch_first=True` where the batch comes first; without it where time does.

Silent on: layers of which more than one sequence is used, single sequences, whatever else takes part.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.axes import ATTENTION, RECURRENT, Axes, Run, axes, size_of
from gradscope.analysis.ops import LOSSES
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._layers import made, other_first
from gradscope.store import Trace

PICKING = {"__getitem__", "select"}


class Pick(NamedTuple):
    """The call that takes one sequence of a layer's, and the loss that takes its places for samples."""

    op: Op
    loss: Op


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.LSTM(3, 4), nn.Linear(4, 2)  # cause: GS711
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        out, _ = rnn(torch.randn(8, 5, 3))  # eight samples of five steps
        last = out[:, -1]  # effect: GS711
        loss = nn.functional.cross_entropy(head(last), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        out, _ = rnn(torch.randn(8, 5, 3))
        loss = nn.functional.cross_entropy(head(out[:, -1]), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS711", name="one-sequence-used", severity="warning")
def one_sequence_used(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(RECURRENT | ATTENTION) or trace.op_names.isdisjoint(PICKING):
        return
    known, found = paths(trace), axes(trace)
    told: dict[tuple[str, int], tuple[Pick, list[Run]]] = {}
    for run in found.runs:
        if size_of(run.along) > 1 and size_of(run.apart) > 1:
            pick = _pick(known, found, run)
            if pick is not None:
                told.setdefault(pick.op.site.user.location(), (pick, []))[1].append(run)
    for pick, runs in told.values():
        yield _finding(trace, known, runs, pick)


def _pick(known: Paths, found: Axes, run: Run) -> Pick | None:
    """The one call that takes a single sequence of all that the layer gives, where nothing else takes part in a loss
    and a loss has a target for each place along it."""
    graph = known.graph(run.op.graph)
    todo = list(run.op.outputs)
    seen = set(todo)
    picks: list[Op] = []
    for value in todo:  # grows while it is walked
        if (graph.id, value) not in known.used.order:
            continue
        if (graph.id, value) in known.roots:
            return None
        for op in _readers(known, graph, value):
            if op is None:
                return None
            if _is_pick(found, graph, op, value, run):
                picks.append(op)
                continue
            given = [v for v in (*op.outputs, *op.written) if (graph.id, v) in known.used.order]
            if not given or not all(run.apart in found.of((graph.id, v)) for v in given):
                return None
            todo.extend(v for v in given if v not in seen)
            seen.update(given)
    loss = _loss(known, found, graph, picks[0], run) if len(picks) == 1 else None
    return Pick(picks[0], loss) if loss is not None else None


def _readers(known: Paths, graph: Graph, value: int) -> list[Op | None]:
    """The calls that a loss depends on that read a value; None for another graph that goes on with it."""
    found: dict[int, Op | None] = {}
    for key, op in known.used.feeds.get((graph.id, value), ()):
        found[op.index if op is not None and key[0] == graph.id else -1] = op if key[0] == graph.id else None
    return list(found.values())


def _is_pick(found: Axes, graph: Graph, op: Op, value: int, run: Run) -> bool:
    """Whether it takes one place along the axis of the sequences by a plain number."""
    before, given = found.of((graph.id, value)), found.of((graph.id, op.outputs[0])) if op.outputs else ()
    if op.name not in PICKING or before.count(run.apart) != 1 or run.along not in given:
        return False
    dim = before.index(run.apart)
    if op.name == "select":
        return op.extra.get("dims") in ([dim], [dim - len(before)])
    entries = str(op.extra.get("at", ""))
    if "t" in entries or "n" in entries:
        return False
    if "." in entries:
        entries = entries.replace(".", ":" * (len(before) - len(entries) + 1))
    return entries[dim : dim + 1] == "i"


def _loss(known: Paths, found: Axes, graph: Graph, pick: Op, run: Run) -> Op | None:
    """The loss whose target has a place of its own for each one along the layer's way."""
    todo = list(pick.outputs)
    seen = set(todo)
    for value in todo:
        for op in _readers(known, graph, value):
            if op is None:
                continue
            if op.name in LOSSES and len(op.inputs) > 1 and op.inputs[0] == value:
                one, other = (found.of((graph.id, v)) for v in op.inputs[:2])
                if one and other and one[0] == run.along and size_of(other[0]) == size_of(one[0]) != 1:
                    return op
            todo.extend(v for v in op.outputs if v not in seen)
            seen.update(op.outputs)
    return None


def _finding(trace: Trace, known: Paths, runs: list[Run], pick: Pick) -> Finding:
    """`runs`: one layer after the other along the same axis."""
    run = runs[0]
    graph = known.graph(run.op.graph)
    along, apart = size_of(run.along), size_of(run.apart)
    shape = str(graph.values[run.op.inputs[0]].shape)
    site = made(trace, known, run.op)
    layer = trace.modules[run.op.module].cls if run.op.module in trace.modules else run.op.name
    fixes = {made(trace, known, other.op): other.op for other in runs}
    told = [other_first(trace, op, place, layer) for place, op in fixes.items()]
    return Finding(
        message=f"`{layer}` runs along the {along} samples of the loss, and of its {apart} sequences only one is used",
        cause=site or run.op.site.user,
        cause_label="takes the other axis for time"
        if site is not None
        else f"runs along the axis of {along}",
        effect=pick.op.site.user,
        effect_label=f"takes one of {apart} sequences, not a step",
        seen=(
            f"its input of shape {shape} was {apart} sequences of {along} steps to it; "
            f"{code(trace, pick.op.site.user, 'an index')} took one sequence, the other {apart - 1} reached no loss, "
            f"and `{pick.loss.name}` compared the {along} steps with {along} targets",
        ),
        fix=" and ".join(fix for fix, _ in told),
        edits=tuple(edit for _, edits in told for edit in edits) if all(edits for _, edits in told) else (),
    )
