"""A contrastive loss lets each sample choose itself: of all similarities in a row the one with itself is the largest.

Why: the softmax of a row asks which of all others belongs to a sample. The similarity of normalised vectors with
themselves is 1, the largest there is: it takes the most of the row's probability whatever the network learns, the loss
stays high, and its gradient goes to making that smaller, which nothing can.

Where the diagonal itself is picked for the positives, each sample is its own positive, and the other view of it is one
of the negatives, that are pushed away.

Fix: take it out before the softmax: `sim.masked_fill(torch.eye(n, dtype=torch.bool), float("-inf"))`.

Measured: the rows that `cross_entropy` compares, or a softmax of which the diagonal is taken, are the product of one
value with its own transpose, scaled by numbers alone.
Silent on: similarities of two different views; rows whose label may be the sample itself; masks by hand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import CASTS, DIAGONALS, SCALES, SOFTMAXES, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import written_input
from gradscope.analysis.trails import PRODUCTS
from gradscope.analysis.words import code, located, parameter_subjects, plural
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

TRANSPOSES = {"t", "T", "mT", "transpose", "permute", "swapaxes"}
COUNTED = {"arange"}
DEEP = 6  # scalings between the product and the loss


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6)
        views = torch.cat([x + 0.1 * torch.randn(8, 6), x + 0.1 * torch.randn(8, 6)])
        z = nn.functional.normalize(encoder(views), dim=1)
        similar = z @ z.t()  # cause: GS363
        labels = torch.cat([torch.arange(8, 16), torch.arange(8)])
        loss = nn.functional.cross_entropy(similar / 0.5, labels)  # effect: GS363
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6)
        views = torch.cat([x + 0.1 * torch.randn(8, 6), x + 0.1 * torch.randn(8, 6)])
        z = nn.functional.normalize(encoder(views), dim=1)
        similar = (z @ z.t()).masked_fill(torch.eye(16, dtype=torch.bool), float("-inf"))
        labels = torch.cat([torch.arange(8, 16), torch.arange(8)])
        loss = nn.functional.cross_entropy(similar / 0.5, labels)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS363", name="compared-with-itself", severity="warning")
def compared_with_itself(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, loss in known.used_calls({"cross_entropy"}):
        if len(loss.inputs) != 2 or _counts(known, (loss.graph, loss.inputs[1])):
            continue
        product = _product(known, (loss.graph, loss.inputs[0]))
        if product is None or product.site.user.location() in told:
            continue
        if (event := known.loss_of(key)) is not None:
            told.add(product.site.user.location())
            yield _finding(trace, known, event, loss, product)
    for key, picked in known.used_calls({"__getitem__"} | DIAGONALS):
        rows = known.maker((picked.graph, picked.inputs[0])) if picked.inputs else None
        if rows is None or rows.name not in SOFTMAXES or not _is_diagonal(known, picked):
            continue
        product = _product(known, (rows.graph, rows.inputs[0]))
        if product is None or product.site.user.location() in told:
            continue
        if len(known.readers((picked.graph, picked.inputs[0]))) > 1:
            continue  # what else is read may be the other view
        if (event := known.loss_of(key)) is not None:
            told.add(product.site.user.location())
            yield _own_positive(trace, known, event, picked, product)


def _is_diagonal(known: Paths, op: Op) -> bool:
    """Whether a call takes the diagonal of its first input: as such, or by a mask that `eye` has made."""
    if op.name in DIAGONALS:
        return len(op.inputs) == 1
    mask = known.maker_behind((op.graph, op.inputs[1]), CASTS | {"bool"}) if len(op.inputs) == 2 else None
    return mask is not None and mask.name == "eye"


def _product(known: Paths, key: Key) -> Op | None:
    """The product of a value with its own transpose that these rows are, scaled by numbers alone."""
    for _ in range(DEEP):
        op = known.maker(key)
        if op is None or not op.inputs:
            return None
        if op.name in PRODUCTS and len(op.inputs) == 2:
            first, second = ((op.graph, index) for index in op.inputs)
            turned = known.maker(second)
            itself = turned is not None and turned.name in TRANSPOSES and bool(turned.inputs)
            if itself and turned is not None:
                second = (turned.graph, turned.inputs[0])
            return op if itself and known.made(first) == known.made(second) else None
        shifted = (
            op.name in SUBTRACTIONS
            and len(op.inputs) == 2
            and not known.value((op.graph, op.inputs[1])).requires_grad
        )  # by the largest of each row
        if op.name not in CASTS and (op.name not in SCALES or len(op.inputs) != 1) and not shifted:
            return None
        key = (op.graph, op.inputs[0])
    return None


def _counts(known: Paths, labels: Key) -> bool:
    """Whether the label of each row may be the row itself: `torch.arange(n)`."""
    maker = known.maker_behind(labels, CASTS)
    return maker is not None and maker.name in COUNTED


def _finding(trace: Trace, known: Paths, event: Backward, loss: Op, product: Op) -> Finding:
    site = product.site.user
    size = known.value((product.graph, product.outputs[0])).shape[-1]
    text, edits = _without_itself(trace, product)
    return Finding(
        message=f"{code(trace, site, 'the product')} compares each sample with itself too: that similarity is the"
        " largest of its row, and the loss wants another one",
        cause=site,
        cause_label=f"{size} by {size}, the diagonal is each with itself",
        effect=loss.site.user,
        effect_label="takes the softmax over whole rows",
        seen=(
            f"in {plural(known.alike(event), 'pass')} the rows of `{loss.name}` were the product of one value with its"
            " own transpose, scaled by numbers alone; the labels are not the rows' own numbers",
        ),
        fix=f"take the diagonal out: {text}",
        edits=edits,
        subjects=parameter_subjects(known.behind((product.graph, product.outputs[0])))
        | {("similar", *site.location())},
    )


def _own_positive(trace: Trace, known: Paths, event: Backward, picked: Op, product: Op) -> Finding:
    site, made = picked.site.user, product.site.user
    size = known.value((product.graph, product.outputs[0])).shape[-1]
    text, _ = _without_itself(trace, product)
    return Finding(
        message=f"{code(trace, site, 'the diagonal')} takes the similarity of each sample with itself for that with"
        " its positive: the loss compares no two views, it pushes all others away",
        cause=site,
        cause_label=f"the diagonal of {size} by {size}: each with itself",
        effect=event.site.user,
        effect_label="learns nothing of what belongs together",
        related=((made, "the product of one value with its own transpose"),),
        seen=(
            f"in {plural(known.alike(event), 'pass')} the rows of the softmax were the product of one value with its"
            " own transpose, scaled by numbers alone, and their diagonal was all that the loss read",
        ),
        why="of normalised vectors the similarity with themselves is the same number whatever the network learns: it"
        " has no gradient, and the other view of a sample is one of those that are pushed away",
        fix=f"take the diagonal out, {text}, and let the label of each row be the place of its other view:"
        f" `cross_entropy(rows, labels)` in place of {located(trace, site)}",
        subjects=parameter_subjects(known.behind((product.graph, product.outputs[0])))
        | {("similar", *made.location())},
    )


def _without_itself(trace: Trace, product: Op) -> tuple[str, Edits]:
    site = product.site.user
    here = Source(trace, site.path)
    node, first = here.file.at(site), written_input(trace, product, 0)
    rows = f"{here.part(first)}.shape[0]" if first is not None else "n"
    device = f", device={here.part(first)}.device" if first is not None else ""
    mask = f'.masked_fill(torch.eye({rows}, dtype=torch.bool{device}), float("-inf"))'
    if not isinstance(node, ast.expr) or first is None or "torch" not in here.file.imported:
        return f"`{mask}` behind {located(trace, site)}", ()
    return f"`{mask}` behind {located(trace, site)}", here.behind(node, mask)
