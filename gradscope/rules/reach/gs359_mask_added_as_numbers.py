"""A mask of zeros and ones is added to the scores of attention: it masks nothing.

Why: a softmax gives no weight to what is minus infinity. To add a mask that says which places count, or which do not,
adds 1 to some scores: these get 2.7 times the weight, and every place still takes part. A causal mask then hides
nothing of the future, a padding mask nothing of the padding.

Fix: fill the scores with minus infinity where the mask says so: `scores.masked_fill(mask, float("-inf"))`, or add a
mask that holds 0 and minus infinity.

Measured: the numbers that were added, and that the softmax of their sum weighs what is multiplied by it.
Silent on: a softmax that is no attention (a margin that is added to the scores of the wrong classes), masks with a
gradient, biases of other numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import ADDITIONS, ATTENTION, MASKING, PASSING, PRODUCTS_OF_MATRICES, SCALES
from gradscope.analysis.words import code, located
from gradscope.events import AddedMask
from gradscope.fixes.masks import ATTENTION_MASKS, PADDING_MASKS, argument
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import sides_of
from gradscope.store import Trace

_TO_THE_SOFTMAX = PASSING | SCALES | MASKING
_FROM_THE_SOFTMAX = PASSING | {"dropout", "nan_to_num", "masked_fill", "masked_fill_"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, value, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)
    parts = nn.ModuleList([query, key, value, head])
    opt = torch.optim.Adam(parts.parameters(), lr=0.01)
    for _ in range(4):
        x, lengths = torch.randn(4, 6, 8), torch.tensor([6, 3, 4, 2])
        padding = torch.arange(6) >= lengths[:, None, None]
        scores = query(x) @ key(x).transpose(1, 2) / 8**0.5
        scores = scores + padding  # cause: GS359
        weights = scores.softmax(-1)  # effect: GS359
        loss = (head(weights @ value(x)).mean(1) - x[:, :1, 0]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key, value, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)
    parts = nn.ModuleList([query, key, value, head])
    opt = torch.optim.Adam(parts.parameters(), lr=0.01)
    for _ in range(4):
        x, lengths = torch.randn(4, 6, 8), torch.tensor([6, 3, 4, 2])
        padding = torch.arange(6) >= lengths[:, None, None]
        scores = query(x) @ key(x).transpose(1, 2) / 8**0.5
        scores = scores.masked_fill(padding, float("-inf"))
        weights = scores.softmax(-1)
        loss = (head(weights @ value(x)).mean(1) - x[:, :1, 0]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Added(NamedTuple):
    graph: Graph
    op: Op
    softmax: Op


@rule("GS359", name="mask-added-as-numbers", severity="warning", needs=AddedMask)
def mask_added_as_numbers(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(AddedMask):
        place = event.site.user.location()
        if place not in told and (found := _added(trace, event)) is not None:
            told.add(place)
            yield _finding(trace, event, found)


def _added(trace: Trace, event: AddedMask) -> _Added | None:
    """The addition, where a softmax takes what comes of it and weighs something; attention does both itself."""
    for op in trace.called_at(event.site.id, ADDITIONS | ATTENTION):
        graph = trace.graph(op.graph)
        if op.name in ATTENTION:
            return _Added(graph, op, op)
        for softmax in _readers(graph, op, _TO_THE_SOFTMAX):
            weighs = (
                reader.name in PRODUCTS_OF_MATRICES for reader in _readers(graph, softmax, _FROM_THE_SOFTMAX)
            )
            if softmax.name == "softmax" and any(weighs):
                return _Added(graph, op, softmax)
    return None


def _readers(graph: Graph, op: Op, passing: set[str]) -> Iterator[Op]:
    """What takes a result of `op`, as it is or through calls of these names."""
    behind = graph.readers_behind((*op.outputs, *op.written), lambda reader: reader.name in passing)
    return (reader for _, reader in behind)


def _finding(trace: Trace, event: AddedMask, found: _Added) -> Finding:
    site, softmax = found.op.site.user, found.softmax.site.user
    inside = found.op.name in ATTENTION
    boolean = not inside and found.graph.values[found.op.inputs[event.place]].dtype == "bool"
    ones = event.elements - event.zeros
    text, edits = _as_boolean(trace, event, found) if inside else _filled(trace, event, found, boolean)
    return Finding(
        message=f"{code(trace, site, 'this')} adds a mask of {'True and False' if boolean else 'ones and zeros'} to the"
        " scores of attention as numbers: it masks nothing",
        cause=site,
        cause_label="adds 1 where the mask is True" if boolean else "adds 1 where the mask is 1",
        effect=softmax if softmax.location() != site.location() else None,
        effect_label="gives every place a weight",
        seen=(
            f"of the {event.elements:,} numbers that were added {ones:,} were 1 and all others 0; to"
            f" {located(trace, softmax, 'the softmax')} a 1 is 2.7 times the weight, and none is a weight of 0",
        ),
        fix=text,
        edits=edits,
        subjects=frozenset({("masked", *site.location())}),
    )


def _as_boolean(trace: Trace, event: AddedMask, found: _Added) -> tuple[str, Edits]:
    """`mask == 1` in place of the numbers, which the call of attention takes for a mask."""
    site = found.op.site.user
    here = Source(trace, site.path)
    given = argument(here, site, PADDING_MASKS if event.place else ATTENTION_MASKS)
    text = here.part(given, Binds.BIT_OR) if given is not None else "mask"
    # True is what takes part there, and what is left out in every other
    takes_part = found.op.name == "scaled_dot_product_attention"
    if event.begins < 0:
        means = "takes part" if takes_part else "is left out"
        return f"give {located(trace, site)} a boolean mask: `{text} == …`, True for what {means}", ()
    new = f"{text} == {event.begins if takes_part else 1 - event.begins}"
    return (
        f"give it a boolean mask: `{new}` ({located(trace, site)})",
        here.replace(given, new) if given is not None else (),
    )


def _filled(trace: Trace, event: AddedMask, found: _Added, boolean: bool) -> tuple[str, Edits]:
    """`scores.masked_fill(mask, float("-inf"))` in place of the sum. What each row begins with is what counts: a
    sequence is padded at its end, and what comes later is what is masked of a causal one."""
    if event.begins < 0:
        return (
            "fill the scores with minus infinity where the mask is to hide something:"
            ' `scores.masked_fill(mask, float("-inf"))`, or of its opposite'
        ), ()
    site = found.op.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    adds = isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Add)
    addends = sides_of(node) if adds else None
    scores, mask = addends[:: 1 if event.place else -1] if addends is not None else (None, None)
    named = here.part(mask) if mask is not None else "mask"
    if boolean:
        masked = f"~{named}" if event.begins else here.file.text(mask) if mask is not None else named
    else:
        masked = f"{named} == {0 if event.begins else 1}"
    value = "-1e9" if event.whole else 'float("-inf")'
    new = f"{here.part(scores) if scores is not None else 'scores'}.masked_fill({masked}, {value})"
    text = f"fill in place of adding: `{new}` ({located(trace, site)})"
    values, op = found.graph.values, found.op
    if not op.outputs or values[op.outputs[0]].shape != values[op.inputs[1 - event.place]].shape:
        return text, ()  # the mask has given the sum its form
    if isinstance(node, ast.AugAssign):
        return text, here.replace(node, f"{here.file.text(node.target)} = {new}")
    return text, here.replace(node, new) if isinstance(node, ast.BinOp) else ()
