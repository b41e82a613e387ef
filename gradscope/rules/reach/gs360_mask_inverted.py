"""The mask of attention is the wrong way round: only the padding takes part.

Why: `F.scaled_dot_product_attention` takes True for "takes part", `key_padding_mask` of `nn.MultiheadAttention` and of
the Transformer's layers takes True for "is left out". A mask that was made for the one hides every token from the
other, and shows it the padding: what comes out of the attention is the same for all rows.

Fix: give it the opposite: `~mask`.

Measured: in the tokens of a batch one stood at the end of the rows, more or less often in each, and nowhere else; in
every call that was looked at none but those places took part, or all of a softmax' weights went to them behind a mask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradscope.analysis.ops import ADDITIONS, MASKING, PASSING, SCALES
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, percent, plural
from gradscope.events import InvertedMask, PaddedAttention
from gradscope.fixes.masks import PADDING_MASKS, turned_argument, turned_round
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 2  # calls
ALL = 0.9999  # of the weights


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, project, head = nn.Embedding(12, 8, padding_idx=0), nn.Linear(8, 24), nn.Linear(8, 2)
    attend, parts = nn.functional.scaled_dot_product_attention, nn.ModuleList([words, project, head])
    opt = torch.optim.Adam(parts.parameters(), lr=0.01)
    for _ in range(6):
        lengths = torch.randint(2, 6, (16, 1))
        tokens = torch.randint(1, 12, (16, 6)) * (torch.arange(6) < lengths)
        query, key, value = project(words(tokens)).chunk(3, dim=-1)
        mask = (tokens == 0).unsqueeze(1)
        seen = attend(query, key, value, attn_mask=mask)  # cause: GS360
        loss = nn.functional.cross_entropy(head(seen[:, 0]), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, project, head = nn.Embedding(12, 8, padding_idx=0), nn.Linear(8, 24), nn.Linear(8, 2)
    attend, parts = nn.functional.scaled_dot_product_attention, nn.ModuleList([words, project, head])
    opt = torch.optim.Adam(parts.parameters(), lr=0.01)
    for _ in range(6):
        lengths = torch.randint(2, 6, (16, 1))
        tokens = torch.randint(1, 12, (16, 6)) * (torch.arange(6) < lengths)
        query, key, value = project(words(tokens)).chunk(3, dim=-1)
        mask = (tokens != 0).unsqueeze(1)
        seen = attend(query, key, value, attn_mask=mask)
        loss = nn.functional.cross_entropy(head(seen[:, 0]), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS360", name="mask-inverted", severity="warning")
def mask_inverted(trace: Trace) -> Iterator[Finding]:
    lines: dict[tuple[str, int], list[InvertedMask]] = {}
    for event in trace.of(InvertedMask):
        lines.setdefault(event.site.user.location(), []).append(event)
    for events in lines.values():
        if sum(event.calls for event in events) >= ENOUGH:
            yield _finding(trace, max(events, key=lambda event: event.calls))
    yield from _by_hand(trace)


def _by_hand(trace: Trace) -> Iterator[Finding]:
    """Scores that are masked before a softmax which gives all of its weights to padding."""
    whole = [event for event in trace.of(PaddedAttention) if event.weight > ALL and event.share < ALL]
    lines = Counter(event.site.user.location() for event in whole for _ in range(event.calls))
    if not lines:
        return
    known = paths(trace)
    events = {event.site.user.location(): event for event in whole[::-1]}
    for _, softmax in known.used_calls({"softmax"}):
        place = softmax.site.user.location()
        masking = known.maker_behind((softmax.graph, softmax.inputs[0]), PASSING | SCALES)
        if lines[place] < ENOUGH or masking is None or masking.name not in MASKING | {"where"} | ADDITIONS:
            continue
        lines[place] = 0
        yield _of_scores(trace, known, events[place], masking, softmax)


def _of_scores(trace: Trace, known: Paths, event: PaddedAttention, masking: Op, softmax: Op) -> Finding:
    place, tokens = masking.site.user, trace.site(event.tokens)
    masks = [
        at for at, value in enumerate(masking.inputs) if known.value((masking.graph, value)).dtype == "bool"
    ]
    turned = turned_round(trace, place, masks[0], boolean=True) if len(masks) == 1 else None
    new = f": `{turned.new}` in place of `{turned.text}`" if turned is not None and turned.new else ""
    return Finding(
        message=f"{code(trace, place, 'the mask')} is the wrong way round: it leaves every token out and lets the"
        " padding take part",
        cause=place,
        cause_label="takes the scores of the tokens out",
        effect=softmax.site.user,
        effect_label="gives all of its weights to padding",
        related=((tokens.user, f"{event.index} is its padding"),) if tokens is not None else (),
        seen=(
            f"in {plural(event.calls, 'call')}, of {event.places:,} tokens {event.padded:,} were the {event.index} that"
            f" fills rows up: in such a row they had {percent(event.weight)} of the weights",
        ),
        fix=f"turn the mask round in {located(trace, place)}{new}",
        edits=turned.edits if turned is not None else (),
        subjects=frozenset({("masked", *place.location())}),
    )


def _finding(trace: Trace, event: InvertedMask) -> Finding:
    place, tokens = event.site.user, trace.site(event.tokens)
    turned = turned_argument(trace, place, ("attn_mask", *PADDING_MASKS), boolean=event.boolean)
    return Finding(
        message=f"the mask of {code(trace, place, 'the attention')} is the wrong way round: it leaves every token out"
        " and lets the padding take part",
        cause=place,
        cause_label="sees nothing but padding",
        related=((tokens.user, f"{event.index} is its padding"),) if tokens is not None else (),
        seen=(
            f"in {plural(event.calls, 'call')}, of {event.places:,} tokens {event.padded:,} took part, all of them the"
            f" {event.index} that fills rows up",
        ),
        fix=f"give it the opposite: `{turned.new}` ({located(trace, place)})",
        edits=turned.edits,
        subjects=frozenset({("masked", *place.location())}),
    )
