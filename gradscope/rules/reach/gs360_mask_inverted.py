"""The mask of attention is the wrong way round: only the padding takes part.

Why: `F.scaled_dot_product_attention` takes True for "takes part", `key_padding_mask` of `nn.MultiheadAttention` and of
the Transformer's layers takes True for "is left out". A mask that was made for the one hides every token from the
other, and shows it the padding: what comes out of the attention is the same for all rows.

Fix: give it the opposite: `~mask`.

Measured: in the tokens of a batch one stood at the end of the rows, more or less often in each, and nowhere else; in
every call that was looked at none but those places took part.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.words import code, located, plural
from gradscope.events import InvertedMask
from gradscope.fixes.masks import PADDING_MASKS, turned_argument
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 2  # calls


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
