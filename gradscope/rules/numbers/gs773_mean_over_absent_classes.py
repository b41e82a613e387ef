"""A mean is taken over all classes of a product with one-hot labels, of which all but one are zero.

Why: `(one_hot * x).mean()` divides by samples and classes. Of each sample one class counts, the rest are zeros: the
loss, and every gradient, is as many times too small as there are classes. Beside another term, or under a rate that was
chosen for a cross entropy, it hardly trains.

Fix: `(one_hot * x).sum(1).mean()`.

A note, since a rate can make up for it. Measured: the labels were made one-hot by a call of the run, and multiply what
the mean is taken over. Silent on: means that are scaled afterwards.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.one_hots import one_hot
from gradscope.analysis.ops import CASTS, MEANS, MULTIPLICATIONS, NEGATIONS, SCALES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import loss_event, shape_of
from gradscope.store import Trace

KEPT = SCALES | CASTS | NEGATIONS
DEEP = 8
ENOUGH = 3  # classes


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 10)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 6), torch.randint(10, (16,))
        wanted = nn.functional.one_hot(y, 10).float()
        each = -wanted * model(x).log_softmax(1)
        opt.zero_grad()
        loss = each.mean()  # cause: GS773
        loss.backward()  # effect: GS773
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 10)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 6), torch.randint(10, (16,))
        wanted = nn.functional.one_hot(y, 10).float()
        each = -wanted * model(x).log_softmax(1)
        opt.zero_grad()
        loss = each.sum(1).mean()
        loss.backward()
        opt.step()


@rule("GS773", name="mean-over-absent-classes", severity="note")
def mean_over_absent_classes(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, mean in known.used_calls(MEANS):
        place = mean.site.user.location()
        shape = shape_of(known, (mean.graph, mean.inputs[0])) if mean.inputs else ()
        if place in told or shape_of(known, key) or len(shape) != 2 or shape[1] < ENOUGH:
            continue
        product = _product(known, (mean.graph, mean.inputs[0]), shape)
        if product is not None and not _scaled(known, key):
            told.add(place)
            yield _finding(trace, known, mean, product, shape)


def _product(known: Paths, key: Key, shape: tuple[int, ...]) -> Op | None:
    """The product with one-hot labels of this shape that a value is, weighted since, perhaps."""
    for _ in range(DEEP):
        op = known.maker(key)
        if op is None or op.name not in KEPT or not op.inputs:
            return None
        sides = [(op.graph, i) for i in op.inputs]
        if op.name in MULTIPLICATIONS and any(
            shape_of(known, side) == shape and _is_label(known, side) for side in sides
        ):
            return op
        tracked = [
            side for side in sides if known.value(side).requires_grad and shape_of(known, side) == shape
        ]
        if len(tracked) != 1:
            return None
        key = tracked[0]
    return None


def _is_label(known: Paths, key: Key) -> bool:
    """Whether these are one-hot labels, or their negatives."""
    op = known.maker(key)
    if op is not None and op.name in NEGATIONS:
        key = (op.graph, op.inputs[0])
    return one_hot(known, key) is not None


def _scaled(known: Paths, key: Key) -> bool:
    """Whether what the mean gives is multiplied, or divided: by the number of classes, perhaps."""
    readers = known.used.feeds.get(key, ())
    return any(op is not None and op.name in SCALES for _, op in readers)


def _finding(trace: Trace, known: Paths, mean: Op, product: Op, shape: tuple[int, ...]) -> Finding:
    cause = mean.site.user
    passed = loss_event(known, mean)
    fix, edits = _summed(trace, mean)
    return Finding(
        message=f"{code(trace, cause, 'the mean')} divides by {shape[1]} classes, of which one counts for each sample:"
        f" the loss is {shape[1]} times too small",
        cause=cause,
        cause_label="a mean over zeros",
        effect=passed.site.user
        if passed is not None and passed.site.user.location() != cause.location()
        else None,
        effect_label="goes back from it",
        related=((product.site.user, "multiplies by one-hot labels"),),
        seen=(
            f"it goes over {shape[0]} samples and {shape[1]} classes, and one-hot labels were multiplied in before",
        ),
        fix=fix,
        edits=edits,
        subjects=frozenset({("mean", *cause.location())}),
    )


def _summed(trace: Trace, mean: Op) -> tuple[str, Edits]:
    """The sum over the classes before the mean, and the edit."""
    site = mean.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and isinstance(func, ast.Attribute) and not node.args and not node.keywords:
        new = f"{here.file.operand(func.value)}.sum(1)"
        return f"`{new}.mean()` in place of {located(trace, site)}", here.replace(func.value, new)
    return f"sum over the classes before the mean is taken in {located(trace, site)}: `.sum(1).mean()`", ()
