"""A softmax over the places of a sequence gives weight to its padding: nothing takes it out.

Why: rows of several lengths are filled up with one token. A softmax over all places spreads its weights over the
filling, too: what a row comes to depends on how long the longest row of its batch is, and is another thing alone than
among others.

Fix: `scores.masked_fill(tokens == 0, float("-inf"))` before the softmax, with the token that is padding.

Measured: in the tokens of a batch one stood at the end of the rows, more or less often in each, and nowhere else; and
of the weights of the softmax over as many places in that step those of the padding, which places of padding did not ask
for. A note where they are less than a tenth.
Silent on: weights that are masked afterwards, and lines that in any call looked at gave padding nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import ADDITIONS, MASKING, MULTIPLICATIONS, PASSING, PRODUCTS_OF_MATRICES, SCALES
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located, percent, plural
from gradscope.events import PaddedAttention
from gradscope.fixes.calls import first_argument
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 2  # calls
MUCH = 0.1  # of the weights


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, score, head = nn.Embedding(12, 8, padding_idx=0), nn.Linear(8, 1), nn.Linear(8, 2)
    opt = torch.optim.Adam([*words.parameters(), *score.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        lengths = torch.randint(2, 7, (16, 1))
        tokens = torch.randint(1, 12, (16, 6)) * (torch.arange(6) < lengths)
        x = words(tokens)  # effect: GS353
        weights = torch.softmax(score(x).squeeze(2), dim=1)  # cause: GS353
        pooled = (weights.unsqueeze(2) * x).sum(1)
        loss = nn.functional.cross_entropy(head(pooled), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, score, head = nn.Embedding(12, 8, padding_idx=0), nn.Linear(8, 1), nn.Linear(8, 2)
    opt = torch.optim.Adam([*words.parameters(), *score.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        lengths = torch.randint(2, 7, (16, 1))
        tokens = torch.randint(1, 12, (16, 6)) * (torch.arange(6) < lengths)
        x = words(tokens)
        scores = score(x).squeeze(2).masked_fill(tokens == 0, float("-inf"))
        pooled = (torch.softmax(scores, dim=1).unsqueeze(2) * x).sum(1)
        loss = nn.functional.cross_entropy(head(pooled), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS353", name="attention-on-padding", severity="warning", needs=PaddedAttention)
def attention_on_padding(trace: Trace) -> Iterator[Finding]:
    events = trace.of(PaddedAttention)
    if not events:
        return
    known = paths(trace)
    calls: dict[tuple[str, int], Op] = {}
    for _, call in known.used_calls({"softmax"}):
        calls.setdefault(call.site.user.location(), call)
    lines: dict[tuple[str, int], list[PaddedAttention]] = {}
    for event in events:  # of one line those of the training, and those of each evaluation
        lines.setdefault(event.site.user.location(), []).append(event)
    for place, found in lines.items():
        op = calls.get(place)
        if (
            op is not None
            and sum(e.calls for e in found) >= ENOUGH
            and _weighs(known, op)
            and not _is_masked(known, op)
        ):
            yield _finding(trace, known, max(found, key=lambda e: e.weight), op)


def _weighs(known: Paths, op: Op) -> bool:
    """Whether what it gives weighs other values, and is no share of classes, of which there may be as many."""
    graph = known.graph(op.graph)
    return any(
        reader.name in PRODUCTS_OF_MATRICES | MULTIPLICATIONS
        and any(graph.values[index].requires_grad for index in reader.inputs if index != value)
        for value, reader in graph.readers_behind(op.outputs, lambda r: r.name in PASSING | {"dropout"})
    )


def _is_masked(known: Paths, op: Op) -> bool:
    """Whether the scores were masked before (by what takes out nothing, then, or everything: GS729, GS793), or the
    weights are filled, or multiplied with something that has no gradient."""
    graph = known.graph(op.graph)
    scores = known.maker_behind((graph.id, op.inputs[0]), PASSING | SCALES)
    if scores is not None and scores.name in MASKING | {"where"}:
        return True
    if (
        scores is not None
        and scores.name in ADDITIONS
        and not all(graph.values[index].requires_grad for index in scores.inputs)
    ):
        return True
    for reader in graph.consumers.get(op.outputs[0], ()):
        others = [graph.values[index] for index in reader.inputs if index != op.outputs[0]]
        if reader.name in MASKING or (
            reader.name in SCALES and any(not other.requires_grad for other in others)
        ):
            return True
    return False


def _finding(trace: Trace, known: Paths, event: PaddedAttention, op: Op) -> Finding:
    place = event.site.user
    tokens = trace.site(event.tokens)
    fix, edits = _masked(trace, known, event, op)
    return Finding(
        message=f"{code(trace, place, 'the softmax')} gives {percent(event.weight)} of its weights to padding: nothing"
        " takes it out",
        cause=place,
        cause_label="goes over the padding as over any other token",
        effect=tokens.user if tokens is not None else None,
        effect_label=f"is given these tokens: {event.index} stands at the end of the rows",
        seen=(
            f"in {plural(event.calls, 'call')} looked at {event.padded} of {event.places} tokens were {event.index},"
            " all of them at the ends of rows",
            f"of the weights of a row with padding {percent(event.weight)} went there, which is"
            f" {percent(event.share)} of its places",
        ),
        fix=fix,
        edits=edits,
        severity="" if event.weight >= MUCH else "note",
        count=event.calls,
        subjects=frozenset({("padding", *place.location())}),
    )


def _masked(trace: Trace, known: Paths, event: PaddedAttention, op: Op) -> tuple[str, Edits]:
    """The scores without those of the padding, before the softmax."""
    place = event.site.user
    here = Source(trace, place.path)
    node = here.file.at(place)
    tokens = first_argument(trace, trace.site(event.tokens), place)
    shape = known.value((op.graph, op.inputs[0])).shape
    dims = op.extra.get("dims") or (len(shape) - 1,)
    form = (event.index, "".join(".unsqueeze(1)" for _ in shape[2:]))
    last = dims[0] % len(shape) == len(shape) - 1
    mask = (
        f"({tokens or 'tokens'} == {form[0]}){form[1]}"
        if len(shape) > 2
        else f"{tokens or 'tokens'} == {form[0]}"
    )
    text = f'.masked_fill({mask}, float("-inf"))'
    by_hand = f"take the padding out of the scores before {located(trace, place)}: `scores{text}`"
    scores = written_input(trace, op, 0) if isinstance(node, ast.Call) and tokens and last else None
    if scores is None or (isinstance(node, ast.Call) and not isinstance(node.func, ast.Attribute)):
        return by_hand, ()
    written = here.part(scores, Binds.PRIMARY)
    edits = here.around(scores, "", text, Binds.PRIMARY)
    return f"take the padding out before the softmax: `{written}{text}` in {located(trace, place)}", edits
