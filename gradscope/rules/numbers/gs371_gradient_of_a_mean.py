"""The gradient of a mean over samples is taken for each sample's own gradient.

Why: each sample has its share of the mean, one of n. `autograd.grad` of it gives the rows n times too small, and a norm
or a square of each row, as in a gradient penalty, is n or n² times too small: the penalty says next to nothing, and how
much depends on the size of the batch.

Fix: differentiate the sum: `autograd.grad(scores.sum(), x, create_graph=True)`. A weight of the penalty that was chosen
with the mean is to be chosen anew.

Measured: the mean went over as many samples as there are rows in what it is differentiated by, and each row of the
gradient is reduced to one number on its way to a loss, without being scaled before; or a row is one number, and added
to others, as in a differential equation.
Silent on: gradients that are scaled, or divided by their own norm; sums; means that are differentiated by parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import (
    ADDITIONS,
    COMPARING_LOSSES,
    DIVISIONS,
    NEGATIONS,
    NORMS,
    PASSING,
    POWERS,
    ROOTS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._derivatives import is_grad
from gradscope.store import Trace

DISTANCES = POWERS | NORMS | {"abs"}
TOLD = (
    (
        "makes one number of each row",
        "each row is then reduced by itself: its norm is {n} times too small, its square {square} times",
    ),
    ("adds it to others", "what is then added is {n} times too small for each sample"),
    ("compares it with data", "what is compared with data is {n} times too small for each sample"),
)  # what is made of the gradient, and what follows


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        real = torch.randn(16, 6, requires_grad=True)
        scores = critic(real)
        loss = nn.functional.softplus(-scores).mean()  # effect: GS371
        slope = torch.autograd.grad(loss, real, create_graph=True)[0]  # cause: GS371
        penalty = slope.view(16, -1).norm(dim=1).pow(2).mean()
        opt.zero_grad()
        (loss + 5 * penalty).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        real = torch.randn(16, 6, requires_grad=True)
        scores = critic(real)
        loss = nn.functional.softplus(-scores).mean()
        slope = torch.autograd.grad(scores.sum(), real, create_graph=True)[0]
        penalty = slope.view(16, -1).norm(dim=1).pow(2).mean()
        opt.zero_grad()
        (loss + 5 * penalty).backward()
        opt.step()


@rule("GS371", name="gradient-of-a-mean", severity="warning")
def gradient_of_a_mean(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls({"grad"}):
        graph = known.graph(key[0])
        place = op.site.user.location()
        if place in told or not is_grad(op):
            continue
        mean = _mean(graph, op)
        if mean is None:
            continue
        used = _row_by_row(known, key), _added(known, key, op), _compared(known, key)
        for reader, (label, follows) in zip(used, TOLD, strict=True):
            if reader is not None:
                told.add(place)
                yield _finding(trace, graph, op, mean, (reader.site.user, label), follows)
                break


def _mean(graph: Graph, op: Op) -> Op | None:
    """The mean over the samples that is differentiated, where there are as many as rows of what it is differentiated
    by."""
    rows = graph.values[op.inputs[1]].shape[:1]
    maker = graph.maker(op.inputs[0])
    while maker is not None and maker.name in PASSING | {"sum"} and graph.values[maker.inputs[0]].shape == ():
        maker = graph.maker(maker.inputs[0])
    if maker is None or maker.name != "mean" or maker.extra.get("dims") or not rows or rows[0] < 2:
        return None
    of = graph.values[maker.inputs[0]].shape
    return maker if of in (rows, (*rows, 1)) else None


def _row_by_row(known: Paths, key: Key) -> Op | None:
    """What makes one number of each row of the gradient, which may be squared or brought into another form before."""
    shape = known.value(key).shape

    def keeps_rows(result: Key, op: Op | None) -> bool:
        inner = op is not None and op.graph == key[0] and op.name in PASSING | POWERS
        return inner and known.value(result).shape[:1] == shape[:1]

    for _, result, op in known.onward(key, keeps_rows) if len(shape) > 1 else ():
        if op is not None and op.graph == key[0] and op.name in NORMS | {"sum"}:
            if known.value(result).shape in (shape[:1], (shape[0], 1)) and not _divides(known, key, result):
                return op
    return None


def _divides(known: Paths, key: Key, norm: Key) -> bool:
    """Whether the gradient is divided by its norm: its length is then 1, whatever it was."""
    steps = known.onward(norm, lambda _, op: op is not None and op.name in PASSING | ADDITIONS | ROOTS)
    own = {key} | {
        result for _, result, _ in known.onward(key, lambda _, op: op is None or op.name in PASSING)
    }
    return any(
        op is not None and op.name in DIVISIONS and len(op.inputs) == 2 and (op.graph, op.inputs[0]) in own
        for _, _, op in steps
    )


def _added(known: Paths, key: Key, grad: Op) -> Op | None:
    """What adds the gradient, or a column of it, to other numbers, one for each row, than what it was taken by."""
    rows = known.value(key).shape[:1]

    def is_column(result: Key, op: Op | None = None) -> bool:
        return known.value(result).shape in (rows, (*rows, 1))

    def goes_on(result: Key, op: Op | None) -> bool:
        return op is not None and op.graph == key[0] and op.name in PASSING and is_column(result)

    if not known.value(key).requires_grad:
        return None
    for read, result, op in known.onward(key, goes_on):
        if op is None or op.graph != key[0] or op.name not in SUMS or len(op.inputs) != 2:
            continue
        others = [(op.graph, value) for value in op.inputs if (op.graph, value) != read]
        if is_column(read) and is_column(result) and others and grad.inputs[1] != others[0][1]:
            return op
    return None


def _compared(known: Paths, key: Key) -> Op | None:
    """What compares the gradient, as it is or with the other sign, with data of the same form."""
    shape = known.value(key).shape

    def is_data(op: Op, read: Key) -> bool:
        others = [known.value((op.graph, index)) for index in op.inputs if (op.graph, index) != read]
        return len(others) == 1 and not others[0].requires_grad and others[0].shape == known.value(read).shape

    def goes_on(_: Key, op: Op | None) -> bool:
        return op is not None and op.graph == key[0] and op.name in PASSING | NEGATIONS

    if not shape or not known.value(key).requires_grad:
        return None
    for read, result, op in known.onward(key, goes_on):
        if op is None or op.graph != key[0] or not is_data(op, read):
            continue
        if op.name in COMPARING_LOSSES:
            return op
        if op.name in SUMS and any(
            one is not None and one.name in DISTANCES for one in known.readers(result)
        ):
            return op
    return None


def _finding(trace: Trace, graph: Graph, op: Op, mean: Op, reader: tuple[Site, str], follows: str) -> Finding:
    place = op.site.user
    samples = graph.values[op.inputs[1]].shape[0]
    root = code(trace, mean.site.user, "the mean")
    new, edits = _of_the_sum(trace, place, mean)
    return Finding(
        message=f"{code(trace, place, '`autograd.grad`')} differentiates a mean over {samples} samples: each row is"
        f" 1/{samples} of the sample's own gradient",
        cause=place,
        cause_label="is taken for the gradient of each sample",
        effect=mean.site.user,
        effect_label=f"the mean over {samples} samples",
        related=(reader,),
        seen=(
            f"{root} gives the mean of {samples} numbers and is differentiated by a tensor of {samples} rows; "
            + follows.format(n=samples, square=f"{samples**2:,}"),
        ),
        fix=f"differentiate the sum over the samples in {located(trace, place)}"
        + (f": `{new}` in place of {root}" if edits else ", `….sum()` in place of the mean"),
        edits=edits,
        count=graph.count,
    )


def _of_the_sum(trace: Trace, place: Site, mean: Op) -> tuple[str, Edits]:
    """The call with `scores.sum()` in place of `scores.mean()`, where that stands within it."""
    here = Source(trace, place.path)
    call, node = here.file.at(place), here.file.at(mean.site.user)
    within = isinstance(call, ast.Call) and any(one is node for one in ast.walk(call))
    if (
        not within
        or not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.keywords
    ):
        return "", ()
    if node.func.attr != "mean" or node.args:
        return "", ()
    new = f"{here.part(node.func.value)}.sum()"
    return new, here.replace(node, new)
