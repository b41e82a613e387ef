"""The targets of a loss lie outside of what the network's last activation can give.

Why: a sigmoid gives numbers between 0 and 1, tanh between -1 and 1 and so do the states of an LSTM, a GRU or an RNN
that are its output, ReLU and `clamp(min=0)` none below 0. A target outside of that is never met: the outputs are pushed
against the bound, where the gradient dies, and the loss keeps a part that no training takes away.

A binary cross entropy takes its targets for probabilities. With one outside of 0 to 1 it has no lowest value: the
further the output goes the smaller the loss, for ever.

Fix: bring the targets into the range, or end the network with what reaches them (`tanh` for images from -1 to 1,
nothing for a regression). A label that tells more than two classes apart takes `cross_entropy`.

A note where they are beyond 0 or 1 by a little, as labels with noise are.

Silent on: losses that are only measured, targets that differ from the bound by rounding, a few outliers.
"""

from collections.abc import Iterator

from gradscope.analysis.constant_answers import losses_by_hand
from gradscope.analysis.made import layer_site
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import (
    BINARY_LOSSES,
    COMPARING_LOSSES,
    PASSING,
    RECURRENT,
    SCALES,
    SUBTRACTIONS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, numbers, percent
from gradscope.events import Targets
from gradscope.fixes.calls import argument_as
from gradscope.model import Finding, Graph, Op, Span
from gradscope.rules import rule
from gradscope.rules.numbers._losses import cuts_at_zero, loss_values, losses, makers, measured_targets
from gradscope.store import Trace

SMOOTHED = 0.5  # what noise on the labels 0 and 1 may add, on purpose
SHARE = 0.05  # of the targets, at least
LEAST_BY_HAND = 0.25  # of what is subtracted, at least: below the only bound
TO_A_LOSS = {"pow", "square", "abs", "sum", "mean"} | SCALES
SUMMED = {"sum", "mean"}
NEAR = 6  # calls from the difference to the loss
CELL = 2  # which of an LSTM's results is the state of its cell: that has no bounds
RANGES = {  # of what an activation gives; None: without end
    "sigmoid": (0, 1), "sigmoid_": (0, 1), "hardsigmoid": (0, 1), "softmax": (0, 1),
    "tanh": (-1, 1), "tanh_": (-1, 1), "hardtanh": (-1, 1), "softsign": (-1, 1),
    "relu": (0, None), "relu_": (0, None), "softplus": (0, None),
    "lstm": (-1, 1), "gru": (-1, 1), "rnn_tanh": (-1, 1),
}  # fmt: skip


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    decoder = nn.Sequential(nn.Linear(2, 8), nn.Sigmoid())
    opt = torch.optim.SGD(decoder.parameters(), lr=0.1)
    for _ in range(3):
        images = torch.rand(16, 8) * 2 - 1
        shown = decoder(torch.randn(16, 2))  # cause: GS708
        loss = nn.functional.mse_loss(shown, images)  # effect: GS708
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    decoder = nn.Sequential(nn.Linear(2, 8), nn.Tanh())
    opt = torch.optim.SGD(decoder.parameters(), lr=0.1)
    for _ in range(3):
        images = torch.rand(16, 8) * 2 - 1
        opt.zero_grad()
        nn.functional.mse_loss(decoder(torch.randn(16, 2)), images).backward()
        opt.step()


@rule("GS708", name="target-out-of-reach", severity="warning")
def target_out_of_reach(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    measured = measured_targets(trace)
    yield from _beyond_activation(trace, known, measured)
    yield from _no_probability(trace, known, measured)


def _no_probability(
    trace: Trace, known: Paths, measured: dict[tuple[Span, str], Targets]
) -> Iterator[Finding]:
    """Targets of a binary cross entropy outside of 0 to 1."""
    told: set[tuple[str, int]] = set()
    for _, op in losses(known, BINARY_LOSSES):
        event = measured.get((op.site.user.span(), op.name))
        outside = _outside(event, 0, 1) if event is not None else 0.0
        if event is None or outside == 0 or op.site.user.location() in told:
            continue
        told.add(op.site.user.location())
        target, made = _target(trace, known, op), _made(known, op)
        low, high = f"{event.low:.4g}", f"{event.high:.4g}"
        # none between -1 and 1, so that 0 is no class of its own
        two = event.low == -1 and event.high == 1 and event.below_zero + event.above_half > 0.999
        here = located(trace, op.site.user)
        shifted = "y" if event.low >= 0 else f"y + {-event.low:.4g}"
        fix = (
            f"if {target} are classes, give the model an output for each of them, and in place of {here} compare by"
            f" `cross_entropy` with labels that begin at 0, `({shifted}).long()`; if probabilities, bring them into the"
            " range 0 to 1"
        )
        if two:
            fix = f"let the labels be 0 and 1: `(y + 1) / 2` for {target} in {here}"
        values = loss_values(trace, known, (op.graph, op.outputs[0]))
        fell = f"; it was {numbers(min(values))} in this run" if values and min(values) < 0 else ""
        yield Finding(
            message=f"`{op.name}` takes {target} for probabilities, and they go from {low} to {high}",
            cause=op.site.user,
            cause_label=f"{percent(outside)} of the targets are no probabilities",
            related=((made.site.user, "computes the targets"),) if made is not None else (),
            seen=(
                f"at the first call the targets went from {low} to {high}; of one beyond 0 or 1 the loss falls without"
                f" end as the output grows{fell}",
            ),
            why="it is minus y log p minus (1 - y) log(1 - p): with y outside of 0 to 1 one of the two has the other"
            " sign, and there is no output at which the loss is lowest",
            fix=fix,
            severity="note" if event.low > -SMOOTHED and event.high < 1 + SMOOTHED else "",
            edits=argument_as(trace, op.site.user, "target", 1, "({} + 1) / 2") if two else (),
        )


def _beyond_activation(
    trace: Trace, known: Paths, measured: dict[tuple[Span, str], Targets]
) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for key, op in (*losses(known, COMPARING_LOSSES), *_differences(known)):
        event = measured.get((op.site.user.span(), op.name))
        found = makers(known, key, cut=True)
        if event is None or len(found) != 1 or op.site.user.location() in told:
            continue
        made, maker = found[0]
        low, high = _range(maker)
        if maker.name == "lstm" and known.value(made).position == CELL:
            continue
        outside = _outside(event, low, high)
        if op.name in SUBTRACTIONS and (high is not None or outside < LEAST_BY_HAND):
            if op.site.id not in losses_by_hand(trace):
                continue  # what is subtracted may be no target, as in a residual that is to be small
        if outside >= SHARE:
            told.add(op.site.user.location())
            yield _finding(trace, known, op, maker, event, outside)


def _differences(known: Paths) -> Iterator[tuple[Key, Op]]:
    """Losses by hand: a prediction less what it is to be, squared or without its sign, and added up."""
    for made, op in known.used_calls(SUBTRACTIONS):
        values = [known.value((op.graph, index)) for index in op.inputs[:2]]
        tracked = [value.requires_grad for value in values]
        if len(values) == 2 and tracked.count(True) == 1 and values[0].shape == values[1].shape:
            if known.becomes_number(made, TO_A_LOSS, SUMMED, NEAR):
                yield (op.graph, op.inputs[tracked.index(True)]), op


def _range(maker: Op) -> tuple[int | None, int | None]:
    return RANGES.get(maker.name, (0, None) if cuts_at_zero(maker) else (None, None))


def _outside(event: Targets, low: int | None, high: int | None) -> float:
    """The share of the targets beyond these bounds."""
    below = {-1: event.below_minus_one, 0: event.below_zero}
    return (0.0 if low is None else below[low]) + (0.0 if high is None else event.above_one)


def _finding(trace: Trace, known: Paths, op: Op, maker: Op, event: Targets, outside: float) -> Finding:
    low, high = _range(maker)
    gives = f"{low} to {high}" if high is not None else f"{low} and more"
    target = _target(trace, known, op)
    reaches = (event.low, event.high)
    symmetric = high == 1 and reaches[0] >= -1.001 and reaches[1] <= 1.001
    layer = layer_site(trace, maker, alone=True) if maker.name in RECURRENT else None
    here = located(trace, maker.site.user, "the network")
    if maker.name in RECURRENT:
        inner = known.value((maker.graph, maker.outputs[0])).shape[-1]
        width = max(inner, known.value((maker.graph, maker.inputs[0])).shape[-1])
        instead = (
            f"give what {here} returns to a linear layer, which has no bounds: a state of {width},"
            f" `hidden_size={width}`, and `nn.Linear({width}, {inner})`"
        )
    elif symmetric:
        instead = f"take `tanh` in place of the `{maker.name}` in {here}"
    else:
        instead = f"leave `{maker.name}` out of {here}"
    made = _made(known, op)
    where = f" in {located(trace, made.site.user)}" if made is not None else ""
    brought = f"bring the targets into the range {gives}{where}"
    return Finding(
        message=f"{code(trace, op.site.user, f'`{op.name}`')} compares with {target} from {reaches[0]:.4g} to"
        f" {reaches[1]:.4g}, and `{maker.name}` gives only {gives}",
        cause=layer or maker.site.user,
        cause_label=f"`{maker.name}` gives {gives}",
        effect=op.site.user,
        effect_label=f"{percent(outside)} of the targets lie outside of that",
        related=((made.site.user, "computes the targets"),) if made is not None else (),
        seen=(
            f"at the first call {percent(outside)} of the targets were out of its reach: they went from"
            f" {reaches[0]:.4g} to {reaches[1]:.4g}",
        ),
        fix=", or ".join((instead, brought) if maker.name in RECURRENT else (brought, instead)),
    )


def _target(trace: Trace, known: Paths, op: Op) -> str:
    """What the program calls the targets."""
    graph = known.graph(op.graph)
    asked = _asked(graph, op)
    name = names_of(trace).name(graph, asked) if asked is not None else None
    return f"`{name}`" if name else "targets"


def _asked(graph: Graph, op: Op) -> int | None:
    """The value of the targets."""
    if op.name in SUBTRACTIONS and graph.values[op.inputs[1]].requires_grad:
        return op.inputs[0]
    return op.inputs[1] if len(op.inputs) > 1 else None


def _made(known: Paths, op: Op) -> Op | None:
    """The arithmetic that gave the targets their values, where it is all that they come from: a shift or a scaling."""
    found = None
    asked = _asked(known.graph(op.graph), op)
    key = (op.graph, asked) if asked is not None else None
    seen = set()
    while key is not None and key not in seen:
        seen.add(key)
        sources, maker = known.sources(key)
        if maker is not None and maker.name in SUMS | SCALES and len(sources) == 1:
            found = found or maker
        elif maker is not None and maker.name not in PASSING:
            break
        key = sources[0] if len(sources) == 1 else None
    return found
