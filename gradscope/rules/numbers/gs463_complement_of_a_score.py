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

from gradscope.analysis.ops import ALIASES, CASTS, REVERSED_SUBTRACTIONS, SIGMOIDS
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.source import one_less
from gradscope.store import Trace

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
        if maker is not None and maker.name in REVERSED_SUBTRACTIONS and len(maker.inputs) == 1:
            turned.append((_score(known, (maker.graph, maker.inputs[0])), maker, op))
    for score, less, op in turned:
        direct, site = of.get(score), less.site.user
        if (
            direct is None
            or site.location() in told
            or one_less(trace.source_file(site.path).at(site)) is None
        ):
            continue
        told.add(site.location())
        yield _finding(trace, known, less, op, direct)


def _score(known: Paths, key: Key) -> Key:
    return known.made(known.source_behind(key, ALIASES | CASTS))


def _finding(trace: Trace, known: Paths, less: Op, op: Op, direct: Op) -> Finding:
    site, place = less.site.user, op.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    right = one_less(node)
    new = f"-{here.part(right, Binds.SIGN)}" if right is not None else ""
    edits: Edits = here.replace(node, new) if new and isinstance(node, ast.expr) else ()
    event = known.loss_of((op.graph, op.outputs[0]))
    return Finding(
        message=f"{code(trace, site, '`1 - x`')} is taken for the score of the other class: the sigmoids of the two add"
        " up to more than 1",
        cause=site,
        cause_label="is what a probability leaves; of a score that is `-x`",
        effect=direct.site.user,
        effect_label="takes the same numbers for scores",
        related=((place, "makes a probability of it"),) if place.location() != site.location() else (),
        seen=(
            f"the loss takes the sigmoid of these scores, and of 1 less the scores, in"
            f" {passes(known.alike(event))} of this line",
        )
        if event is not None
        else (),
        fix=f"{f'`{new}`' if new else 'the score with its sign turned round'} in place of {located(trace, site)}:"
        " `1 - sigmoid(x)` is `sigmoid(-x)`",
        edits=edits,
        subjects=frozenset({("scores", site.location())}),
    )
