"""One mask leaves places out of attention where it is true, and is multiplied with as if it kept them.

Why: `key_padding_mask` is true for the places that no query may look at. The same mask as a factor is 1 there and 0
everywhere else: what is multiplied by it is lost for every place that takes part (a place's position, its loss), and
is kept for the padding alone.

Fix: multiply by `~mask`.

Measured: the same values, unchanged or in another shape, are the mask that attention adds minus infinity for, and a
factor on the way to a loss. Silent where the other half is kept by `~mask` and added to it, and where what is
multiplied is one number or what is trained by itself (an entry of its own for padding).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from gradscope.analysis.ops import (
    ALIASES,
    CASTS,
    INVERSIONS,
    MASKING,
    MULTIPLICATIONS,
    SOFTMAXES,
    SUBTRACTIONS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.words import code, located, where
from gradscope.fixes.masks import Turned, turned_round
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, arguments, names_in
from gradscope.store import Trace

SHAPED = (
    CASTS
    | ALIASES
    | {"unsqueeze", "view", "reshape", "expand", "expand_as", "__getitem__", "contiguous", "clone"}
)


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, head = nn.Embedding(10, 8, padding_idx=0), nn.Linear(8, 2)
    places = nn.Parameter(torch.randn(6, 8))
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    own = [*embed.parameters(), *head.parameters(), *attention.parameters(), places]
    opt = torch.optim.SGD(own, lr=0.1)
    tokens = torch.randint(1, 10, (16, 6))
    tokens[::2, 4:] = 0
    for _ in range(3):
        padding = tokens == 0
        x = embed(tokens) + (places + 0.1 * embed(tokens)) * padding.unsqueeze(-1)  # cause: GS464
        y, _ = attention(x, x, x, key_padding_mask=padding)  # effect: GS464
        loss = nn.functional.cross_entropy(head(y[:, 0]), tokens[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, head = nn.Embedding(10, 8, padding_idx=0), nn.Linear(8, 2)
    places = nn.Parameter(torch.randn(6, 8))
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    own = [*embed.parameters(), *head.parameters(), *attention.parameters(), places]
    opt = torch.optim.SGD(own, lr=0.1)
    tokens = torch.randint(1, 10, (16, 6))
    tokens[::2, 4:] = 0
    for _ in range(3):
        padding = tokens == 0
        x = embed(tokens) + (places + 0.1 * embed(tokens)) * (~padding).unsqueeze(-1)
        y, _ = attention(x, x, x, key_padding_mask=padding)
        loss = nn.functional.cross_entropy(head(y[:, 0]), tokens[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS464", name="mask-used-both-ways", severity="warning")
def mask_used_both_ways(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(MASKING | {"multi_head_attention_forward"}):
        return
    known = paths(trace)
    left_out = _left_out(known)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls(MULTIPLICATIONS) if left_out else ():
        for place, index in enumerate(op.inputs[:2]):
            mask = _plain(known, (op.graph, index))
            if mask not in left_out or len(op.inputs) != 2 or op.site.user.location() in told:
                continue
            other = (op.graph, op.inputs[1 - place])
            if prod(known.value(other).shape) == 1 or known.parameter_of(known.source_behind(other, SHAPED)):
                continue
            if not _halves_meet(known, key, mask):
                told.add(op.site.user.location())
                yield _finding(trace, known, op, place, left_out[mask])


def _plain(known: Paths, key: Key) -> Key:
    """Where a mask was made, before it was given another shape or type."""
    return known.made(known.source_behind(key, SHAPED))


def _left_out(known: Paths) -> dict[Key, Op]:
    """Masks of whole places that are true where attention does not look, with its call."""
    found: dict[Key, Op] = {}
    for _, op in known.used_calls({"multi_head_attention_forward", *SOFTMAXES}):
        given = op.inputs[4:] if op.name not in SOFTMAXES else op.inputs[:1]
        for index in given:
            key = (op.graph, index)
            filled = known.maker(key)
            if filled is not None and filled.name in MASKING and len(filled.inputs) > 1:
                key = (filled.graph, filled.inputs[1])
            elif op.name in SOFTMAXES:
                continue
            mask = _plain(known, key)
            whole = known.value((op.graph, op.inputs[0])).shape
            if known.value(mask).dtype == "bool" and len(known.value(mask).shape) == 2 and len(whole) > 2:
                found.setdefault(mask, op)
    return found


def _halves_meet(known: Paths, product: Key, mask: Key) -> bool:
    """Whether the product is added to one with the mask turned round, so that each place gets one of two things, or
    is taken away from something, which keeps the other places of that."""
    for _, reader in known.used.feeds.get(product, ()):
        if (
            reader is not None
            and reader.name in SUBTRACTIONS
            and (reader.graph, reader.inputs[-1]) == product
        ):
            return True
        for index in reader.inputs if reader is not None and reader.name in SUMS else ():
            other = known.maker((reader.graph, index)) if reader is not None else None
            if other is None or other.name not in MULTIPLICATIONS:
                continue
            sides = [known.maker(_plain(known, (other.graph, side))) for side in other.inputs]
            turned = [op for op in sides if op is not None and op.name in INVERSIONS]
            if any(_plain(known, (op.graph, op.inputs[0])) == mask for op in turned):
                return True
    return False


def _handed_over(trace: Trace, turned: Turned, op: Op) -> Site | None:
    """The call that gave the mask to the function, where it is an argument of that."""
    file = trace.source_file(turned.site.path)
    scope, node = file.scope(turned.site), file.at(turned.site)
    taken = {a.arg for a in arguments(scope)} if isinstance(scope, FUNCTIONS) else set()
    if node is None or names_in(node, ast.Load).isdisjoint(taken - {"self"}):
        return None
    frames = [frame for frame in (*op.site.stack, op.site.user) if frame.kind == "user"]
    here = turned.site.path, turned.site.function
    own = [n for n, frame in enumerate(frames) if (frame.path, frame.function) == here]
    return frames[own[0] - 1] if own and own[0] else None


def _finding(trace: Trace, known: Paths, op: Op, place: int, attention: Op) -> Finding:
    site = op.site.user
    boolean = known.value((op.graph, op.inputs[place])).dtype == "bool"
    turned = turned_round(trace, site, place, boolean=boolean, picks=False)
    event = known.loss_of((op.graph, op.outputs[0]))
    mask = f"`{turned.text}`" if turned.text else "the mask"
    given = _handed_over(trace, turned, op)
    return Finding(
        message=f"{code(trace, site, 'the product')} keeps just the places that the same mask leaves out of attention",
        cause=turned.site,
        cause_label="is true where attention does not look: 0 for all that takes part",
        effect=attention.site.user,
        effect_label="takes the same mask for what is left out",
        related=(
            *(((site, "is 0 at every other place"),) if turned.site.location() != site.location() else ()),
            *(((given, "hands the mask over"),) if given is not None else ()),
        ),
        seen=(
            f"{mask} is the mask of {code(trace, attention.site.user, 'the attention')}, and a factor here, in"
            f" {passes(known.alike(event))} of this line",
        )
        if event is not None
        else (),
        fix=f"turn it round here: `{turned.new}` ({where(turned.site)})"
        + (f", or hand over the other one in {located(trace, given)}" if given is not None else "")
        if turned.new
        else f"turn the mask round in {located(trace, site)}",
        edits=turned.edits,
    )
