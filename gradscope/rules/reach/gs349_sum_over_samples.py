"""A model adds to each sample's answer a sum over all samples of the batch: what it says of one depends on the others.

Why: `torch.sum(x)` without an axis adds up the batch, too. The one number is added to every answer alike: the answers
of a batch move together, and another batch size is another model.

Fix: sum over the features alone, `x.sum(1, keepdim=True)`.

Measured: a sum without an axis in a module's call, or an `einsum` that leaves none, of values one axis of which is that
of the answers that the sum is added to. Silent on: sums that only a loss takes, sums of weights, batches of one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope import equations
from gradscope.analysis.axes import Axes, Shape, axes, size_of
from gradscope.analysis.names import shape_words
from gradscope.analysis.ops import ADDITIONS, CASTS, SCALES, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
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
    given: int  # the summed value, one of several of an `einsum`
    axis: int  # of it


@rule("GS349", name="sum-over-samples", severity="warning")
def sum_over_samples(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint({"sum", "einsum"}):
        return
    known, found = paths(trace), axes(trace)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls({"sum", "einsum"}):
        place = op.site.user.location()
        if op.module is None or op.extra.get("dims") or not op.inputs or place in told:
            continue
        spread = _spread(known, found, op)
        if spread is not None:
            told.add(place)
            yield _finding(trace, known, spread)


def _spread(known: Paths, found: Axes, op: Op) -> _Spread | None:
    graph = known.graph(op.graph)
    equation = equations.of(op)
    if op.name == "einsum" and (equation is None or equation.result):
        return None
    at = op.outputs[0] if op.outputs and not known.value((op.graph, op.outputs[0])).shape else None
    for _ in range(FAR):
        readers = graph.consumers.get(at, ()) if at is not None else ()
        if len(readers) != 1 or len(readers[0].outputs) != 1 or readers[0].module != op.module:
            return None
        reader = readers[0]
        others = [value for value in reader.inputs if value != at]
        if reader.name in ADDITIONS | SUBTRACTIONS and len(others) == 1:
            own = found.of((op.graph, others[0]))
            for place, value in enumerate(op.inputs):
                given = found.of((op.graph, value))
                shared = [n for n, axis in enumerate(given) if axis in own and size_of(axis) > 1]
                if len(shared) == 1:
                    return _Spread(op, reader, (op.graph, others[0]), place, shared[0])
            return None
        if reader.name not in SCALES | CASTS:
            return None
        at = reader.outputs[0]
    return None


def _finding(trace: Trace, known: Paths, spread: _Spread) -> Finding:
    summed = spread.summed
    shape = known.value((summed.graph, summed.inputs[spread.given])).shape
    other = known.value(spread.other).shape
    fix, edits = (_kept_letter if summed.name == "einsum" else _along)(trace, spread, shape, other)
    place = summed.site.user
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
        fix=fix,
        edits=edits,
        count=known.graph(summed.graph).count,
        subjects=frozenset({("call", place.location())}),
    )


def _along(trace: Trace, spread: _Spread, shape: Shape, other: Shape) -> tuple[str, Edits]:
    """The axes that a sum may go over."""
    place = spread.summed.site.user
    rest = [n for n in range(len(shape)) if n != spread.axis]
    dims = str(rest[0]) if len(rest) == 1 else f"({', '.join(map(str, rest))})"
    keeps = len(other) == len(shape) and all(other[n] == 1 for n in rest)
    words = f"dim={dims}{', keepdim=True' if keeps else ''}"
    plain = keeps or len(other) == 1
    edits = with_argument(trace, place, "dim", words.removeprefix("dim=")) if rest and plain else ()
    return f"sum over the other axes: `{words}` in {located(trace, place, 'the sum')}", edits


def _kept_letter(trace: Trace, spread: _Spread, shape: Shape, other: Shape) -> tuple[str, Edits]:
    """The equation that keeps the letter of the samples."""
    place = spread.summed.site.user
    equation = equations.of(spread.summed)
    assert equation is not None  # _spread has read it
    letter = equation.operands[spread.given][spread.axis]
    kept = equation._replace(result=letter).text
    here = Source(trace, place.path)
    node = here.file.at(place)
    text = node.args[0] if isinstance(node, ast.Call) and node.args else None
    plain = isinstance(text, ast.Constant) and len(other) == 1
    edits = here.replace(text, f'"{kept}"') if plain and text is not None else ()
    return (
        f'keep the letter of the samples: `"{kept}"` in {located(trace, place, "the sum")}',
        edits,
    )
