"""A model adds to each sample's answer a sum over all samples of the batch: what it says of one depends on the others.

Why: `torch.sum(x)` without an axis adds up the batch, too. The one number is added to every answer alike: the answers
of a batch move together, and another batch size is another model.

Fix: sum over the features alone, `x.sum(1, keepdim=True)`.

Measured: a sum without an axis in a module's call, of values one axis of which is that of the answers that the sum is
added to. Silent on: sums that only a loss takes, sums of weights, batches of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.axes import Axes, axes, size_of
from gradscope.analysis.names import shape_words
from gradscope.analysis.ops import ADDITIONS, CASTS, SCALES, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import with_argument
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

FAR = 4  # ops between a sum and what it is added to


def bad() -> None:
    import torch
    from torch import nn

    class Machine(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(6, 1)
            self.pairs = nn.Parameter(0.1 * torch.randn(6, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            both = (x @ self.pairs).pow(2) - x.pow(2) @ self.pairs.pow(2)
            answer: torch.Tensor = self.first(x) + 0.5 * torch.sum(both)  # cause: GS349
            return answer

    torch.manual_seed(0)
    machine = Machine()
    opt = torch.optim.Adam(machine.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 6)
        opt.zero_grad()
        (machine(x) - x[:, :1] * x[:, 1:2]).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    class Machine(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(6, 1)
            self.pairs = nn.Parameter(0.1 * torch.randn(6, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            both = (x @ self.pairs).pow(2) - x.pow(2) @ self.pairs.pow(2)
            answer: torch.Tensor = self.first(x) + 0.5 * torch.sum(both, 1, keepdim=True)
            return answer

    torch.manual_seed(0)
    machine = Machine()
    opt = torch.optim.Adam(machine.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 6)
        opt.zero_grad()
        (machine(x) - x[:, :1] * x[:, 1:2]).pow(2).mean().backward()
        opt.step()


class _Spread(NamedTuple):
    """A sum, what it is added to, and the axis that both had."""

    summed: Op
    added: Op
    other: Key
    axis: int  # of the summed value


@rule("GS349", name="sum-over-samples", severity="warning")
def sum_over_samples(trace: Trace) -> Iterator[Finding]:
    if "sum" not in trace.op_names:
        return
    known, found = paths(trace), axes(trace)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls({"sum"}):
        place = op.site.user.location()
        if op.module is None or op.extra.get("dims") or len(op.inputs) != 1 or place in told:
            continue
        spread = _spread(known, found, op)
        if spread is not None:
            told.add(place)
            yield _finding(trace, known, spread)


def _spread(known: Paths, found: Axes, op: Op) -> _Spread | None:
    graph, given = known.graph(op.graph), found.of((op.graph, op.inputs[0]))
    at = op.outputs[0] if op.outputs and not known.value((op.graph, op.outputs[0])).shape else None
    for _ in range(FAR):
        readers = graph.consumers.get(at, ()) if at is not None else ()
        if len(readers) != 1 or len(readers[0].outputs) != 1 or readers[0].module != op.module:
            return None
        reader = readers[0]
        others = [value for value in reader.inputs if value != at]
        if reader.name in ADDITIONS | SUBTRACTIONS and len(others) == 1:
            own = found.of((op.graph, others[0]))
            shared = [n for n, axis in enumerate(given) if axis in own and size_of(axis) > 1]
            return _Spread(op, reader, (op.graph, others[0]), shared[0]) if len(shared) == 1 else None
        if reader.name not in SCALES | CASTS:
            return None
        at = reader.outputs[0]
    return None


def _finding(trace: Trace, known: Paths, spread: _Spread) -> Finding:
    summed = spread.summed
    shape = known.value((summed.graph, summed.inputs[0])).shape
    other = known.value(spread.other).shape
    rest = [n for n in range(len(shape)) if n != spread.axis]
    dims = str(rest[0]) if len(rest) == 1 else f"({', '.join(map(str, rest))})"
    keeps = len(other) == len(shape) and all(other[n] == 1 for n in rest)
    plain = keeps or len(other) == 1
    words = f"dim={dims}{', keepdim=True' if keeps else ''}"
    place = summed.site.user
    edits = (
        with_argument(trace, place, "dim", dims + (", keepdim=True" if keeps else ""))
        if rest and plain
        else ()
    )
    return Finding(
        message=f"{code(trace, place, 'the sum')} adds up the {shape[spread.axis]} samples too: one number is added to"
        " all their answers",
        cause=place,
        cause_label="sums over every axis",
        effect=spread.added.site.user if spread.added.site.user.location() != place.location() else None,
        effect_label="adds it to every sample's answer",
        seen=(
            f"what it is given has the shape {shape_words(shape)}, what it is added to {shape_words(other)}; the axis"
            f" of {shape[spread.axis]} is the same",
        ),
        fix=f"sum over the other axes: `{words}` in {located(trace, place, 'the sum')}",
        edits=edits,
        count=known.graph(summed.graph).count,
        subjects=frozenset({("call", place.location())}),
    )
