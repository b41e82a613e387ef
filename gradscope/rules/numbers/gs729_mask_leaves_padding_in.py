"""A mask that is given to an attention takes out nothing, while the tokens end in padding.

Why: rows of several lengths are filled up with one token. Where the mask says of each place that it counts, the
attention takes the padding for words: what the network gives depends on how far a batch is padded, and at another
length than in training it is another answer.

Fix: make the mask from the tokens, where they are padding, or from the lengths of the rows.

Measured: in all calls that were looked at the mask took out no place, and in the tokens that an embedding of the same
form was given in that step one token stood at the end of the rows, more or less often in each, and nowhere else.
Silent on: attentions without a mask, masks that take out any place in any of these calls, tokens without such runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.ops import COMPARISONS
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, percent, plural
from gradscope.events import OpenMask
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 4  # calls


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, head = nn.Embedding(12, 8), nn.Linear(8, 2)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    opt = torch.optim.Adam([*words.parameters(), *attention.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        lengths = torch.randint(2, 7, (16, 1))
        tokens = torch.randint(1, 12, (16, 6)) * (torch.arange(6) < lengths)
        mask = torch.ones(16, 6)
        x = words(tokens)
        y, _ = attention(x, x, x, key_padding_mask=mask == 0)  # cause: GS729
        loss = nn.functional.cross_entropy(head(y[:, 0]), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, head = nn.Embedding(12, 8), nn.Linear(8, 2)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    opt = torch.optim.Adam([*words.parameters(), *attention.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        lengths = torch.randint(2, 7, (16, 1))
        tokens = torch.randint(1, 12, (16, 6)) * (torch.arange(6) < lengths)
        mask = (tokens != 0).float()
        x = words(tokens)
        y, _ = attention(x, x, x, key_padding_mask=mask == 0)
        loss = nn.functional.cross_entropy(head(y[:, 0]), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS729", name="mask-leaves-padding-in", severity="warning", needs=OpenMask)
def mask_leaves_padding_in(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(OpenMask):
        place = event.site.user
        if event.calls >= ENOUGH and place.location() not in told:
            told.add(place.location())
            yield _finding(trace, event, place)


def _finding(trace: Trace, event: OpenMask, place: Site) -> Finding:
    site = trace.site(event.tokens)
    tokens, compared = site.user if site is not None else None, _compared(trace, event)
    made = compared or _made(trace, event)
    fix = (
        f"compare the tokens with {event.index} in {located(trace, compared)}: that is what the rows are filled up with"
        if compared is not None
        else f"make the mask from the tokens, in {located(trace, made or place)}: they count where they are not"
        f" {event.index} (`tokens != {event.index}`)"
    )
    given = (
        ((tokens, f"is given these tokens: {event.index} stands at the end of the rows"),) if tokens else ()
    )
    attends = "attends to the padding as to any other token"
    return Finding(
        message=f"the mask in {code(trace, place, f'`{event.name}`')} takes out nothing, though"
        f" {percent(event.padded / event.places)} of the tokens are padding",
        cause=compared or place,
        cause_label="compares the tokens with another number" if compared else attends,
        effect=place if compared is not None else None,
        effect_label=attends,
        related=(
            *(
                ((made, "compares them with another number" if compared else "what the mask is made of"),)
                if made is not None
                else ()
            ),
            *given,
        ),
        seen=(
            f"in {plural(event.calls, 'call')} looked at the mask took out no place; in the first of them"
            f" {event.padded} of {event.places} tokens were {event.index}, all of them at the ends of rows",
        ),
        fix=fix,
        count=event.calls,
    )


def _compared(trace: Trace, event: OpenMask) -> Site | None:
    """The user's line that made the mask by comparing these tokens with a number that is not the padding's."""
    known = paths(trace)
    for _, op in known.used_calls({event.name}):
        if op.site.id != event.site.id:
            continue
        graph = known.graph(op.graph)
        embeddings = [one for one in graph.called({"embedding"}) if one.site.id == event.tokens]
        tokens = {known.made((graph.id, index)) for one in embeddings for index in one.inputs}
        tokens = {key for key in tokens if known.value(key).dtype == "int64"}
        masks = [(op.graph, index) for index in op.inputs if not graph.values[index].requires_grad]
        for key in known.flow(masks).order:
            maker = known.maker(key)
            if maker is not None and maker.name in COMPARISONS and len(maker.inputs) == 1:
                if known.made((maker.graph, maker.inputs[0])) in tokens:
                    return maker.site.user
        return None
    return None


def _made(trace: Trace, event: OpenMask) -> Site | None:
    """The user's line that made the numbers of the mask, where it is one and another than the call's."""
    known = paths(trace)
    for _, op in known.used_calls({event.name}):
        if op.site.id != event.site.id:
            continue
        graph = known.graph(op.graph)
        masks = [index for index in op.inputs if not graph.values[index].requires_grad]
        places = {
            maker.site.user.location(): maker.site.user
            for key in known.flow([(op.graph, index) for index in masks]).order
            if (maker := known.maker(key)) is not None and not maker.inputs
        }
        lines = [site for location, site in places.items() if location != event.site.user.location()]
        return lines[0] if len(lines) == 1 else None
    return None
