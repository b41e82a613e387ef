"""Most targets of a loss stand at the padding that the attention is told to leave out.

Why: where targets are drawn from all places of a batch, most of them may be padding, which has always the same answer.
The loss falls quickly and says next to nothing of the words: their share of the gradient is as small as their share of
the targets.

Fix: put what the loss ignores in the targets there (`labels[mask == 0] = -100`), or draw from the other places.

Measured: how many targets the loss counted, all of them or those that a mask picks, and how many of them stood where
the `key_padding_mask` of the same step takes out one run at the end of each row, of several lengths; all of these had
one class.
Silent on: masks that hide other places, which may be those to be predicted; targets of several classes there; padding
that is less than half of the targets (GS746 knows it by its runs in the targets).
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import located, percent, plural, user
from gradscope.events import HiddenTargets, PaddedTargets
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._masks import CHOOSING
from gradscope.store import Trace

MOST = 0.5  # of the targets
ENOUGH = 2  # calls
PUT = {"__setitem__", "masked_fill", "masked_fill_", "where", "index_put_", "index_put"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, place, head = nn.Embedding(12, 8), nn.Embedding(16, 8), nn.Linear(8, 12)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    opt = torch.optim.Adam([p for m in (words, place, attention, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        tokens = torch.randint(2, 12, (16, 16)) * (torch.arange(16) < torch.randint(3, 8, (16, 1)))
        masked = torch.rand(16, 16) < 0.4
        labels = tokens.masked_fill(~masked, -100)  # cause: GS388
        x = words(tokens.masked_fill(masked, 1)) + place(torch.arange(16))
        y, _ = attention(x, x, x, key_padding_mask=tokens == 0)
        loss = nn.functional.cross_entropy(head(y).flatten(0, 1), labels.flatten())  # effect: GS388
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, place, head = nn.Embedding(12, 8), nn.Embedding(16, 8), nn.Linear(8, 12)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    opt = torch.optim.Adam([p for m in (words, place, attention, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        tokens = torch.randint(2, 12, (16, 16)) * (torch.arange(16) < torch.randint(3, 8, (16, 1)))
        masked = (torch.rand(16, 16) < 0.4) & (tokens != 0)
        labels = tokens.masked_fill(~masked, -100)
        x = words(tokens.masked_fill(masked, 1)) + place(torch.arange(16))
        y, _ = attention(x, x, x, key_padding_mask=tokens == 0)
        loss = nn.functional.cross_entropy(head(y).flatten(0, 1), labels.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS388", name="targets-where-the-mask-hides", severity="warning", needs=HiddenTargets)
def targets_where_the_mask_hides(trace: Trace) -> Iterator[Finding]:
    told = {event.site.user.location() for event in trace.of(PaddedTargets)}
    for event in trace.of(HiddenTargets):
        if event.calls >= ENOUGH and event.hidden > MOST * event.counted:
            if event.site.user.location() not in told:
                yield _finding(trace, event)


def _finding(trace: Trace, event: HiddenTargets) -> Finding:
    loss, mask, put = event.site.user, user(trace.site(event.mask)), _put(trace, event)
    share = percent(event.hidden / event.counted)
    drawn = _picking(trace, event)
    if drawn is not None:
        put = drawn.site.user
    at = f"give {located(trace, loss)} targets with" if put is None else f"behind {located(trace, put)} put"
    return Finding(
        message=f"{share} of the targets of `{event.name}` stand at padding, which the attention is told to leave out",
        cause=put or loss,
        cause_label="chooses places of padding as well"
        if put is not None
        else "learns to give padding for padding",
        effect=loss if put is not None else None,
        effect_label=f"counts them: class {event.index}, over and over",
        related=((mask, "takes these places out of the attention"),) if mask is not None else (),
        seen=(
            f"in {plural(event.calls, 'call')} looked at {event.counted:,} targets were counted, {event.hidden:,} of"
            f" them where `key_padding_mask` is true; all of those are {event.index}",
        ),
        fix=f"draw from the places alone that the mask leaves in: put `& ~padding` behind {located(trace, put)}, where"
        " `padding` is what the attention gets as `key_padding_mask`"
        if drawn is not None and put is not None
        else f"{at} {event.ignored} wherever the mask takes a place out, or draw from the other places alone",
        count=event.calls,
        subjects=frozenset({("padding", *loss.location())}),
    )


def _picking(trace: Trace, event: HiddenTargets) -> Op | None:
    """What made the mask that picks the targets, where one does."""
    known = paths(trace)
    for _, op in known.used_calls({event.name}):
        if op.site.user.span() == event.site.user.span() and len(op.inputs) > 1:
            pick = known.maker((op.graph, op.inputs[1]))
            if pick is not None and pick.name in CHOOSING and len(pick.inputs) == 2:
                mask = pick.graph, pick.inputs[1]
                return known.maker(mask) if known.value(mask).dtype == "bool" else None
    return None


def _put(trace: Trace, event: HiddenTargets) -> Site | None:
    """Where the targets were last given what the loss ignores."""
    known = paths(trace)
    for _, op in known.used_calls({event.name}):
        if op.site.user.span() == event.site.user.span() and len(op.inputs) > 1:
            made = _last_put(known, (op.graph, op.inputs[1]))
            return made.site.user if made is not None else None
    return None


def _last_put(known: Paths, targets: tuple[int, int]) -> Op | None:
    for key in known.flow([targets]).order:
        maker = known.maker(key)
        if maker is not None and maker.name in PUT:
            return maker
    return None
