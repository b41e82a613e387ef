"""The other class's probability is taken as the sigmoid of `1 - x`, where `x` is a score and not a probability.

Why: `1 - p` is what a probability leaves to the other class. Of a score it is `-x`: `1 - sigmoid(x)` equals
`sigmoid(-x)`. `sigmoid(1 - x)` is that of another score, shifted by 1: the two probabilities add up to more than 1, the
lowest loss is at the wrong score, and what is learned is too sure of the first class.

Fix: `logsigmoid(-x)`.

Measured: a loss is computed both from the sigmoid of `x` (or its logarithm) and from that of `1 - x`. Silent on: one of
the two alone, as a score that is turned round and shifted by a threshold, and on other numbers than 1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import (
    ADDITIONS,
    ALIASES,
    CASTS,
    NEGATIONS,
    REVERSED_SUBTRACTIONS,
    SIGMOIDS,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.senses import seen_from
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.source import one_less
from gradscope.store import Trace

ONES = {"ones", "ones_like", "new_ones"}
SQUASHING = SIGMOIDS | {"log_sigmoid", "logsigmoid"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, :1] > 0).float()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        score = model(x)
        there = nn.functional.logsigmoid(score)  # effect: GS463
        not_there = nn.functional.logsigmoid(1 - score)  # cause: GS463
        loss = -(y * there + (1 - y) * not_there).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, :1] > 0).float()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        score = model(x)
        there = nn.functional.logsigmoid(score)
        not_there = nn.functional.logsigmoid(-score)
        loss = -(y * there + (1 - y) * not_there).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS463", name="complement-of-a-score", severity="warning")
def complement_of_a_score(trace: Trace) -> Iterator[Finding]:
    known, told = paths(trace), set[tuple[str, int]]()
    of: dict[Key, Op] = {}  # score → the call that makes a probability of it
    turned: list[tuple[Key, Op, Op]] = []
    for _, op in known.used_calls(SQUASHING):
        given = (op.graph, op.inputs[0])
        of.setdefault(_score(known, given), op)
        maker = known.maker_behind(given, ALIASES | CASTS)
        score = _turned(known, maker) if maker is not None else None
        if maker is not None and score is not None:
            turned.append((_score(known, score), maker, op))
    for score, less, op in turned:
        direct, site = of.get(score), less.site.user
        rest = _rest(trace, less)
        if direct is not None and rest is not None and site.location() not in told:
            told.add(site.location())
            yield _finding(trace, known, less, op, direct, rest)


def _turned(known: Paths, op: Op) -> Key | None:
    """The score that a call takes from 1, or from a tensor of ones; or adds its negative to a number."""
    inputs = [(op.graph, index) for index in op.inputs]
    if op.name in REVERSED_SUBTRACTIONS and len(inputs) == 1:
        return inputs[0]
    if op.name in SUBTRACTIONS and len(inputs) == 2:
        less, rest = inputs[::-1] if op.name in REVERSED_SUBTRACTIONS else inputs
        ones = known.maker_behind(less, CASTS)
        return rest if ones is not None and ones.name in ONES else None
    negative = known.maker(inputs[0]) if op.name in ADDITIONS and len(inputs) == 1 else None
    if negative is not None and negative.name in NEGATIONS:
        return negative.graph, negative.inputs[0]
    return None


def _rest(trace: Trace, less: Op) -> ast.expr | None:
    """`x` of `1 - x`, `torch.ones_like(x) - x`, or `-x + 1` in the text."""
    node = trace.source_file(less.site.user.path).at(less.site.user)
    if len(less.inputs) == 2:
        return node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else None
    if less.name not in ADDITIONS:
        return one_less(node)
    for negative, one in (
        _both_ways(node) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else ()
    ):
        if isinstance(one, ast.Constant) and one.value == 1 and isinstance(negative, ast.UnaryOp):
            return negative.operand
    return None


def _both_ways(node: ast.BinOp) -> tuple[tuple[ast.expr, ast.expr], ...]:
    return (node.left, node.right), (node.right, node.left)


def _score(known: Paths, key: Key) -> Key:
    return known.made(known.source_behind(key, ALIASES | CASTS))


def _finding(trace: Trace, known: Paths, less: Op, op: Op, direct: Op, rest: ast.expr) -> Finding:
    site, place, plain = less.site.user, seen_from(op, less.site.user), seen_from(direct, less.site.user)
    here = Source(trace, site.path)
    node = here.file.at(site)
    new = f"-{here.part(rest, Binds.SIGN)}"
    edits: Edits = here.replace(node, new) if isinstance(node, ast.expr) else ()
    event = known.loss_of((op.graph, op.outputs[0]))
    return Finding(
        message=f"{code(trace, site, '`1 - x`')} is taken for the score of the other class: the sigmoids of the two add"
        " up to more than 1",
        cause=site,
        cause_label="is what a probability leaves; of a score that is `-x`",
        effect=plain,
        effect_label="takes the same numbers for scores",
        related=((place, "makes a probability of it"),) if place.location() != site.location() else (),
        seen=(
            f"the loss takes the sigmoid of these scores, and of 1 less the scores, in"
            f" {passes(known.alike(event))} of this line",
        )
        if event is not None
        else (),
        fix=f"`{new}` in place of {located(trace, site)}: `1 - sigmoid(x)` is `sigmoid(-x)`",
        edits=edits,
        subjects=frozenset({("scores", site.location())}),
    )
