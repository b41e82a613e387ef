"""A sum over the channels has lost their axis: what it gives meets a tensor with one, and its samples lie along that.

Why: `x.sum(1)` of (B, C, H, W) is (B, H, W). Beside a tensor of (B, 1, H, W) torch lines up the last axes: it is taken
for (1, B, H, W), and the result is (B, B, H, W). Each sample then has a channel for every sample of the batch.

Fix: `x.sum(1, keepdim=True)`.

The shapes are those of the run. Silent on: an axis that the program gave a tensor on purpose to compare each sample
with each (`unsqueeze`, `None`, `expand`), or that a view or a reduction keeps, and batches of one sample. What a loss
compares with its target is GS703's.
"""

from collections.abc import Iterator

from gradscope.analysis.axes import VIEWS
from gradscope.analysis.ops import DIVISIONS, MULTIPLICATIONS, NORMS, STATISTICS, SUMS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import listed, located
from gradscope.fixes.calls import with_argument
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._broadcasts import POINTWISE, expanded
from gradscope.source import stands_in
from gradscope.store import Trace

CALLS = SUMS | MULTIPLICATIONS | DIVISIONS
REDUCING = STATISTICS | NORMS | {"sum", "prod", "amax", "amin", "logsumexp", "argmax", "argmin"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(3, 4, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.rand(5, 3, 6, 6)
        out = net(x)
        alpha = out[:, :1].sigmoid() + (out[:, 1:] * x).sum(1)  # effect: GS475 # cause: GS475
        loss = (alpha.mean(1) - x.mean(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(3, 4, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.rand(5, 3, 6, 6)
        out = net(x)
        alpha = out[:, :1].sigmoid() + (out[:, 1:] * x).sum(1, keepdim=True)
        loss = (alpha.mean(1) - x.mean(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS475", name="samples-spread-over-channels", severity="warning")
def samples_spread_over_channels(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls(CALLS):
        reduced = _reduced(known, op)
        if reduced is not None and reduced.site.user.location() not in told:
            told.add(reduced.site.user.location())
            yield _finding(trace, known, op, reduced)


def _reduced(known: Paths, op: Op) -> Op | None:
    """The call that took the axis out of one of the two, where the other has a single channel and the same batch."""
    if len(op.inputs) < 2:
        return None
    pair = [(op.graph, value) for value in op.inputs[:2]]
    wide, narrow = sorted(pair, key=lambda key: -len(known.value(key).shape))
    shape, short = known.value(wide).shape, known.value(narrow).shape
    batch = shape[0] if shape else 0
    if len(shape) < 3 or batch < 2 or shape[1] != 1 or len(short) != len(shape) - 1 or short[0] != batch:
        return None
    fits = all(one == other or 1 in (one, other) for one, other in zip(shape[2:], short[1:], strict=True))
    if not fits or expanded(known, wide) or _kept(known, wide):
        return None
    maker = known.maker_behind(narrow, POINTWISE)
    if maker is None or maker.name not in REDUCING or not maker.inputs:
        return None
    before = known.value((maker.graph, maker.inputs[0])).shape
    return maker if len(before) == len(shape) and (before[0], *before[2:]) == short else None


def _kept(known: Paths, wide: Key) -> bool:
    """Whether a view, or a reduction that keeps its axis, gave it the axis of one channel: to meet all samples,
    maybe."""
    maker = known.maker_behind(wide, POINTWISE)
    return maker is not None and maker.name in VIEWS | REDUCING


def _finding(trace: Trace, known: Paths, op: Op, reduced: Op) -> Finding:
    narrow, wide = sorted((known.value((op.graph, i)).shape for i in op.inputs[:2]), key=len)
    result = known.value((op.graph, op.outputs[0])).shape
    before = known.value((reduced.graph, reduced.inputs[0])).shape
    alike = _alike(known, reduced)
    site = reduced.site.user
    return Finding(
        message=f"{located(trace, site)} has lost its axis of channels: beside {wide} its {narrow[0]} samples"
        " are taken for channels",
        cause=site,
        cause_label=f"makes {before} into {narrow}",
        effect=op.site.user,
        effect_label=f"makes {result} of both: each sample with every sample",
        seen=(f"{wide} and {narrow} gave {result}",),
        fix=f"keep the axis: `keepdim=True` in {listed([located(trace, one) for one in alike])}",
        edits=tuple(edit for one in alike for edit in with_argument(trace, one, "keepdim", "True")),
    )


def _alike(known: Paths, reduced: Op) -> list[Site]:
    """Where one statement takes the axis out of tensors of that shape: both sides of a fraction, say."""
    trace, own = known.trace, reduced.site.user
    statement = trace.source_file(own.path).statement(own)
    shape = known.value((reduced.graph, reduced.inputs[0])).shape
    sites = {own.span(): own}
    for op in known.graph(reduced.graph).called(REDUCING):
        site = op.site.user
        if statement is not None and site.path == own.path and stands_in(statement, site) and op.inputs:
            if known.value((op.graph, op.inputs[0])).shape == shape and op.extra == reduced.extra:
                sites.setdefault(site.span(), site)
    return list(sites.values())
