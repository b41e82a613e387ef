"""A mask sets scores to 0 before a softmax: what was masked out gets weight all the same.

Why: a softmax takes the exponential of a score, and that of 0 is 1. Padding, or an action that is not allowed, then has
the weight of an ordinary score, and more of it takes more from all others.

Fix: minus infinity in place of 0: `scores.masked_fill(mask == 0, float("-inf"))`, or a large negative number where a
row may be masked wholly.

Measured: how many of the scores were exactly 0, and that the mask was made by a comparison, or of booleans or
integers, and not of anything trained. Silent on: weights that are multiplied by the same mask after the softmax; masks
drawn at random; masks that are the same along the axis of the softmax.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import CASTS, MASKING, PASSING, SCALES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located, percent
from gradscope.events import ZeroScores
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import makers
from gradscope.rules.numbers._masks import (
    TRIANGLES,
    Masked,
    is_mask,
    masked_again,
    softmax_axis,
    varies_along,
    written_value,
    zeroed,
)
from gradscope.source import called_name
from gradscope.store import Trace

SOFTMAXES = {"softmax", "log_softmax", "cross_entropy", "logsumexp"}
LEAST = 0.005  # of the scores
DEEP = 8


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 6, (8, 1))
        mask = (torch.arange(6) < lengths).float()
        scores = score(x).squeeze(-1) * mask  # cause: GS742
        weights = torch.softmax(scores, dim=1)  # effect: GS742
        loss = head((weights.unsqueeze(-1) * x).sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 6, (8, 1))
        mask = (torch.arange(6) < lengths).float()
        scores = score(x).squeeze(-1).masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(scores, dim=1)
        loss = head((weights.unsqueeze(-1) * x).sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS742", name="masked-scores-of-zero", severity="warning", needs=ZeroScores)
def masked_scores_of_zero(trace: Trace) -> Iterator[Finding]:
    shares = {(event.site.user.span(), event.name): event.share for event in trace.of(ZeroScores)}
    if not shares:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls(SOFTMAXES):
        share = shares.get((op.site.user.span(), op.name), 0.0)
        found = _masked(known, (op.graph, op.inputs[0])) if share >= LEAST else None
        if found is None or found.op.site.user.location() in told:
            continue
        axis = softmax_axis(known, op)
        if axis is None:
            continue
        if found.mask is None:
            again = axis not in (-1, -2) or _cut_again(known, key)
        else:
            again = not varies_along(known, found, axis) or not is_mask(known, found.mask)
            again = again or masked_again(known, key, found.mask)
        if not again:
            told.add(found.op.site.user.location())
            yield _finding(trace, known, found, op, share)


def _cut_again(known: Paths, weights: Key) -> bool:
    """Whether a triangle is cut out of the weights, too."""
    steps = known.onward(weights, lambda _, op: op is None or op.name in PASSING | SCALES)
    return any(op is not None and op.name in TRIANGLES for _, _, op in steps)


def _masked(known: Paths, key: Key) -> Masked | None:
    """What set the scores to 0, where nothing but a scaling or a cast comes after it."""
    for _ in range(DEEP):
        sources, op = known.sources(key)
        if op is None or not sources:
            return None
        if (found := zeroed(known, op)) is not None:
            return found
        if op.name not in CASTS and not (op.name in SCALES and len(op.inputs) == 1):
            return None
        key = sources[0]
    return None


def _finding(trace: Trace, known: Paths, found: Masked, softmax: Op, share: float) -> Finding:
    site = found.op.site.user
    made = makers(known, found.mask) if found.mask is not None else []
    maker = made[0][1] if made else None
    text, edits = _with_infinity(trace, found)
    what = "a mask" if found.mask is not None else "a triangle"
    by = f"; the mask was made by {located(trace, maker.site.user)}" if maker is not None else ""
    return Finding(
        message=f"{code(trace, site, what)} sets scores to 0, and {code(trace, softmax.site.user, 'the softmax')}"
        " gives each of them weight: the exponential of 0 is 1",
        cause=site,
        cause_label="0 where the mask is 0" if found.mask is not None else "0 outside of the triangle",
        effect=softmax.site.user,
        effect_label="gives what is masked out the weight of an ordinary score",
        seen=(f"{percent(share)} of what `{softmax.name}` was given first were exactly 0{by}",),
        fix=f"put a large negative number in their place: `{text}`"
        if text
        else f"put minus infinity in place of 0 in {located(trace, site)}, by `masked_fill`",
        edits=edits,
    )


def _with_infinity(trace: Trace, found: Masked) -> tuple[str, Edits]:
    """`scores.masked_fill(mask == 0, -1e9)` for `scores * mask`."""
    here = Source(trace, found.op.site.user.path)
    node = here.file.at(found.op.site.user)
    dtype = trace.graph(found.scores[0]).values[found.scores[1]].dtype
    number = "-1e4" if dtype == "float16" else "-1e9"
    if found.op.name == "__setitem__":
        line = here.file.statement(found.op.site.user)
        value = written_value(line)
        if line is None or value is None:
            return "", ()
        edits = here.replace(value, number)
        return here.text_after(line, edits), edits
    if found.mask is None:
        return _triangle(trace, here, found.op, number)
    if found.op.name == "where" and isinstance(node, ast.Call):
        last = node.args[-1]
        if isinstance(last, ast.Constant):
            edits = here.replace(last, number)
            return here.text_after(node, edits), edits
        return "", ()
    if found.op.name in MASKING and isinstance(node, ast.Call):
        given = [here.file.text(one) for one in node.args[: None if node.keywords else -1]]
        new = f"{here.file.text(node.func)}({', '.join([*given, number])})"
        edits = with_argument(trace, found.op.site.user, "value", number, position=len(node.args) - 1)
        return " ".join(new.split()), edits
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult) or len(found.op.inputs) != 2:
        return "", ()
    sides = [node.left, node.right]
    if found.op.inputs[0] != found.scores[1]:
        sides.reverse()
    scores, mask = (here.file.operand(side) for side in sides)
    new = f"{scores}.masked_fill({mask} == 0, {number})"
    return " ".join(new.split()), here.replace(node, new)


def _triangle(trace: Trace, here: Source, op: Op, number: str) -> tuple[str, Edits]:
    """`scores.masked_fill(torch.ones_like(scores).tril() == 0, -1e9)` for `torch.tril(scores)`."""
    node, of = here.file.at(op.site.user), written_input(trace, op, 0)
    if not isinstance(node, ast.Call) or not isinstance(of, (ast.Name, ast.Attribute)):
        return "", ()
    name = called_name(node)
    if name.endswith("_"):
        return "", ()
    scores = here.file.text(of)
    rest = [here.file.text(one) for one in node.args if one is not of]
    rest += [f"{word.arg}={here.file.text(word.value)}" for word in node.keywords]
    kept = f"torch.ones_like({scores}).{name}({', '.join(rest)})"
    new = f"{here.part(of)}.masked_fill({kept} == 0, {number})"
    return new, here.replace(node, new)
