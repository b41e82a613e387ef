"""The largest along one axis is asked of what a softmax over the other axis has made.

Why: `softmax(x, dim=0)` of scores (samples, classes) makes the samples of a batch share one sum for each class. The
largest of a row is then no longer the class with the highest score: one whose column happens to be low for all other
samples comes out ahead. What is predicted for a sample depends on which others are in its batch.

Fix: the softmax over the axis that is asked, `dim=1`; or none at all, as the largest score is the largest probability.

Measured: a call of `argmax`, `max`, `topk`, `sort` or `multinomial` along the last axis of a matrix that a layer gave
and a softmax over its first axis. Silent on: the surest samples of each class, which are the largest along the first
axis after a softmax over the last; products of two sets of vectors, which may be compared either way; matrices with one
row or column; and what was scaled or multiplied in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.made import softmax_site
from gradscope.analysis.ops import ADDITIONS, ALIASES, CASTS, LARGEST, LAYERS, SCALES, SOFTMAXES, SORTS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, plural
from gradscope.fixes.calls import along
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

DRAWING = {"multinomial"}  # from each row
LAST = SORTS | {"topk"}  # go along the last axis where none is given
PRODUCTS = {"matmul", "mm"}
SAME = CASTS | ALIASES | {"clone", "contiguous"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x[:, :3].argmax(1)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        chances = torch.softmax(model(x), dim=0)  # cause: GS447
        print((chances.argmax(dim=1) == y).float().mean().item())  # effect: GS447


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x[:, :3].argmax(1)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        chances = torch.softmax(model(x), dim=1)
        print((chances.argmax(dim=1) == y).float().mean().item())


@rule("GS447", name="largest-along-another-axis", severity="warning")
def largest_along_another_axis(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(SOFTMAXES) or trace.op_names.isdisjoint(LARGEST | SORTS | DRAWING):
        return
    known, told = paths(trace), set[tuple[str, int]]()
    for number in known.graph_ids:
        for op in known.graph(number).called(LARGEST | SORTS | DRAWING):
            softmax = known.maker_behind((number, op.inputs[0]), SAME) if op.inputs else None
            if softmax is None or softmax.name not in SOFTMAXES or not softmax.inputs:
                continue
            scores = softmax.graph, softmax.inputs[0]
            shape, asked, over = known.value(scores).shape, _asked(op), softmax.extra.get("dims", [])
            apart = len(shape) == 2 and asked in ([1], [-1]) and over in ([0], [-2])
            place = softmax.site.user.location()
            if apart and min(shape) > 1 and place not in told and _is_of_a_layer(known, scores):
                told.add(place)
                yield _finding(trace, softmax, op, shape)


def _asked(op: Op) -> list[int]:
    """The axis along which the largest is asked: the last one, where a call of these goes along that unasked."""
    return [-1] if op.name in DRAWING else op.extra.get("dims") or ([-1] if op.name in LAST else [])


def _is_of_a_layer(known: Paths, key: Key) -> bool:
    """Whether a layer, or a product with a parameter, gave these scores: its features are then their last axis."""
    op = known.maker_behind(key, SAME | ADDITIONS | SCALES)
    if op is None or op.name not in PRODUCTS | LAYERS or len(op.inputs) < 2:
        return False
    return op.name in LAYERS or known.value((op.graph, op.inputs[1])).kind == "parameter"


def _finding(trace: Trace, softmax: Op, op: Op, shape: tuple[int, ...]) -> Finding:
    site, made = op.site.user, softmax_site(trace, softmax)
    asks = "is asked for the largest" if op.name not in DRAWING else "is drawn from"
    return Finding(
        message=f"{code(trace, site, f'`{op.name}`')} goes along axis 1 of what a softmax over axis 0 has made: what it"
        " compares in a row are shares of different sums",
        cause=made,
        cause_label=f"adds up to 1 along axis 0 of {shape}",
        effect=site,
        effect_label=f"each row {asks}, along axis 1",
        seen=(
            f"the softmax made {plural(shape[1], 'sum')} of 1, each over {shape[0]} numbers of different rows",
        ),
        fix=f"give {located(trace, made, 'the softmax')} `dim=1`; for the largest alone none is needed: it is that of"
        " the scores",
        edits=along(trace, made, softmax.name, 1),
    )
