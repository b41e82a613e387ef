"""The largest along one axis is asked of what a softmax over the other axis has made.

Why: `softmax(x, dim=0)` of scores (samples, classes) makes the samples of a batch share one sum for each class. The
largest of a row is then no longer the class with the highest score: one whose column happens to be low for all other
samples comes out ahead. What is predicted for a sample depends on which others are in its batch.

Fix: the softmax over the axis that is asked, `dim=1`; or none at all, as the largest score is the largest probability.

Measured: a call of `argmax`, `max`, `topk` or `multinomial` along one axis of a matrix that a softmax over its other
axis gave. Silent on: matrices with one row or column, and on what was scaled or multiplied in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.made import softmax_site
from gradscope.analysis.ops import ALIASES, CASTS, LARGEST, SOFTMAXES
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, plural
from gradscope.fixes.calls import along
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

DRAWING = {"multinomial"}  # from each row
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
    if trace.op_names.isdisjoint(SOFTMAXES) or trace.op_names.isdisjoint(LARGEST | DRAWING):
        return
    known, told = paths(trace), set[tuple[str, int]]()
    for number in known.graph_ids:
        for op in known.graph(number).called(LARGEST | DRAWING):
            softmax = known.maker_behind((number, op.inputs[0]), SAME) if op.inputs else None
            if softmax is None or softmax.name not in SOFTMAXES or not softmax.inputs:
                continue
            shape = known.value((softmax.graph, softmax.inputs[0])).shape
            asked = [1] if op.name in DRAWING else op.extra.get("dims", [])
            over = softmax.extra.get("dims", [])
            apart = len(shape) == 2 and len(asked) == len(over) == 1 and (asked[0] - over[0]) % 2
            if apart and min(shape) > 1 and softmax.site.user.location() not in told:
                told.add(softmax.site.user.location())
                yield _finding(trace, softmax, op, shape, asked[0] % 2)


def _finding(trace: Trace, softmax: Op, op: Op, shape: tuple[int, ...], asked: int) -> Finding:
    site, made = op.site.user, softmax_site(trace, softmax)
    what = "row" if asked else "column"
    return Finding(
        message=f"{code(trace, site, f'`{op.name}`')} goes along axis {asked} of what a softmax over axis {1 - asked}"
        f" has made: a {what} of it is not compared with itself",
        cause=made,
        cause_label=f"adds up to 1 along axis {1 - asked} of {shape}",
        effect=site,
        effect_label=f"asks along axis {asked}",
        seen=(
            f"the softmax made {plural(shape[asked], 'sum')} of 1, each over {shape[1 - asked]} numbers of different"
            f" {what}s",
        ),
        fix=f"give {located(trace, made, 'the softmax')} `dim={asked}`; for the largest alone none is needed: it is"
        " that of the scores",
        edits=along(trace, made, softmax.name, asked),
    )
