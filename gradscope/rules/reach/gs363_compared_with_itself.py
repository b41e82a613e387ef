"""A contrastive loss lets each sample choose itself: of all similarities in a row the one with itself is the largest.

Why: the softmax of a row asks which of all others belongs to a sample. The similarity of normalised vectors with
themselves is 1, the largest there is: it takes the most of the row's probability whatever the network learns, the loss
stays high, and its gradient goes to making that smaller, which nothing can.

Where the diagonal itself is picked for the positives, each sample is its own positive, and the other view of it is one
of the negatives, that are pushed away.

Fix: take it out before the softmax: `sim.masked_fill(torch.eye(n, dtype=torch.bool), float("-inf"))`.

Measured: the rows that `cross_entropy` compares, or a softmax of which the diagonal is taken, or the sums of
exponentials that are set against one positive for each row, are the product of one value with its own transpose, scaled
by numbers alone.
Silent on: similarities of two different views; rows whose label may be the sample itself; masks by hand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope import equations
from gradscope.analysis.ops import (
    CASTS,
    DIAGONALS,
    DIVISIONS,
    EXPONENTIALS,
    LOGARITHMS,
    NEGATIONS,
    PASSING,
    PRODUCTS_OF_MATRICES,
    SCALES,
    SOFTMAXES,
    SUBTRACTIONS,
    SUMS,
)  # fmt: skip
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located, parameter_subjects, plural
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

TRANSPOSES = {"t", "T", "mT", "transpose", "permute", "swapaxes"}
COUNTED = {"arange"}
SPREAD = {"unsqueeze", "__getitem__", "expand", "repeat"}  # to be compared each with each
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
    for key, total in known.used_calls({"logsumexp", "sum"}):
        product = _summed_up(known, total)
        if product is None or product.site.user.location() in told or not _set_against(known, key, total):
            continue
        if (event := known.loss_of(key)) is not None:
            told.add(product.site.user.location())
            yield _finding(trace, known, event, total, product)


def _summed_up(known: Paths, total: Op) -> Op | None:
    """The product of whose rows' exponentials this is the sum: one for each row."""
    if not total.inputs or len(known.value((total.graph, total.inputs[0])).shape) != 2:
        return None
    rows: Key = (total.graph, total.inputs[0])
    size, given = known.value(rows).shape, known.value((total.graph, total.outputs[0])).shape
    if given not in (size[:1], (size[0], 1)):
        return None
    if total.name == "sum":
        power = known.maker(rows)
        if power is None or power.name not in EXPONENTIALS or not power.inputs:
            return None
        rows = (power.graph, power.inputs[0])
    return _product(known, rows)


def _set_against(known: Paths, key: Key, total: Op) -> bool:
    """Whether the sum of each row, or its logarithm, is set against one other number of each row: its positive."""
    taken = {key} if total.name == "logsumexp" else set()  # logarithms of the sum
    shape = known.value(key).shape
    for read, result, op in known.onward(
        key, lambda _, op: op is not None and op.name in PASSING | LOGARITHMS
    ):
        if op is None:
            continue
        if (read in taken and op.name in PASSING) or op.name in LOGARITHMS:
            taken.add(result)
        compares = op.name in SUMS if read in taken else op.name in DIVISIONS
        others = [(op.graph, index) for index in op.inputs if (op.graph, index) != read]
        if compares and len(op.inputs) == 2 and len(others) == 1 and _is_positive(known, others[0], shape):
            return True
    return False


def _is_positive(known: Paths, key: Key, shape: tuple[int, ...]) -> bool:
    value = known.value(key)
    if not value.requires_grad or value.shape not in (shape, shape[:1], (shape[0], 1)):
        return False
    maker = known.maker_behind(key, PASSING | SCALES | EXPONENTIALS | NEGATIONS)
    return maker is not None and maker.name not in DIAGONALS | {"logsumexp"}


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
        if _compares_each(op):
            return op if _with_itself(known, op) else None
        shifted = (
            op.name in SUBTRACTIONS
            and len(op.inputs) == 2
            and not known.value((op.graph, op.inputs[1])).requires_grad
        )  # by the largest of each row
        if op.name not in CASTS and (op.name not in SCALES or len(op.inputs) != 1) and not shifted:
            return None
        key = (op.graph, op.inputs[0])
    return None


def _compares_each(op: Op) -> bool:
    """Whether a call may compare each row of one value with each of another one."""
    return op.name in PRODUCTS_OF_MATRICES or op.name == "cosine_similarity"


def _with_itself(known: Paths, op: Op) -> bool:
    """Whether both sides are one value, once by its rows and once by its columns."""
    sides: list[Key] = [(op.graph, index) for index in op.inputs]
    if op.name == "einsum":
        equation = equations.of(op)
        if equation is None or len(equation.operands) != 2 or len(sides) != 2:
            return False
        first, second = equation.operands
        each = len(first) == len(second) == 2 and first[1] == second[1]
        return (
            each and equation.result == first[0] + second[0] and known.made(sides[0]) == known.made(sides[1])
        )
    if len(sides) != 2:
        return False
    if op.name == "cosine_similarity":
        shapes = [known.value(side).shape for side in sides]
        one, other = (known.made(known.source_behind(side, SPREAD)) for side in sides)
        return shapes[0] != shapes[1] and one == other
    turned = known.maker(sides[1])
    if turned is None or turned.name not in TRANSPOSES or not turned.inputs:
        return False
    return known.made(sides[0]) == known.made((turned.graph, turned.inputs[0]))


def _counts(known: Paths, labels: Key) -> bool:
    """Whether the label of each row may be the row itself: `torch.arange(n)`."""
    maker = known.maker_behind(labels, CASTS)
    return maker is not None and maker.name in COUNTED


def _finding(trace: Trace, known: Paths, event: Backward, loss: Op, product: Op) -> Finding:
    site = product.site.user
    size = known.value((product.graph, product.outputs[0])).shape[-1]
    text, edits = _without_itself(trace, product)
    labelled = loss.name == "cross_entropy"
    against = (
        "the labels are not the rows' own numbers"
        if labelled
        else "another number of each row is its positive"
    )
    return Finding(
        message=f"{code(trace, site, 'the product')} compares each sample with itself too: that similarity is the"
        " largest of its row, and the loss wants another one",
        cause=site,
        cause_label=f"{size} by {size}, the diagonal is each with itself",
        effect=loss.site.user,
        effect_label="takes the softmax over whole rows",
        seen=(
            f"in {plural(known.alike(event), 'pass')} the rows of `{loss.name}` were the product of one value with its"
            f" own transpose, scaled by numbers alone; {against}",
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
