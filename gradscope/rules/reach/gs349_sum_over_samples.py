"""A model adds to each sample's answer a sum over all samples of the batch: what it says of one depends on the others.

Why: `torch.sum(x)` without an axis adds up the batch, too. The one number is added to every answer alike: the answers
of a batch move together, and another batch size is another model.

Fix: sum over the features alone, `x.sum(1, keepdim=True)`.

The log-determinant of a flow, `s.sum()`, is one number for each sample too: with the batch added up each density has
the volumes of all other samples in it, and the loss counts them as often as there are samples.

Measured: a sum without an axis in a module's call, or an `einsum` that leaves none, of values one axis of which is that
of the answers that the sum is added to; of what is the logarithm of a factor also where it is added outside of that
call, to one number for each sample. Silent on: other sums that only a loss takes, sums of weights, sums that are
divided by the number of samples, batches of one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from gradscope import equations
from gradscope.analysis.axes import Axes, Shape, axes, size_of
from gradscope.analysis.log_volumes import stretched_by
from gradscope.analysis.names import shape_words
from gradscope.analysis.ops import ADDITIONS, CASTS, NEGATIONS, SCALES, SUBTRACTIONS, SUMS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.senses import plain_factor
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

FAR = 4  # ops between a sum and what it is added to
LAYERS = 64  # volumes that are added up
SMALL = 0.25  # a factor from here down may be one by the number of samples
SAMPLES = 4


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
    stretched: Op | None = None  # multiplies with what the summed value is the logarithm of


@rule("GS349", name="sum-over-samples", severity="warning")
def sum_over_samples(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint({"sum", "einsum"}):
        return
    known, found = paths(trace), axes(trace)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls({"sum", "einsum"}):
        place = op.site.user.location()
        if not op.inputs or place in told:
            continue
        spread = None
        if op.module is not None and not op.extra.get("dims"):
            spread = _spread(known, found, op)
        spread = spread or _volume(known, found, op)
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


def _volume(known: Paths, found: Axes, op: Op) -> _Spread | None:
    """A sum of logarithms of factors that is added, perhaps with those of other layers, to one number for each
    sample."""
    if len(op.inputs) != 1 or not op.outputs or known.value((op.graph, op.outputs[0])).shape:
        return None
    given = found.of((op.graph, op.inputs[0]))
    stretched = stretched_by(known, (op.graph, op.inputs[0]))
    if stretched is None or len(given) < 2:
        return None
    at, first = (op.graph, op.outputs[0]), None  # where it is added to a row of numbers
    for _ in range(LAYERS):
        readers = known.readers(at)
        reader = readers[0] if len(readers) == 1 else None
        if reader is None or len(reader.outputs) != 1 or (first is None and _is_small(known, reader)):
            return None
        others = [value for value in reader.inputs if value != at[1]]
        if len(others) == 1 and reader.name in SUMS:
            own = found.of((op.graph, others[0]))
            whole = known.value((op.graph, others[0])).shape
            if first is None and whole:
                first = reader
            shared = [n for n, axis in enumerate(given) if axis in own and size_of(axis) >= SAMPLES]
            if first is not None and len(shared) == 1 and max(whole) == prod(whole):
                return _Spread(op, first, (op.graph, others[0]), 0, shared[0], stretched)
        elif others or reader.name not in SCALES | NEGATIONS | CASTS | SUMS:
            return None
        at = op.graph, reader.outputs[0]
    return None


def _is_small(known: Paths, op: Op) -> bool:
    """Whether it scales by a number that is small or not in the text: one by the number of samples, say."""
    factor = plain_factor(known.trace, op) if op.name in SCALES else 1
    return factor is None or abs(factor) <= SMALL


def _finding(trace: Trace, known: Paths, spread: _Spread) -> Finding:
    summed = spread.summed
    shape = known.value((summed.graph, summed.inputs[spread.given])).shape
    other = known.value(spread.other).shape
    fix, edits = (_kept_letter if summed.name == "einsum" else _along)(trace, spread, shape, other)
    place = summed.site.user
    volume = spread.stretched is not None
    return Finding(
        message=f"{code(trace, place, 'the sum')} adds up the {shape[spread.axis]} samples too: one number is added to"
        f" all their {'log-densities' if volume else 'answers'}",
        cause=place,
        cause_label="sums over every axis",
        effect=spread.added.site.user if spread.added.site.user.location() != place.location() else None,
        effect_label=f"adds it to every sample's {'log-density' if volume else 'answer'}",
        related=(
            ((spread.stretched.site.user, "multiplies with what it is the logarithm of, sample by sample"),)
            if spread.stretched is not None
            else ()
        ),
        seen=(
            f"what it is given has the shape {shape_words(shape)}, what it is added to {shape_words(other)}; the axis"
            f" of {shape[spread.axis]} is the same",
        ),
        why="the density of a sample is changed by the volume of its own map alone. Here each has the volumes of all"
        " others added: averaged over the batch they count as many times as there are samples, and what the loss says"
        " is no likelihood"
        if volume
        else "",
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
    edits = with_argument(trace, place, "dim", words.removeprefix("dim=")) if plain else ()
    if spread.summed.extra.get("dims") and not _by_keyword(trace, place):
        edits = ()
    return f"sum over the other axes: `{words}` in {located(trace, place, 'the sum')}", edits


def _by_keyword(trace: Trace, place: Site) -> bool:
    """Whether the axes are given as `dim=`."""
    node = Source(trace, place.path).file.at(place)
    return isinstance(node, ast.Call) and any(keyword.arg == "dim" for keyword in node.keywords)


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
