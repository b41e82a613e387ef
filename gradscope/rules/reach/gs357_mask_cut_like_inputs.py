"""The mask of a loss over the next tokens is cut like the inputs, and not like the labels: it begins one place late.

Why: the labels are the tokens from the second on, `tokens[1:]`. A mask that says which tokens are to be learned has to
lose its first place with them. Cut like the inputs, `mask[:-1]`, it leaves out the first token of each answer, which
then is never trained, and lets in the padding behind the last.

Fix: `mask[1:]`.

Measured: in each of the first calls of its line the mask of the losses, or of the labels that a number below 0 takes
out of the loss, lets through one run of each row, whose last label is the one that fills the rest, and the first label
before the run, after one and the same token, is left out. Silent on: masks that are not cut, padding that is the token
of the end, masks whose last label is not the padding in every row but those that fill the batch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import place
from gradscope.analysis.ops import MASKING, MULTIPLICATIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located, plural, quoted
from gradscope.events import LateMask
from gradscope.fixes.source import Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 2  # calls
_FILLS = MASKING | {"__setitem__"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(12, 16), nn.Linear(16, 12)
    opt = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens, mask = torch.zeros(8, 10, dtype=torch.long), torch.zeros(8, 10)
        for row in range(8):
            n = 1 + row % 3  # a question, 1, an answer, 2, and zeros
            tokens[row, : 2 * n + 2] = torch.tensor(
                [*torch.randint(3, 12, (n,)), 1, *torch.randint(3, 12, (n,)), 2]
            )
            mask[row, n + 1 : 2 * n + 2] = 1
        inputs, labels, weight = tokens[:, :-1], tokens[:, 1:], mask[:, :-1]  # cause: GS357
        losses = nn.functional.cross_entropy(
            head(embedding(inputs)).transpose(1, 2), labels, reduction="none"
        )
        loss = (losses * weight).sum() / weight.sum()  # effect: GS357
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(12, 16), nn.Linear(16, 12)
    opt = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens, mask = torch.zeros(8, 10, dtype=torch.long), torch.zeros(8, 10)
        for row in range(8):
            n = 1 + row % 3  # a question, 1, an answer, 2, and zeros
            tokens[row, : 2 * n + 2] = torch.tensor(
                [*torch.randint(3, 12, (n,)), 1, *torch.randint(3, 12, (n,)), 2]
            )
            mask[row, n + 1 : 2 * n + 2] = 1
        inputs, labels, weight = tokens[:, :-1], tokens[:, 1:], mask[:, 1:]
        losses = nn.functional.cross_entropy(
            head(embedding(inputs)).transpose(1, 2), labels, reduction="none"
        )
        loss = (losses * weight).sum() / weight.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS357", name="mask-cut-like-inputs", severity="warning", needs=LateMask)
def mask_cut_like_inputs(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event in trace.of(LateMask):
        loss = trace.site(event.loss)
        if event.calls < ENOUGH or loss is None:
            continue
        for op in trace.called_at(event.site.id, MULTIPLICATIONS | _FILLS):
            given = _of_losses(trace, op, loss) if op.name in MULTIPLICATIONS else _of_labels(op)
            cut = _slice(known, given[0], last=True) if given is not None else None
            labels = _slice(known, given[1], last=False) if given is not None else None
            if cut is not None and labels is not None:
                yield _finding(trace, event, *cut, labels[0])
                break


def _of_losses(trace: Trace, product: Op, loss: Site) -> tuple[Key, Key] | None:
    """The mask that losses are multiplied with, and the labels that they are of."""
    graph = trace.graph(product.graph)
    masks = [(graph.id, index) for index in product.inputs if not graph.values[index].requires_grad]
    compared = [op for op in graph.ops if op.site.id == loss.id and len(op.inputs) > 1]
    return (masks[0], (graph.id, compared[0].inputs[1])) if len(masks) == 1 and compared else None


def _of_labels(fill: Op) -> tuple[Key, Key] | None:
    """The mask of what is filled, and the labels that are."""
    return ((fill.graph, fill.inputs[1]), (fill.graph, fill.inputs[0])) if len(fill.inputs) == 2 else None


def _slice(known: Paths, value: Key, *, last: bool) -> tuple[Site, ast.Subscript, ast.Slice] | None:
    """What leaves out the last place of rows, or the first, on the way to a value."""
    for key in known.flow([value]).order:
        op = known.maker(key)
        if op is None or op.name != "__getitem__":
            continue
        node = known.trace.source_file(op.site.user.path).at(op.site.user)
        if not isinstance(node, ast.Subscript):
            return None
        entry = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        if not isinstance(entry, ast.Slice) or entry.step is not None:
            return None
        bounds = [None if bound is None else ast.unparse(bound) for bound in (entry.lower, entry.upper)]
        if bounds == ([None, "-1"] if last else ["1", None]):
            return op.site.user, node, entry
        return None
    return None


def _finding(
    trace: Trace, event: LateMask, site: Site, node: ast.Subscript, entry: ast.Slice, labels: Site
) -> Finding:
    here = Source(trace, site.path)
    right = here.text_with(node, entry, "1:")
    mask = quoted(here.file.text(node))
    return Finding(
        message=f"{mask} is cut like the inputs, and the labels are {located(trace, labels)}: the mask of the loss"
        " begins one place late",
        cause=site,
        cause_label="leaves out the last place, where the labels leave out the first",
        effect=event.site.user if event.site.user.location() != site.location() else None,
        effect_label="leaves out the first label of each answer, and learns the padding behind it",
        seen=(
            f"in {plural(event.calls, 'call')} looked at, of {event.rows:,} rows, the last of the places that it lets"
            f" through had the label {event.padding} in each, as all places behind it and none before it, and the one"
            f" before that the label {event.end}: {event.rows:,} of {event.kept:,} places are padding",
            "the label before the first of them, after one and the same token in all rows, is left out in each",
        ),
        fix=f"cut the mask like the labels: {quoted(right) if right else '`[1:]`'} in place of {mask} ({place(site)})",
        edits=here.replace(entry, "1:"),
        count=event.calls,
        subjects=frozenset({("mask", *event.site.user.location())}),
    )
