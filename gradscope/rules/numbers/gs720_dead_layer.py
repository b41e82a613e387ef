"""A whole layer is off: its ReLU gives zero for every unit and sample, and nothing before it learns any more.

Why: where its input is below zero ReLU gives zero, and its derivative is zero as well. A step that is much too
long pushes all units there at once; then no gradient comes back to them, so that they stay there for ever, and
what the network gives is the same for every input.

Fix: a smaller learning rate, where the layer has died in training; smaller initial weights, or `leaky_relu`, where
it was dead from the start.

Measured: the gradients of the layer behind, to the end of the run. That of its weight is exactly zero while that of
its bias is not, so that its whole input is zero; and those of the parameters before are exactly zero, too.
Silent on: single units that are off, layers that come back, losses of zero.
"""

from collections.abc import Iterator

from gradscope.analysis.ops import LAYERS, PASSING, RELUS
from gradscope.analysis.since import since_step
from gradscope.analysis.words import (
    located,
    parameter_name,
    parameter_names,
    parameter_subjects,
    plural,
    where,
)
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits
from gradscope.model import Finding, Graph, Op, Optimizer
from gradscope.rules import rule
from gradscope.rules.numbers._zeros import Zeros, reads_zeros, zeros_of_lines
from gradscope.store import Trace

KEEPING = PASSING | {
    "max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d",
    "adaptive_avg_pool2d", "adaptive_max_pool2d", "dropout", "dropout1d", "dropout2d", "dropout3d", "mean", "amax",
}  # fmt: skip


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
    opt = torch.optim.SGD(model.parameters(), lr=10.0)  # cause: GS720
    x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
    for _ in range(20):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)  # effect: GS720
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
    for _ in range(20):
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()


@rule("GS720", name="dead-layer", severity="warning", over=("GS705",))
def dead_layer(trace: Trace) -> Iterator[Finding]:
    for line in zeros_of_lines(trace):
        graph = line.known.graph(line.event.graph)
        for op in graph.called(LAYERS) if line.idle else ():
            weight = reads_zeros(line, graph, op)
            relu = _relu_before(graph, op) if weight is not None else None
            if weight is None or relu is None:
                continue
            before = line.known.reach([(graph.id, relu.inputs[0])]).parameters
            dead = sorted(before & line.idle)
            if dead and line.is_wrong(min(line.last(id) for id in dead)):
                yield _finding(line, relu, weight, dead)


def _relu_before(graph: Graph, op: Op) -> Op | None:
    """The ReLU that a layer reads, through nothing that makes other numbers of zeros."""
    index = op.inputs[0]
    while (made := graph.values[index].op) is not None:
        maker = graph.ops[made]
        if maker.name in RELUS:
            return maker
        if maker.name not in KEEPING or len(maker.inputs) != 1:
            return None
        index = maker.inputs[0]
    return None


def _finding(line: Zeros, relu: Op, weight: int, dead: list[int]) -> Finding:
    trace, series = line.trace, line.series[weight]
    count = line.last(weight)
    alive = count < len(series)
    losses = [loss for _, loss in trace.numbers("loss", None, line.sites)]
    behind = f"`{parameter_name(trace, weight)}`"
    optimizer = _optimizer(trace, dead) if alive else None
    made = optimizer.site.user if optimizer is not None and optimizer.site is not None else None
    label = f"gives zeros only, to {behind}"
    edits: Edits = ()
    if optimizer is not None and made is not None:
        rate = optimizer.groups[0].get("lr")
        smaller = f"{rate / 10:g}" if isinstance(rate, (int, float)) else ""
        fix = (
            f"take a smaller learning rate{f' than {rate:g}, such as {smaller},' if smaller else ''} in"
            f" {located(trace, made)}; or `leaky_relu`, which lets a part of the gradient past, in place of the ReLU"
            f" ({where(relu.site)})"
        )
        edits = with_argument(trace, made, "lr", smaller) if smaller and len(optimizer.groups) == 1 else ()
    else:
        fix = (
            f"give what the ReLU ({where(relu.site)}) reads smaller initial weights and a bias that is not far below"
            " zero (torch's own are), or inputs of mean 0; or take `leaky_relu` in its place"
        )
    return Finding(
        message=f"the ReLU before {behind} is off for every unit and sample:"
        f" {parameter_names(trace, dead)} learn nothing",
        cause=made or relu.site.user,
        cause_label="its steps have pushed all of them below zero" if made else label,
        effect=relu.site.user if made else line.event.site.user,
        effect_label=label if made else "leaves zeros in every `.grad` before it",
        seen=(
            f"in the last {plural(count, 'pass')} of {len(series)} measured the gradients of {behind} and of"
            f" {plural(len(dead), 'parameter')} before it were exactly 0, and that of its bias was not",
            f"the loss was {losses[0]:.4g} at first, {max(losses):.4g} at most, {losses[-1]:.4g} at last",
        ),
        fix=fix,
        edits=edits,
        count=count,
        subjects=parameter_subjects([weight, *dead]),
        since=since_step(trace, series[-count][0], series[-count - 1][0]) if alive else None,
    )


def _optimizer(trace: Trace, ids: list[int]) -> Optimizer | None:
    """The one optimizer that trains these."""
    numbers = {number for id in ids for number in trace.parameter(id).optimizers}
    return trace.optimizers.get(next(iter(numbers))) if len(numbers) == 1 else None
