"""A weight stands above and below the same quotient, element by element: it cancels out.

Why: `(w * a) / (w * b)` is `a / b`, whatever `w` is. The weights of classes in a generalised Dice loss do something
only if numerator and denominator are each added up over the classes before one is divided by the other.

Fix: `(w * a).sum(1) / (w * b).sum(1)`, or `.sum()` of both where classes are the only axis.

Measured: the same value, of more than one number, is a factor on both sides of a division, with nothing but additions
of plain numbers in between; a quotient, a power, an exponential or a softmax gave it; the result is a part of a loss.
Silent on: weighted means, which add up before they divide, a weight divided by itself, and masks.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import (
    CASTS,
    CLIPS,
    DIVISIONS,
    EXPONENTIALS,
    MULTIPLICATIONS,
    PASSING,
    POWERS,
    QUOTIENTS,
    SCALES,
    SOFTMAXES,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.words import code, located
from gradscope.events import Backward
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

NEAR = 6  # calls between the quotient and the product
COMPUTING = QUOTIENTS | POWERS | EXPONENTIALS | SOFTMAXES
BETWEEN = SUMS | CASTS | CLIPS | SCALES


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.Softmax(1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        y = torch.randint(0, 3, (4, 8, 8))
        t = nn.functional.one_hot(y, 3).permute(0, 3, 1, 2).float()
        p = model(y.unsqueeze(1) + torch.randn(4, 1, 8, 8))
        w = 1 / t.sum((2, 3)).square().clamp(min=1)
        both, size = (p * t).sum((2, 3)), p.sum((2, 3)) + t.sum((2, 3))
        loss = (1 - (2 * both * w + 1e-5) / (size * w + 1e-5)).mean()  # cause: GS445
        opt.zero_grad()
        loss.backward()  # effect: GS445
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.Softmax(1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        y = torch.randint(0, 3, (4, 8, 8))
        t = nn.functional.one_hot(y, 3).permute(0, 3, 1, 2).float()
        p = model(y.unsqueeze(1) + torch.randn(4, 1, 8, 8))
        w = 1 / t.sum((2, 3)).square().clamp(min=1)
        both, size = (p * t).sum((2, 3)), p.sum((2, 3)) + t.sum((2, 3))
        loss = (1 - (2 * (both * w).sum(1) + 1e-5) / ((size * w).sum(1) + 1e-5)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS445", name="weight-cancels-out", severity="warning")
def weight_cancels_out(trace: Trace) -> Iterator[Finding]:
    known, told = paths(trace), set[tuple[str, int]]()
    for _, op in known.used_calls(DIVISIONS):
        place = op.site.user.location()
        if place in told or len(op.inputs) != 2:
            continue
        above, below = (_factors(known, (op.graph, index)) for index in op.inputs)
        weights = above & below
        shape = known.value((op.graph, op.outputs[0])).shape
        weight = next((key for key in sorted(weights) if _weighs(known, key)), None)
        if weight is None or not (above - weights and below - weights) or prod(shape) < 2:
            continue
        loss = known.loss_of((op.graph, op.outputs[0]))
        if loss is not None:
            told.add(place)
            yield _finding(trace, known, op, weight, loss)


def _factors(known: Paths, side: Key) -> set[Key]:
    """What one side of a quotient is a product of, apart from plain numbers that are added to it."""
    found: set[Key] = set()
    todo, calls = [side], 0
    while todo and calls < NEAR:
        key = todo.pop()
        op, calls = known.maker(key), calls + 1
        product = op is not None and op.name in MULTIPLICATIONS and len(op.inputs) == 2
        if op is not None and (product or (op.name in BETWEEN and len(op.inputs) == 1)):
            todo += [(op.graph, index) for index in op.inputs]
            found |= {known.made((op.graph, index)) for index in op.inputs} if product else set()
    return found


def _weighs(known: Paths, key: Key) -> bool:
    """Whether it is several numbers that were computed to weigh: a mask of zeros and ones does take places out."""
    op = known.maker_behind(key, PASSING | CLIPS)
    return prod(known.value(key).shape) > 1 and op is not None and op.name in COMPUTING


def _finding(trace: Trace, known: Paths, op: Op, weight: Key, loss: Backward) -> Finding:
    site = op.site.user
    name = names_of(trace).name(known.graph(weight[0]), weight[1])
    shown = f"`{name}`" if name else "the same weight"
    shape = tuple(known.value((op.graph, op.outputs[0])).shape)
    return Finding(
        message=f"{code(trace, site, 'the quotient')} has {shown} above and below, element by element: it cancels out,"
        " and weighs nothing",
        cause=site,
        cause_label=f"divides {shape} by {shape}, each element by its own",
        effect=loss.site.user,
        effect_label="has the same gradient for every weight",
        seen=(
            f"both sides are products with {shown}, of {prod(known.value(weight).shape)} numbers, and nothing is added"
            f" up before the division; in {passes(known.alike(loss))} of this line",
        ),
        fix="add up what is above and what is below over the axis along which the weights differ,"
        f" `{_sum_over(known.value(weight).shape, shape)}` on both sides, before they are divided in"
        f" {located(trace, site)}",
    )


def _sum_over(weights: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """The sum over the last axis of a quotient along which the weights differ."""
    last = next(place for place, size in enumerate(reversed(weights)) if size > 1)
    return f".sum({len(shape) - 1 - last})" if len(shape) > 1 else ".sum()"
