"""A whole layer is off: its ReLU gives zero for every unit and sample, and nothing before it learns any more.

Why: where its input is below zero ReLU gives zero, and its derivative is zero as well. A step that is much too
long pushes all units there at once; then no gradient comes back to them, so that they stay there for ever, and
what the network gives is the same for every input.

Fix: a smaller learning rate, where the layer has died in training; the loss divided by the number of passes, where
each step uses the sum of several; samples in a random order, where each batch is of one class; smaller initial
weights, where the first loss is many times that of a guess; those, or `leaky_relu`, where the layer was dead from the
start; random numbers, where a layer before a ReLU begins with zeros.

Measured: the gradients of the layer behind, to the end of the run. That of its weight is exactly zero while that of
its bias is not, so that its whole input is zero; and those of the parameters before are exactly zero, too.
Silent on: single units that are off, layers that come back, losses of zero.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import log
from typing import Any, NamedTuple

from gradscope.analysis.one_class import one_class_batches
from gradscope.analysis.ops import LAYERS, LOSSES, PASSING, RELUS
from gradscope.analysis.schedules import rate_written_at
from gradscope.analysis.since import since_step
from gradscope.analysis.undivided import undivided
from gradscope.analysis.words import (
    located,
    parameter_name,
    parameter_names,
    parameter_subjects,
    plural,
    where,
)
from gradscope.analysis.writes import initialises, written_parameters
from gradscope.events import ZeroWeights
from gradscope.fixes.blocks import divided
from gradscope.fixes.calls import with_argument
from gradscope.fixes.first_values import ZEROS, at_random, filled_at
from gradscope.fixes.source import Edits
from gradscope.model import Finding, Graph, Op, Optimizer, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import cuts_at_zero
from gradscope.rules.numbers._relus import chosen_by_its_size, cut_by
from gradscope.rules.numbers._zeros import Zeros, reads_zeros, zeros_of_lines
from gradscope.store import Trace

KEEPING = PASSING | {
    "max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d",
    "adaptive_avg_pool2d", "adaptive_max_pool2d", "dropout", "dropout1d", "dropout2d", "dropout3d", "mean", "amax",
}  # fmt: skip

SPREAD = {"normal_", "uniform_", "trunc_normal_"}  # draw weights as wide as they are told
FAR_ABOVE = 20  # times the loss of a guess
FROM_THE_START = (
    "where its input is below zero ReLU gives zero, and its derivative is zero as well. Here that was so for all of its"
    " input in every measured pass, from the first on: no gradient comes back to what would have to change it, and what"
    " the network makes of it is the same for every input"
)


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


@rule("GS720", name="dead-layer", severity="warning", over=("GS705", "GS216"))
def dead_layer(trace: Trace) -> Iterator[Finding]:
    for line in zeros_of_lines(trace):
        graph = line.known.graph(line.event.graph)
        begun: dict[Site | None, Finding] = {}  # of a class of layers one
        off: dict[tuple[int, object], tuple[Op, set[int]]] = {}  # of a ReLU, however many go through it
        for op in graph.called(LAYERS) if line.idle else ():
            if (found := _begun_at_zero(line, graph, op)) is not None:
                first = begun.setdefault(found.cause, found)
                begun[found.cause] = replace(first, subjects=first.subjects | found.subjects)
            weight = reads_zeros(line, graph, op)
            relu = _relu_before(graph, op) if weight is not None else None
            if weight is None or relu is None:
                continue
            before = line.known.reach([(graph.id, cut_by(graph, relu))]).parameters
            dead = before & line.idle
            if dead and line.is_wrong(min(line.last(id) for id in dead)):
                off.setdefault((weight, relu.site.user.span()), (relu, set()))[1].update(dead)
        for (weight, _), (relu, ids) in off.items():
            yield _finding(line, relu, weight, sorted(ids))
        yield from begun.values()


def _begun_at_zero(line: Zeros, graph: Graph, op: Op) -> Finding | None:
    """A layer whose weight is filled with zeros, before a ReLU: what it gives is 0 for ever, as no gradient comes."""
    trace = line.trace
    own = [line.known.parameter_of((graph.id, index)) for index in op.inputs[1:]]
    known = [p for p in own if p is not None]
    relu = next((one for one in graph.consumers.get(op.outputs[0], ()) if one.name in RELUS), None)
    if relu is None or not known or len(known) < len(own) or not all(p.id in line.idle for p in known):
        return None
    weight, count = known[0], min(len(line.series[p.id]) for p in known)
    if not any(weight.id in event.parameters for event in trace.of(ZeroWeights)):
        return None
    made = filled_at(trace, weight, ZEROS)
    if (
        any(line.last(p.id) < len(line.series[p.id]) for p in known)
        or len(made) != 1
        or not line.is_wrong(count)
    ):
        return None
    new, edits = at_random(trace, made[0])
    name, here = f"`{parameter_name(trace, weight.id)}`", located(trace, made[0])
    relu_here = located(trace, relu.site.user, "the ReLU")
    return Finding(
        message=f"{name} begins at zero before a ReLU: what the layer gives is 0, where ReLU lets no gradient back, and"
        " nothing ever moves it",
        cause=made[0],
        cause_label="fills it with zeros",
        effect=relu.site.user,
        effect_label="gives zeros, and zeros as their gradient",
        seen=(
            f"the gradient of {name} was exactly 0 in all of {count} measured passes, and no step has moved it",
        ),
        why="the derivative of ReLU at 0 is 0: a weight of zeros before it gets no gradient, from the first pass to the"
        " last, and what is computed of it is as good as not there",
        fix=f"begin with small random numbers, `{new or 'nn.init.normal_(…, std=0.01)'}` in place of {here}, or take an"
        f" activation that is not flat at 0 in place of {relu_here}",
        edits=edits,
        count=count,
        subjects=parameter_subjects(p.id for p in known),
    )


def _relu_before(graph: Graph, op: Op) -> Op | None:
    """The ReLU that a layer reads, through nothing that makes other numbers of zeros."""
    index = op.inputs[0]
    while (made := graph.values[index].op) is not None:
        maker = graph.ops[made]
        # That the constant of one by hand is 0 shows where all that it gave was.
        if cuts_at_zero(maker) or chosen_by_its_size(graph, maker):
            return maker
        if maker.name not in KEEPING or len(maker.inputs) != 1:
            return None
        index = maker.inputs[0]
    return None


class _Cause(NamedTuple):
    """What has put a layer off, and what to do about it."""

    site: Site
    label: str
    fix: str
    edits: Edits = ()
    seen: tuple[str, ...] = ()
    subjects: frozenset[tuple[Any, ...]] = frozenset()


def _finding(line: Zeros, relu: Op, weight: int, dead: list[int]) -> Finding:
    trace, series = line.trace, line.series[weight]
    count = line.last(weight)
    alive = count < len(series)
    losses = [loss for _, loss in trace.numbers("loss", None, line.sites)]
    behind = f"`{parameter_name(trace, weight)}`"
    label = f"gives zeros only, to {behind}"
    cause = _cause(line, relu, [weight, *dead], losses[0]) if alive else None
    at_start = (
        f"give what the ReLU ({where(relu.site)}) reads smaller initial weights and a bias that is not far below"
        " zero (torch's own are), or inputs of mean 0; or take `leaky_relu` in its place"
    )
    return Finding(
        message=f"the ReLU before {behind} is off for every unit and sample:"
        f" {parameter_names(trace, dead)} learn nothing",
        cause=cause.site if cause is not None else relu.site.user,
        cause_label=cause.label if cause is not None else label,
        effect=relu.site.user if cause is not None else line.event.site.user,
        effect_label=label if cause is not None else "leaves zeros in every `.grad` before it",
        seen=(
            f"in the last {plural(count, 'pass')} of {len(series)} measured the gradients of {behind} and of"
            f" {plural(len(dead), 'parameter')} before it were exactly 0, and that of its bias was not",
            f"the loss was {losses[0]:.4g} at first, {max(losses):.4g} at most, {losses[-1]:.4g} at last",
            *(cause.seen if cause is not None else ()),
        ),
        why="" if alive else FROM_THE_START,
        fix=cause.fix if cause is not None else at_start,
        edits=cause.edits if cause is not None else (),
        count=count,
        subjects=parameter_subjects([weight, *dead]) | (cause.subjects if cause is not None else frozenset()),
        since=since_step(trace, series[-count][0], series[-count - 1][0]) if alive else None,
    )


def _cause(line: Zeros, relu: Op, ids: list[int], loss: float) -> _Cause | None:
    """Why a layer has died that was alive at first; None where the optimizer is not known."""
    optimizer = _optimizer(line.trace, ids[1:])
    made = optimizer.site.user if optimizer is not None and optimizer.site is not None else None
    if optimizer is None or made is None:
        return None
    return (
        _summed(line.trace, ids[1:])
        or _begun_large(line, ids, loss, made)
        or _one_class_at_a_time(line, ids[0])
        or _too_fast(line.trace, optimizer, made, relu)
    )


def _summed(trace: Trace, ids: list[int]) -> _Cause | None:
    """Its steps use the gradients of several losses, which nothing divides by their number."""
    for site, one in undivided(trace).items():
        if one.parameters & set(ids):
            times = one.usual
            shown, edits = divided(trace, site, f" / {times}")
            return _Cause(
                site,
                f"{times} passes add up before a step, and the loss is not divided by {times}",
                f"write `{shown or f'(loss / {times}).backward()'}` in place of {located(trace, site)}: each step is"
                f" {times} times as long as one on their mean",
                edits,
                subjects=frozenset({("sum", *site.location())}),
            )
    return None


def _begun_large(line: Zeros, ids: list[int], loss: float, made: Site) -> _Cause | None:
    """The program's own initialisation makes the scores so large that the loss is many times that of a guess."""
    graph = line.known.graph(line.event.graph)
    losses = [op for op in graph.called({"cross_entropy"}) if op.extra.get("reduction", "mean") == "mean"]
    shape = graph.values[losses[0].inputs[0]].shape if len(losses) == 1 else ()
    guess = log(shape[1]) if len(shape) > 1 and shape[1] > 1 else 0.0
    if not guess or loss < FAR_ABOVE * guess:
        return None
    for number in line.known.graph_ids:
        other = line.known.graph(number)
        for op in other.writing:
            own = not any(frame.function.endswith("reset_parameters") for frame in op.site.stack)
            if initialises(op) and own and op.name in SPREAD and written_parameters(other, op) & set(ids):
                site = op.site.user
                return _Cause(
                    site,
                    "makes the scores far too large",
                    f"begin with smaller weights in {located(line.trace, site)}: `nn.init.kaiming_normal_`, or without"
                    f" that line torch's own; or take a smaller learning rate in {located(line.trace, made)}",
                    seen=(
                        f"a guess among {shape[1]} classes has a loss of {guess:.2f}: before the first step the scores"
                        f" were {loss / guess:.0f} times too far apart",
                    ),
                )
    return None


def _one_class_at_a_time(line: Zeros, weight: int) -> _Cause | None:
    """It went on learning until the batches, of one class each, were of another one."""
    graph = line.known.graph(line.event.graph)
    losses = {op.site.user.location() for op in graph.called(LOSSES)}
    series = line.series[weight]
    alive = series[-line.last(weight) - 1][0]  # the last step in which it was
    for found in one_class_batches(line.trace):
        if found.event.site.user.location() in losses and alive > found.changed:
            return _Cause(
                found.place,
                "gives batches of one class: the steps of one class after the other have pushed all of them below"
                " zero",
                f"draw the samples in a random order in {located(line.trace, found.place)}; only where a layer dies"
                " then, too, take a smaller learning rate",
                seen=(
                    f"{found.changed} batches of one class came before the first with another; the layer was alive"
                    f" until step {alive} at least",
                ),
                subjects=frozenset({found.subject}),
            )
    return None


def _too_fast(trace: Trace, optimizer: Optimizer, made: Site, relu: Op) -> _Cause:
    rate, written = optimizer.groups[0].get("lr"), rate_written_at(trace)
    leaky = f"`leaky_relu`, which lets a part of the gradient past, in place of the ReLU ({where(relu.site)})"
    if written is not None:
        lower = (
            f"{located(trace, written)} writes it, or in {located(trace, made)} where that line does not run"
        )
        why = "its steps have pushed all of them below zero"
        return _Cause(made, why, f"take a smaller learning rate where {lower}; or {leaky}")
    smaller = f"{rate / 10:g}" if isinstance(rate, (int, float)) else ""
    return _Cause(
        made,
        "its steps have pushed all of them below zero",
        f"take a smaller learning rate{f' than {rate:g}, such as {smaller},' if smaller else ''} in"
        f" {located(trace, made)}; or {leaky}",
        with_argument(trace, made, "lr", smaller) if smaller and len(optimizer.groups) == 1 else (),
    )


def _optimizer(trace: Trace, ids: list[int]) -> Optimizer | None:
    """The one optimizer that trains these."""
    numbers = {number for id in ids for number in trace.parameter(id).optimizers}
    return trace.optimizers.get(next(iter(numbers))) if len(numbers) == 1 else None
