"""The number that a mask puts in place of scores is no lower than they are: what was masked out gets the weight.

Why: a softmax gives a masked place no weight only if its number is far below the scores that are let through. 1e-9,
meant as -1e9, or -1 is no lower than a usual score, and scores may get below -1e4, too, where the features are large.
Behind a causal mask the model then sees what it is to predict.

Fix: `float("-inf")`, or `torch.finfo(scores.dtype).min` where a row may be masked wholly.

Measured: the weight of the masked places after the softmax, over the rows in which not all is masked, in the first
call in which it was 1 % or more. Silent on: masks that are computed from scores or drawn at random; weights
that are masked once more after the softmax.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import CASTS, MASKING, SOFTMAXES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, percent, plural
from gradscope.events import MaskWeight
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._masks import is_mask, masked_again
from gradscope.store import Trace

SAME = CASTS | {
    "view", "reshape", "squeeze", "unsqueeze", "flatten", "unflatten", "transpose", "permute", "contiguous", "clone",
}  # fmt: skip
DEEP = 8


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 6, (8, 1))
        padded = torch.arange(6) >= lengths
        scores = score(x).squeeze(-1).masked_fill(padded, 1e-9)  # cause: GS777
        weights = torch.softmax(scores, dim=1)  # effect: GS777
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
        padded = torch.arange(6) >= lengths
        scores = score(x).squeeze(-1).masked_fill(padded, float("-inf"))
        weights = torch.softmax(scores, dim=1)
        loss = head((weights.unsqueeze(-1) * x).sum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class Filled(NamedTuple):
    """A call that puts a number at the places of a mask."""

    op: Op
    mask: Key
    scores: Key
    value: Key | None  # where that number is a tensor


@rule("GS777", name="mask-value-outscored", severity="warning", needs=MaskWeight)
def mask_value_outscored(trace: Trace) -> Iterator[Finding]:
    events = {(event.site.user.span(), event.name): event for event in trace.of(MaskWeight)}
    if not events:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls(SOFTMAXES):
        event = events.get((op.site.user.span(), op.name))
        filled = _filled(known, (op.graph, op.inputs[0])) if event is not None else None
        if event is None or filled is None or filled.op.site.user.location() in told:
            continue
        if is_mask(known, filled.mask) and not masked_again(known, key, filled.mask):
            told.add(filled.op.site.user.location())
            yield _finding(trace, known, filled, op, event)


def _filled(known: Paths, key: Key) -> Filled | None:
    """What put a number at masked places of a value, where the numbers were not changed after it."""
    for _ in range(DEEP):
        sources, op = known.sources(key)
        if op is None or not sources:
            return None
        given = [(op.graph, value) for value in op.inputs]
        if op.name in MASKING and len(given) >= 2:
            return Filled(op, given[1], given[0], given[2] if len(given) > 2 else None)
        if op.name == "where" and 2 <= len(given) <= 3:
            trained = [one for one in given[1:] if known.value(one).requires_grad]
            others = [one for one in given[1:] if one not in trained]
            return Filled(op, given[0], trained[0], next(iter(others), None)) if len(trained) == 1 else None
        if op.name == "__setitem__" and 2 <= len(given) <= 3:
            return Filled(op, given[1], given[0], given[2] if len(given) > 2 else None)
        if op.name not in SAME:
            return None
        key = sources[0]
    return None


def _finding(trace: Trace, known: Paths, filled: Filled, softmax: Op, event: MaskWeight) -> Finding:
    site, effect = filled.op.site.user, softmax.site.user
    maker = known.maker(filled.value) if filled.value is not None else None
    value = f"{event.value:.6g}"
    new, edits = _lower(trace, filled, whole=bool(event.whole))
    lower = event.low < event.value
    return Finding(
        message=f"{code(trace, site, 'a mask')} puts {value} at the places that are masked out, and scores that are let"
        f" through are {'below that' if lower else 'hardly above it'}: {code(trace, effect, 'the softmax')} gives the"
        f" masked places {percent(event.share)} of the weight",
        cause=site,
        cause_label=f"puts {value} where the mask is",
        effect=effect,
        effect_label="gives what is masked out weight",
        related=((maker.site.user, f"makes {value}"),)
        if maker is not None and maker.site.user != site
        else (),
        seen=(
            f"in a call of `{softmax.name}` the scores that the mask lets through were {event.low:.6g} to"
            f" {event.high:.6g}, those that it doesn't {value}",
            f"in {plural(event.rows, 'row')} with both the masked places had {percent(event.share)} of the weight on"
            f" average, in {event.over_half} of them more than half",
        ),
        fix=f"put {f'`{new}`' if new else 'minus infinity'} there in place of {value}, in {located(trace, site)}",
        edits=edits,
    )


def _lower(trace: Trace, filled: Filled, *, whole: bool) -> tuple[str, Edits]:
    """The text of a number below all scores, in place of that which the call is given; `whole`: a row may be masked
    wholly, of which minus infinity would make NaN."""
    site: Site = filled.op.site.user
    here = Source(trace, site.path)
    call = here.file.at(site)
    if filled.op.name == "__setitem__" and not whole:
        statement = here.file.statement(site)
        if isinstance(statement, ast.Assign) and statement.targets == [call]:
            return 'float("-inf")', here.replace(statement.value, 'float("-inf")')
        return "", ()
    if not isinstance(call, ast.Call):
        return "", ()
    method = isinstance(call.func, ast.Attribute) and not here.file.is_imported(call.func)
    given = list(call.args)
    named = {word.arg: word.value for word in call.keywords}
    if method and isinstance(call.func, ast.Attribute):
        given.insert(0, call.func.value)
    if filled.op.name in MASKING:
        order = ("input", "mask", "value")
    else:
        order = ("input", "condition", "other") if method else ("condition", "input", "other")
    arguments = dict(zip(order, given, strict=False)) | named
    place = "value" if filled.op.name in MASKING else _other(trace, filled)
    node, scores = arguments.get(place), arguments.get("other" if place == "input" else "input")
    if node is None or any(isinstance(one, ast.Starred) for one in given):
        return "", ()
    if not whole:
        new = 'float("-inf")'
    elif isinstance(scores, (ast.Name, ast.Attribute)) and "torch" in here.file.imported:
        new = f"torch.finfo({here.file.text(scores)}.dtype).min"
    else:
        return "torch.finfo(scores.dtype).min", ()
    return new, here.replace(node, new)


def _other(trace: Trace, filled: Filled) -> str:
    """Which argument of `where` is the number."""
    return "other" if filled.op.inputs[1] == filled.scores[1] else "input"
