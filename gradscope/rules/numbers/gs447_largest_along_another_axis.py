"""The largest along one axis is asked of what a softmax over the other axis has made.

Why: `softmax(x, dim=0)` of scores (samples, classes) makes the samples of a batch share one sum for each class. The
largest of a row is then no longer the class with the highest score: one whose column happens to be low for all other
samples comes out ahead. What is predicted for a sample depends on which others are in its batch.

Fix: the softmax over the axis that is asked, `dim=1`; or none at all, as the largest score is the largest probability.

Over an axis of one place, as that of the samples is where one sample is asked about, the softmax gives 1 everywhere:
the largest of these is always the first.

Measured: a call of `argmax`, `max`, `topk`, `sort` or `multinomial` along the last axis of a matrix that a layer gave
and a softmax over its first axis; or along any other axis, or along all, where the softmax of that line went over an
axis of one place in every call. Silent on: the surest samples of each class, which are the largest along the first
axis after a softmax over the last; products of two sets of vectors, which may be compared either way; matrices with one
row or column in some calls only; and what was scaled or multiplied in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.made import softmax_site
from gradscope.analysis.ops import (
    ADDITIONS,
    ALIASES,
    CASTS,
    LARGEST,
    LAYERS,
    PRODUCTS_OF_MATRICES,
    SCALES,
    SOFTMAXES,
    SORTS,
)
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
    yield from _over_one_place(trace, known)
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
                if _weighs_rows(known, softmax):
                    continue
                told.add(place)
                yield _finding(trace, softmax, op, shape)


def _weighs_rows(known: Paths, softmax: Op) -> bool:
    """Whether a product of matrices takes what it gave, as a pooling of rows does: the shares are meant so."""
    behind = known.graph(softmax.graph).readers_behind(
        softmax.outputs, lambda op: op.name in SAME | {"T", "t"}
    )
    return any(op.name in PRODUCTS_OF_MATRICES for _, op in behind)


def _over_one_place(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Softmaxes whose line went over an axis of one place in each call, where the largest along others is asked of what
    they gave: 1 everywhere."""
    lines: dict[tuple[str, int], list[tuple[Op, tuple[int, ...], int | None]]] = {}
    counts: dict[tuple[str, int], int] = {}
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.called(SOFTMAXES):
            shape, place = (
                known.value((number, op.inputs[0])).shape if op.inputs else (),
                op.site.user.location(),
            )
            lines.setdefault(place, []).append((op, shape, _axis(op.extra.get("dims", []), shape)))
            counts[place] = counts.get(place, 0) + graph.count
    for place, calls in lines.items():
        if not all(over is not None and shape[over] == 1 and max(shape) > 1 for _, shape, over in calls):
            continue
        if any((op.graph, out) in known.used.order for op, *_ in calls for out in op.outputs):
            continue  # a loss is made of it: GS704 tells that
        for softmax, shape, over in calls:
            largest = _largest_of(known, softmax, shape, over)
            if largest is not None and over is not None:
                yield _finding_of_one(trace, softmax, largest, shape, over, counts[place])
                break


def _axis(dims: list[int], shape: tuple[int, ...]) -> int | None:
    """The one axis that is given, counted from the front."""
    return dims[0] % len(shape) if len(dims) == 1 and -len(shape) <= dims[0] < len(shape) else None


def _largest_of(known: Paths, softmax: Op, shape: tuple[int, ...], over: int | None) -> Op | None:
    """The call that asks what a softmax gave for the largest along another axis of several places, or along all."""
    behind = known.graph(softmax.graph).readers_behind(softmax.outputs, lambda op: op.name in SAME)
    for _, op in behind:
        if op.name in LARGEST | SORTS and len(op.inputs) == 1:
            asked = _asked(op)
            along = _axis(asked, shape)
            if not asked or (along is not None and along != over and shape[along] > 1):
                return op
    return None


def _finding_of_one(
    trace: Trace, softmax: Op, op: Op, shape: tuple[int, ...], over: int, count: int
) -> Finding:
    site, made = op.site.user, softmax_site(trace, softmax)
    asked = _axis(_asked(op), shape)
    several = [axis for axis, places in enumerate(shape) if places > 1]
    along_it = asked if asked is not None else several[0] if len(several) == 1 and not over else None
    number = "0" if softmax.name == "log_softmax" else "1"
    which = f"`dim={along_it}`" if along_it is not None else "the axis of the classes"
    return Finding(
        message=f"a softmax goes over an axis of one place, which makes every number {number}: the largest of them"
        " says nothing",
        cause=made,
        cause_label=f"its input is {shape}: axis {over} has one place",
        effect=site,
        effect_label="is asked for the largest of numbers that are all alike",
        seen=(
            f"axis {over} had one place in each of the {plural(count, 'call')} of this line, and the largest is asked"
            f" along {f'axis {asked}' if asked is not None else 'all axes'}",
        ),
        why=f"the softmax of one number is 1, whatever it is{', its logarithm 0' if number == '0' else ''}: among"
        " equals the first is taken for the largest",
        fix=f"give {located(trace, made, 'the softmax')} {which}; for the largest alone none is needed: it is that of"
        " the scores",
        edits=along(trace, made, softmax.name, along_it) if along_it is not None else (),
        count=count,
    )


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
