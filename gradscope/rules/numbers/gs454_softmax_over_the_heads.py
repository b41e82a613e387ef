"""The softmax of attention goes over the heads and the places together: the heads share one sum of 1.

Why: each head of attention has weights of its own, which sum to one over the places. Where a view lays the heads and
the places into one axis before the softmax, all heads of a query have that 1 together: a head that is sure takes the
weight from the others, and of n heads each has about an nth of what it should have.

Fix: lay only the places into one axis, `weights.flatten(3)` for scores of shape (batch, queries, heads, height, width).

Measured: the axis that the softmax goes over is made of the places of one factor of the product that gave the scores,
and of an axis that both factors have, which a view has cut from one vector together with what the product sums over.
Silent on: keys of several maps, heads beside the queries or the samples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from gradscope import equations
from gradscope.analysis.axes import PRODUCTS, VIEWS, Axes, Axis, axes, size_of
from gradscope.analysis.made import softmax_site
from gradscope.analysis.ops import ALIASES, CASTS, MASKING, PRODUCTS_OF_MATRICES, SCALES, SUMS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.source import method_name
from gradscope.store import Trace

MOVED = VIEWS | {"permute", "transpose", "swapaxes", "movedim", "contiguous", "clone"}
BEFORE = MOVED | CASTS | ALIASES | MASKING | SCALES | SUMS | {"where"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    ask, key, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(2, 1)
    opt = torch.optim.Adam([*ask.parameters(), *key.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        q = ask(torch.randn(4, 3, 8)).view(4, 3, 2, 4)  # two heads
        k = key(torch.randn(4, 9, 8)).view(4, 3, 3, 2, 4)
        scores = torch.einsum("bqnc,bhwnc->bqnhw", q, k)
        weights = scores.flatten(2).softmax(-1).view_as(scores)  # cause: GS454
        loss = (head(weights.flatten(3).transpose(2, 3)).squeeze(-1) - torch.rand(4, 3, 9)).square().mean()
        opt.zero_grad()
        loss.backward()  # effect: GS454
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    ask, key, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(2, 1)
    opt = torch.optim.Adam([*ask.parameters(), *key.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        q = ask(torch.randn(4, 3, 8)).view(4, 3, 2, 4)
        k = key(torch.randn(4, 9, 8)).view(4, 3, 3, 2, 4)
        scores = torch.einsum("bqnc,bhwnc->bqnhw", q, k)
        weights = scores.flatten(3).softmax(-1).view_as(scores)
        loss = (head(weights.flatten(3).transpose(2, 3)).squeeze(-1) - torch.rand(4, 3, 9)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class Product(NamedTuple):
    """The axes of a product: those that both factors have and it keeps, and those of each factor alone."""

    shared: tuple[Axis, ...]
    own: tuple[tuple[Axis, ...], tuple[Axis, ...]]


class Joined(NamedTuple):
    softmax: Op
    view: Op  # that joined the axes
    product: Op
    heads: Axis
    places: int


@rule("GS454", name="softmax-over-the-heads", severity="note")
def softmax_over_the_heads(trace: Trace) -> Iterator[Finding]:
    if "softmax" not in trace.op_names or trace.op_names.isdisjoint(PRODUCTS_OF_MATRICES):
        return
    known, found = paths(trace), axes(trace)
    told: dict[tuple[str, int], Joined] = {}
    for key, op in known.used_calls({"softmax"}):
        place = op.site.user.location()
        joined = _joined(known, found, key, op) if place not in told else None
        if joined is not None:
            told[place] = joined
    for joined in told.values():
        yield _finding(trace, known, joined)


def _joined(known: Paths, found: Axes, key: Key, op: Op) -> Joined | None:
    own, dims = found.of(key), op.extra.get("dims", [])
    if len(dims) != 1 or not -len(own) <= dims[0] < len(own):
        return None
    over = own[dims[0]]
    view, product = found.merged.get(over), known.maker_behind((op.graph, op.inputs[0]), BEFORE)
    if (
        view is None
        or product is None
        or product.name not in PRODUCTS_OF_MATRICES
        or len(product.inputs) != 2
    ):
        return None
    told = _axes_of(found, product)
    if told is None:
        return None
    heads = [axis for axis in told.shared if _holds(over, axis) and _heads(found, product, axis)]
    places = [[axis for axis in side if _holds(over, axis)] for side in told.own]
    if len(heads) != 1 or sum(bool(side) for side in places) != 1:
        return None
    if prod(size_of(axis) for axis in (*heads, *places[0], *places[1])) != size_of(over):
        return None
    return Joined(op, view, product, heads[0], size_of(over) // size_of(heads[0]))


def _holds(whole: Axis, part: Axis) -> bool:
    """Whether an axis was joined of this one, among others."""
    return bool(part) and all(
        any(
            one.source == piece.source
            and one.low <= piece.low
            and piece.low * piece.size <= one.low * one.size
            for one in whole
        )
        for piece in part
    )


def _axes_of(found: Axes, product: Op) -> Product | None:
    made = found.of((product.graph, product.outputs[0]))
    if product.name in PRODUCTS:
        return Product(made[:-2], ((made[-2],), (made[-1],))) if len(made) > 2 else None
    equation = equations.of(product)
    if equation is None or len(equation.operands) != 2 or len(equation.result) != len(made):
        return None
    named: dict[str, Axis] = dict(zip(equation.result, made, strict=True))
    first, second = (set(operand) for operand in equation.operands)
    return Product(
        tuple(axis for letter, axis in named.items() if letter in first & second),
        (
            tuple(axis for letter, axis in named.items() if letter in first - second),
            tuple(axis for letter, axis in named.items() if letter in second - first),
        ),
    )


def _heads(found: Axes, product: Op, axis: Axis) -> bool:
    """Whether it was cut from one axis together with what the product sums over: the last part of it."""
    if len(axis) != 1 or axis[0].low < 2:
        return False
    head = axis[0]
    return any(
        piece.source == head.source and piece.low == 1 and piece.size == head.low
        for index in product.inputs
        for other in found.of((product.graph, index))
        for piece in other
    )


def _finding(trace: Trace, known: Paths, found: Joined) -> Finding:
    op, heads = found.softmax, size_of(found.heads)
    place, view = softmax_site(trace, op), found.view.site.user
    graph = known.graph(found.view.graph)
    before, after = (graph.values[i].shape for i in (found.view.inputs[0], found.view.outputs[0]))
    loss = known.loss_of((op.graph, op.outputs[0]))
    start, edits = _later(trace, found, before)
    instead = f"`flatten({start})`" if start else f"an axis of the {found.places} places alone"
    return Finding(
        message=f"{code(trace, place, '`softmax`')} goes over {heads} heads and {found.places} places at once: the"
        f" weights of all {heads} heads sum to 1 together",
        cause=place,
        cause_label=f"goes over {heads} × {found.places} numbers",
        effect=loss.site.user if loss is not None else None,
        effect_label=f"learns from heads that share one sum, each with about 1/{heads}",
        related=((view, f"lays heads and places into one axis: {before} becomes {after}"),)
        if view.line != place.line
        else (),
        seen=(
            f"{code(trace, view, 'a view')} makes {after} of the scores {before}; of its last {heads * found.places}"
            f" numbers {heads} are heads, which `{found.product.name}` (line {found.product.site.user.line}) treats one"
            " by one",
        ),
        fix=f"let the softmax go over the places of each head: {instead} in {located(trace, view)}",
        edits=edits,
        count=known.alike(loss) if loss is not None else 1,
        subjects=frozenset({("softmax", *place.location())}),
    )


def _later(trace: Trace, found: Joined, before: tuple[int, ...]) -> tuple[int, Edits]:
    """`flatten` from the axis behind that of the heads on, where they are the first that it takes."""
    here = Source(trace, found.view.site.user.path)
    call = here.file.at(found.view.site.user)
    if (
        method_name(call) != "flatten"
        or not isinstance(call, ast.Call)
        or call.keywords
        or len(call.args) != 1
    ):
        return 0, ()
    given = call.args[0]
    start = given.value if isinstance(given, ast.Constant) else None
    if not isinstance(start, int) or not 0 < start < len(before) - 1 or before[start] != size_of(found.heads):
        return 0, ()
    return start + 1, here.replace(given, str(start + 1))
