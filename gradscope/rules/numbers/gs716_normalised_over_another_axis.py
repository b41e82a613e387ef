"""`nll_loss` is given log-probabilities that were normalised over another axis than that of the classes.

Why: `nll_loss` takes the number at the label along axis 1. After `log_softmax(x, dim=0)` the numbers of one class sum
to one over the samples: a sample's own scores do not say which class is likelier, and the loss cannot fall below the
logarithm of how many samples share a class.

Fix: `log_softmax(x, dim=1)`, or `cross_entropy` on the scores.

Silent on: scores of samples by the same samples, which may be normalised over either axis.
"""

from collections.abc import Iterator

from gradscope.analysis.axes import Axes, Axis, axes, size_of
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import with_argument
from gradscope.model import Edit, Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import losses, makers
from gradscope.store import Trace

LOSSES = {"nll_loss", "nll_loss_nd"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        logs = torch.log_softmax(model(torch.randn(8, 4)), dim=0)  # cause: GS716
        loss = nn.functional.nll_loss(logs, torch.randint(0, 3, (8,)))  # effect: GS716
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        logs = torch.log_softmax(model(torch.randn(8, 4)), dim=1)
        opt.zero_grad()
        nn.functional.nll_loss(logs, torch.randint(0, 3, (8,))).backward()
        opt.step()


@rule("GS716", name="normalised-over-another-axis", severity="warning")
def normalised_over_another_axis(trace: Trace) -> Iterator[Finding]:
    if "log_softmax" not in trace.op_names:
        return
    known, found = paths(trace), axes(trace)
    told: dict[tuple[str, int], tuple[Op, Op, Axis, Axis, int]] = {}
    for key, loss in losses(known, LOSSES):
        made = makers(known, key)
        own = found.of(key)
        if len(made) != 1 or made[0][1].name != "log_softmax" or not own:
            continue
        result, maker = made[0]
        classes = own[1 if len(own) > 1 else 0]
        over = _over(found, result, maker)
        if over is not None and _elsewhere(over, classes, own) and classes in found.of(result):
            dim = found.of(result).index(classes)
            told.setdefault(maker.site.user.location(), (maker, loss, over, classes, dim))
    for maker, loss, over, classes, dim in told.values():
        yield _finding(trace, known, maker, loss, over, classes, dim)


def _over(found: Axes, result: Key, maker: Op) -> Axis | None:
    """The axis that a `log_softmax` went over."""
    own, dims = found.of(result), maker.extra.get("dims", [])
    return own[dims[0]] if len(dims) == 1 and -len(own) <= dims[0] < len(own) else None


def _elsewhere(over: Axis, classes: Axis, own: tuple[Axis, ...]) -> bool:
    """Whether one axis of a loss's input other than the classes' is, or was merged of, this one."""
    if not over or not classes or size_of(over) == size_of(classes):
        return False
    return any(axis is not classes and all(piece in axis for piece in over) for axis in own)


def _finding(trace: Trace, known: Paths, maker: Op, loss: Op, over: Axis, classes: Axis, dim: int) -> Finding:
    shape = known.graph(maker.graph).values[maker.outputs[0]].shape
    given = maker.extra["dims"][0]
    here = located(trace, maker.site.user, "`log_softmax`")
    text = code(trace, maker.site.user).strip("`")
    edits: tuple[Edit, ...] = ()
    if text.startswith(("torch.log_softmax(", "F.log_softmax(", "nn.functional.log_softmax(")):
        edits = with_argument(trace, maker.site.user, "dim", str(dim), 1)
    return Finding(
        message=f"`{loss.name}` picks one of {size_of(classes)} classes, and `log_softmax` was taken over the "
        f"{size_of(over)} places of another axis",
        cause=maker.site.user,
        cause_label=f"goes over axis {given} of {shape}",
        effect=loss.site.user,
        effect_label=f"takes axis {dim} of it for the classes",
        seen=(
            f"`log_softmax` made the numbers of shape {shape} sum to one along axis {given}, which has "
            f"{size_of(over)} places, not along the {size_of(classes)} classes",
        ),
        fix=f"give `dim={dim}` to {here}",
        edits=edits,
    )
