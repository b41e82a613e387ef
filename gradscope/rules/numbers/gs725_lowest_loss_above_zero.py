"""A binary cross entropy comes near the lowest value that its targets let it have, and that is far above zero.

Why: its lowest value is that of outputs which equal the targets. For targets of 0 and 1 that is zero. For targets
between them it is their entropy, up to 0.693 at one half: the number stays there however well the model does, and
what is left of its fall looks like a training that stands still.

Fix: judge the model by another measure of the distance (`mse_loss`, `l1_loss`), or subtract that lowest value from the
number that is shown. To train on, this loss is as good as before.

Measured: the entropy of the targets at the first call, and the losses. Where the call gives a sum, or its result is
divided, the lowest value is as many times as large as the loss was at the first call.
Silent on: losses that are still far above that, targets of 0 and 1, losses with weights, sums of several terms.
"""

import math
from collections.abc import Iterator

from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import BINARY_LOSSES, CLIPS, JOINING, PARTS, PASSING, SCALES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located, percent
from gradscope.events import Backward, Targets
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import losses, measured_targets
from gradscope.store import Trace

MEAN = ("mean", None)
LINEAR = {"mean", "sum", *SCALES, *(PASSING - PARTS - JOINING - CLIPS)}
FAR = 8  # calls between this loss and the one that is gone back from
FLOOR = 0.1  # at least
LEFT = 0.25  # of what the loss was above that at first, at most
BETWEEN = 0.5  # share of the targets that are neither 0 nor 1, at least


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, share = torch.eye(4), torch.tensor([[0.2], [0.4], [0.6], [0.8]])
    model = nn.Linear(4, 1, bias=False)
    opt = torch.optim.SGD(model.parameters(), lr=16.0)
    for _ in range(40):
        opt.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), share)  # cause: GS725
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, share = torch.eye(4), torch.tensor([[0.2], [0.4], [0.6], [0.8]])
    model = nn.Linear(4, 1, bias=False)
    opt = torch.optim.SGD(model.parameters(), lr=16.0)
    for _ in range(40):
        opt.zero_grad()
        nn.functional.mse_loss(torch.sigmoid(model(x)), share).backward()
        opt.step()


@rule("GS725", name="lowest-loss-above-zero", severity="note", symptom=True)
def lowest_loss_above_zero(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    measured = measured_targets(trace)
    told: set[tuple[str, int]] = set()
    for _, op in losses(known, BINARY_LOSSES):
        place = op.site.user.location()
        event = measured.get((op.site.user.span(), op.name))
        if event is None or event.floor is None or place in told or event.floor < FLOOR:
            continue
        between = event.between or 0.0
        if between < BETWEEN:
            continue
        root, values = _losses(trace, known, op)
        floor = _floor(event, op, root, values)
        if len(values) > 1 and floor is not None and values[-1] - floor <= LEFT * (values[0] - floor):
            told.add(place)
            yield _finding(trace, op, floor, between, values)


def _losses(trace: Trace, known: Paths, op: Op) -> tuple[Key, list[float]]:
    """The losses that are the result of this call times some number, and where they begin."""
    key: Key = (op.graph, op.outputs[0])
    for _ in range(FAR):
        if key in known.roots:
            return key, _values(trace, known, key)
        readers = known.readers(key)
        reader = readers[0] if len(readers) == 1 else None
        if reader is None or reader.name not in LINEAR or len(reader.inputs) != 1 or not reader.outputs:
            break
        key = (reader.graph, reader.outputs[0])
    return key, []


def _floor(event: Targets, op: Op, root: Key, values: list[float]) -> float | None:
    """What the losses were if outputs equalled the targets: as many times the entropy as they are the mean at first."""
    if event.floor is None or not values:
        return None
    if op.extra.get("reduction") in MEAN and root == (op.graph, op.outputs[0]):
        return event.floor
    if not event.first or event.first <= 0 or not event.elements or values[0] <= 0:
        return None
    summed = event.first * (event.elements if op.extra.get("reduction") in MEAN else 1)
    return event.floor * event.elements * values[0] / summed


def _finding(trace: Trace, op: Op, floor: float, between: float, values: list[float]) -> Finding:
    layer = layer_site(trace, op, alone=True)
    return Finding(
        message=f"`{op.name}` cannot fall below {floor:.3g} with these targets: {percent(between)}"
        " of them are neither 0 nor 1",
        cause=op.site.user,
        cause_label=f"its lowest value is {floor:.3g}",
        related=((layer, "the loss"),) if layer is not None else (),
        seen=(
            f"outputs equal to the targets of the first call would give {floor:.4g}; the loss was"
            f" {values[0]:.4g} at first and {values[-1]:.4g} at last,"
            f" {percent(max(values[-1] / floor - 1, 0.0), 1)} above that",
        ),
        fix="look at the distance of outputs and targets itself, by `l1_loss` or `mse_loss` beside the loss, or"
        f" at what the loss is above {floor:.3g}: its gradient is zero where outputs equal targets, so"
        f" {located(trace, layer or op.site.user)} can go on training the model",
        severity="note",
    )


def _values(trace: Trace, known: Paths, key: Key) -> list[float]:
    """The measured losses of all passes from the lines where one began at this value, also while sampling slept."""
    lines = {event.site.user.location() for event in known.roots.get(key, ())}
    sites = {event.site.id for event in trace.of(Backward) if event.site.user.location() in lines}
    return [v for _, v in trace.numbers("loss", None, sites) if math.isfinite(v)] if sites else []
