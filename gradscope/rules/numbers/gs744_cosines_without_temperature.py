"""A cross entropy of cosines: scores that lie between -1 and 1 keep it far above zero.

Why: the cross entropy falls to zero when the right score is far above the others. Cosines are at most 2 apart, and
then the right one of 100 has a probability of 0.07 at most: the loss stays near the logarithm of their number, and its
gradient is nearly the same for those that are told apart well and those that are not.

Fix: divide the cosines by a temperature (0.05 to 0.2 is common), or multiply them by a scale that is learned.

Measured: every score is a product of two vectors whose length was made 1, or `cosine_similarity`, and nothing comes
between that and the loss. Silent on: few classes, where the loss can still come below 0.5; a temperature wherever it
stands; targets that are probabilities. A `log_softmax` whose right entries alone make the loss (`nll_loss`, the
diagonal) is the same.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from gradscope import equations
from gradscope.analysis.ops import (
    DIAGONALS,
    DIVISIONS,
    MULTIPLICATIONS,
    NEGATIONS,
    PASSING,
    PICKS_OF_ROWS,
    REDUCTIONS,
    SCALES,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, numbers
from gradscope.events import ScaledScores
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding, Op, Span
from gradscope.rules import rule
from gradscope.rules.numbers._lengths import own_length
from gradscope.rules.numbers._losses import loss_values, losses, makers, shape_of
from gradscope.store import Trace

PRODUCTS = {"matmul", "mm", "bmm", "linear"}
TAKING = DIAGONALS | PICKS_OF_ROWS
NEAR = 6  # calls from an entry to the loss
FLOOR = 0.5
TEMPERATURE = "0.1"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 8)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(32, 4)
        one = nn.functional.normalize(net(x), dim=1)
        two = nn.functional.normalize(net(x + 0.1 * torch.randn_like(x)), dim=1)
        scores = one @ two.t()  # effect: GS744
        loss = nn.functional.cross_entropy(scores, torch.arange(32))  # cause: GS744
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 8)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(32, 4)
        one = nn.functional.normalize(net(x), dim=1)
        two = nn.functional.normalize(net(x + 0.1 * torch.randn_like(x)), dim=1)
        scores = one @ two.t()
        loss = nn.functional.cross_entropy(scores / 0.1, torch.arange(32))
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS744", name="cosines-without-temperature", severity="warning")
def cosines_without_temperature(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    factors = {event.site.user.span(): event.factor for event in trace.of(ScaledScores)}
    for key, loss in _entropies(known):
        shape = shape_of(known, key)
        count = shape[1 if len(shape) > 1 else 0] if shape else 0
        if count < 2 or loss.site.user.location() in told:
            continue
        made = [op for _, op in makers(known, key)]
        small = _small(made, factors)
        if small is not None:
            made = [op for _, op in makers(known, (small.op.graph, small.op.inputs[0]))]
        lowest = math.log1p((count - 1) * math.exp(-2 * (1 if small is None else small.factor)))
        if lowest < FLOOR:
            continue
        if made and all(_is_cosine(known, op) for op in made):
            told.add(loss.site.user.location())
            found = _finding(trace, known, loss, made, count, lowest, 1 if small is None else small.factor)
            yield found if small is None else _multiplied(trace, found, small)


class _Small(NamedTuple):
    """What makes the scores smaller still."""

    op: Op
    factor: float


def _small(made: list[Op], factors: dict[Span, float]) -> _Small | None:
    """The multiplication of all scores by a number below 1, or the division by one above, where that is what gave
    them."""
    op = made[0] if len(made) == 1 else None
    if op is None or op.name not in SCALES or len(op.inputs) != 1:
        return None
    factor = factors.get(op.site.user.span(), 1.0)
    return _Small(op, factor) if 0 < factor < 1 else None


def _multiplied(trace: Trace, found: Finding, small: _Small) -> Finding:
    place, here = small.op.site.user, Source(trace, small.op.site.user.path)
    node = here.file.at(place)
    turned, edits = "", found.edits
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        turned = f"{here.part(node.left, Binds.PRODUCT)} / {here.part(node.right)}"
        edits = here.replace(node, turned)
    return replace(
        found,
        message=f"{found.message}: they are multiplied by {small.factor:.3g}, where a temperature divides",
        cause=place,
        cause_label=f"leaves scores between {-small.factor:.3g} and {small.factor:.3g}",
        effect=found.cause,
        effect_label="cannot tell such scores apart",
        related=(),
        fix=f"divide by it: `{turned}` in {located(trace, place)}"
        if turned
        else f"divide by the temperature in {located(trace, place)}, in place of multiplying with it",
        edits=edits if turned else (),
    )


def _entropies(known: Paths) -> Iterator[tuple[Key, Op]]:
    """The scores of each cross entropy of labels with the call that takes the labels: torch's own, or one put together
    from the logarithms of a softmax."""
    for key, loss in losses(known, {"cross_entropy", "nll_loss"}):
        if not _of_labels(known, loss):
            continue
        if loss.name == "cross_entropy":
            yield key, loss
        elif (scores := _logged(known, key)) is not None:
            yield scores, loss
    for key, op in known.used_calls(TAKING):
        scores = _logged(known, (op.graph, op.inputs[0])) if op.inputs else None
        single = op.name in DIAGONALS or len(op.inputs) > 1  # entries that are asked for one by one
        if scores is not None and single and known.becomes_number(key, NEGATIONS | PASSING, REDUCTIONS, NEAR):
            yield scores, op


def _logged(known: Paths, key: Key) -> Key | None:
    """The scores that such logarithms are made of, one row for each sample."""
    op = known.maker(key)
    if op is None or op.name != "log_softmax" or len(op.extra.get("dims", [])) != 1:
        return None
    scores = (op.graph, op.inputs[0])
    rank = len(shape_of(known, scores))
    return scores if rank == 2 and op.extra["dims"][0] % rank == 1 else None


def _of_labels(known: Paths, loss: Op) -> bool:
    """Whether its target is one label for each sample."""
    target = known.graph(loss.graph).values[loss.inputs[1]] if len(loss.inputs) > 1 else None
    return target is not None and target.dtype == "int64"


def _is_cosine(known: Paths, op: Op) -> bool:
    """Whether every number that it gave is one of two vectors of length 1."""
    if op.name == "cosine_similarity":
        return True
    if op.name in PRODUCTS and len(op.inputs) == 2:
        first, second = ((op.graph, value) for value in op.inputs)
        ranks = [len(shape_of(known, key)) for key in (first, second)]
        if min(ranks) < 2:
            return False
        return _unit(known, first, ranks[0] - 1) and _unit(
            known, second, ranks[1] - (1 if op.name == "linear" else 2)
        )
    if op.name == "einsum":
        letters = _contracted(op, [len(shape_of(known, (op.graph, value))) for value in op.inputs])
        return letters is not None and all(
            _unit(known, (op.graph, value), place) for value, place in zip(op.inputs, letters, strict=True)
        )
    if op.name == "sum" and len(op.extra.get("dims", [])) == 1:
        product = known.graph(op.graph).maker(op.inputs[0])
        if product is None or product.name not in MULTIPLICATIONS or len(product.inputs) != 2:
            return False
        keys = [(op.graph, value) for value in product.inputs]
        rank = len(shape_of(known, (op.graph, op.inputs[0])))
        return all(
            len(shape_of(known, key)) == rank and _unit(known, key, op.extra["dims"][0] % rank)
            for key in keys
        )
    return False


def _contracted(op: Op, ranks: list[int]) -> tuple[int, int] | None:
    """The axis of each operand of an `einsum` that the product is summed over, where there is one."""
    equation = equations.of(op)
    if equation is None or len(equation.operands) != 2 or len(ranks) != 2:
        return None
    one, other = (equation.axes(n, rank) for n, rank in enumerate(ranks))
    gone = (one.keys() | other.keys()) - set(equation.result)
    if len(gone) != 1 or not gone <= one.keys() & other.keys():
        return None
    (letter,) = gone
    return one[letter], other[letter]


def _unit(known: Paths, key: Key, axis: int) -> bool:
    """Whether the vectors along this axis were made to have length 1."""
    for _ in range(4):  # transposes
        graph = known.graph(known.made(key)[0])
        op = known.maker(key)
        if op is None or not op.inputs:
            return False
        rank, dims = len(shape_of(known, key)), op.extra.get("dims", [])
        source = (graph.id, op.inputs[0])
        if op.name in ("t", "T", "mT") and rank >= 2:
            axis = {rank - 1: rank - 2, rank - 2: rank - 1}.get(axis, axis)
        elif op.name in ("transpose", "swapaxes") and len(dims) == 2:
            one, two = (d % rank for d in dims)
            axis = {one: two, two: one}.get(axis, axis)
        elif op.name in ("detach", "clone", "contiguous"):
            pass
        elif op.name == "normalize":
            return [d % rank for d in dims or [1]] == [axis]
        elif op.name in DIVISIONS and len(op.inputs) == 2:
            length = own_length(known, source, (graph.id, op.inputs[1]))
            return length is not None and [d % rank for d in length.extra.get("dims", [])] == [axis]
        else:
            return False
        key = source
    return False


def _finding(
    trace: Trace, known: Paths, loss: Op, made: list[Op], count: int, lowest: float, most: float
) -> Finding:
    """`most`: of the scores, which are cosines times that."""
    site = loss.site.user
    places = list(dict.fromkeys(op.site.user for op in made))
    values = loss_values(trace, known, (loss.graph, loss.outputs[0]))
    apart = "-2" if most == 1 else f"-2 * {most:.3g}"
    seen = [
        f"{count} scores between {-most:.3g} and {most:.3g} for each label: the loss cannot fall below log(1 +"
        f" {count - 1} * exp({apart})) ="
        f" {lowest:.3g}; of scores that are all the same it is {math.log(count):.3g}"
    ]
    if values:
        seen.append(f"it was {numbers(values[0])} at first and {numbers(values[-1])} at last")
    text, edits = _divided(trace, loss)
    return Finding(
        message=f"{code(trace, site, f'`{loss.name}`')} is given cosines: with {count} of them it cannot fall below"
        f" {lowest:.3g}",
        cause=site,
        cause_label="nothing has divided them by a temperature",
        effect=places[0],
        effect_label="gives cosines, of vectors of length 1",
        related=tuple((place, "gives cosines too") for place in places[1:3]),
        seen=tuple(seen),
        fix="divide the scores by a temperature, common ones are 0.05 to 0.2: "
        + (f"`{text}`" if text else f"those of {located(trace, places[0])}"),
        edits=edits,
        subjects=frozenset({("loss", *site.location())}),
    )


def _divided(trace: Trace, loss: Op) -> tuple[str, Edits]:
    here = Source(trace, loss.site.user.path)
    node = here.file.at(loss.site.user)
    taken = loss.name != "cross_entropy"  # the logarithms, not the scores
    if taken or not isinstance(node, ast.Call) or not node.args or isinstance(node.args[0], ast.Starred):
        return "", ()
    given = node.args[0]
    text = here.file.text(given)
    new = f"{here.file.operand(given)} / {TEMPERATURE}"
    before = here.file.text(node.func)
    rest = here.file.text(node).removeprefix(before).replace(text, new, 1)
    return " ".join(f"{before}{rest}".split()), here.replace(given, new)
