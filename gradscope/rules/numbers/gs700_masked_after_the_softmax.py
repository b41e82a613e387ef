"""Weights are masked after their softmax and not brought back to a sum of one.

Why: a softmax shares out a weight of one among all places, those that are to be masked with them. Setting some to zero
afterwards takes their share away: what is left sums to less than one, the more is masked the less, and the scores of
the masked places (padding, or what comes later in a sequence) still decide how much.

Fix: mask the scores, before the softmax, with a large negative number.

Measured: that the mask has zeros, and was made by a comparison, or of booleans or integers, and not of anything
trained; that the weights so masked weigh values in a product. Silent on: scores that were masked too, weights that are
divided by their sum, masks drawn at random, masks that are the same along the axis of the softmax.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import (
    ADDITIONS,
    CASTS,
    FILLED_WHERE,
    MULTIPLICATIONS,
    NORMS,
    PASSING,
    PRODUCTS_OF_BATCHES,
    QUOTIENTS,
    SCALES,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located, percent
from gradscope.events import ZeroOnes
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._masks import TRIANGLES, Masked, is_mask, softmax_axis, varies_along, zeroed
from gradscope.source import names_in
from gradscope.store import Trace

KEEPING = CASTS | {"dropout", "clone", "contiguous"}
SUMMED = NORMS | QUOTIENTS | {"sum", "normalize", "logsumexp", "softmax", "cumsum"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, value = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD([*query.parameters(), *key.parameters(), *value.parameters()], lr=0.1)
    later = torch.triu(torch.ones(6, 6), diagonal=1).bool()
    for _ in range(3):
        x = torch.randn(8, 6, 4)
        scores = query(x) @ key(x).transpose(1, 2) / 2
        weights = torch.softmax(scores, dim=-1)  # effect: GS700
        weights = weights.masked_fill(later, 0.0)  # cause: GS700
        loss = (weights @ value(x) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, value = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD([*query.parameters(), *key.parameters(), *value.parameters()], lr=0.1)
    later = torch.triu(torch.ones(6, 6), diagonal=1).bool()
    for _ in range(3):
        x = torch.randn(8, 6, 4)
        scores = query(x) @ key(x).transpose(1, 2) / 2
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        loss = (weights @ value(x) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS700", name="masked-after-the-softmax", severity="warning")
def masked_after_the_softmax(trace: Trace) -> Iterator[Finding]:
    events = {event.site.user.span(): event for event in trace.of(ZeroOnes)}
    if trace.op_names.isdisjoint({"softmax"}):
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, softmax in known.used_calls({"softmax"}):
        axis = softmax_axis(known, softmax)
        if axis is None or _is_masked(known, (softmax.graph, softmax.inputs[0])):
            continue
        for masked, op in _masked(known, key):
            event = events.get(op.op.site.user.span())
            place = op.op.site.user.location()
            if place in told or (event is None and op.mask is not None) or not varies_along(known, op, axis):
                continue
            if (op.mask is None or is_mask(known, op.mask)) and _weighs(known, masked):
                told.add(place)
                yield _finding(trace, op, softmax, event)


def _masked(known: Paths, weights: Key) -> Iterator[tuple[Key, Masked]]:
    """What sets some of the weights to 0, each with its result."""
    for _, result, op in known.onward(weights, lambda _, op: op is None or op.name in KEEPING):
        if op is not None and op.name not in KEEPING and (found := zeroed(known, op)) is not None:
            yield result, found


def _is_masked(known: Paths, scores: Key) -> bool:
    """Whether something was put into the scores, or added to them, that no parameter had a part in."""
    maker = known.maker_behind(scores, PASSING | SCALES)
    if maker is None:
        return False
    others = [(maker.graph, value) for value in maker.inputs]
    added = maker.name in ADDITIONS and any(not known.fed_by(other) for other in others)
    return added or maker.name in FILLED_WHERE | TRIANGLES


def _weighs(known: Paths, weights: Key) -> bool:
    """Whether they weigh values in a product as they are, and nothing sums them up."""
    found = False
    for value, _, op in known.onward(weights, lambda _, op: op is None or op.name in PASSING | KEEPING):
        if op is None:
            continue
        if op.name in SUMMED and op.inputs and op.inputs[0] == value[1]:
            return False
        if op.name in QUOTIENTS:
            return False
        found |= op.name in PRODUCTS_OF_BATCHES or (op.name in MULTIPLICATIONS and _is_summed(known, op))
    return found


def _is_summed(known: Paths, product: Op) -> bool:
    readers = known.readers((product.graph, product.outputs[0])) if product.outputs else []
    return len(product.inputs) == 2 and any(op is not None and op.name == "sum" for op in readers)


def _finding(trace: Trace, found: Masked, softmax: Op, event: ZeroOnes | None) -> Finding:
    site, made = found.op.site.user, softmax.site.user
    text, edits = _scores_masked(trace, found, softmax)
    seen: tuple[str, ...] = ()
    if event is not None:
        share = percent(event.zeros / event.elements)
        seen = (f"{share} of the mask's places are set to 0, and nothing divides by what is left",)
    return Finding(
        message=f"{code(trace, site, 'a mask')} sets weights to 0 after {code(trace, made, 'their softmax')}: what is"
        " left sums to less than one",
        cause=site,
        cause_label="takes their weight away"
        if site.location() != made.location()
        else "masks after the softmax",
        effect=made,
        effect_label="has shared out a weight of one among all of them",
        seen=seen,
        fix=f"mask the scores before the softmax: `{text}` in {located(trace, made)}"
        if text
        else f"put a large negative number into the scores before {located(trace, made)}, where the mask says so",
        edits=edits,
        subjects=frozenset({("masked", *site.location())}),
    )


def _scores_masked(trace: Trace, found: Masked, softmax: Op) -> tuple[str, Edits]:
    """`scores.masked_fill(mask == 0, -1e9)` for the scores that the softmax is given."""
    here = Source(trace, softmax.site.user.path)
    scores, mask = written_input(trace, softmax, 0), _mask_text(trace, found)
    statement = here.file.statement(softmax.site.user)
    if scores is None or not mask or statement is None or found.op.site.user.path != softmax.site.user.path:
        return "", ()
    if here.file.scope(found.op.site.user) is not here.file.scope(softmax.site.user):
        return "", ()
    between = [
        s for s in here.file.siblings(statement) if statement.lineno <= s.lineno < found.op.site.user.line
    ]
    if any(names_in(s, ast.Store) & names_in(ast.parse(mask), ast.Load) for s in between):
        return "", ()
    dtype = trace.graph(softmax.graph).values[softmax.inputs[0]].dtype
    number = "-1e4" if dtype == "float16" else "-1e9"
    new = f"{here.part(scores)}.masked_fill({mask}, {number})"
    return " ".join(new.split()), here.replace(scores, new)


def _mask_text(trace: Trace, found: Masked) -> str:
    """What is True where the weights are set to 0."""
    here = Source(trace, found.op.site.user.path)
    node = here.file.at(found.op.site.user)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and found.mask is not None:
        side = node.right if found.op.inputs[0] == found.scores[1] else node.left
        return f"{here.part(side)} == 0"
    if found.op.name.startswith("masked_fill") and isinstance(node, ast.Call) and node.args:
        method = isinstance(node.func, ast.Attribute) and not here.file.is_imported(node.func)
        return here.text_of(node.args[0 if method else 1])
    return ""
