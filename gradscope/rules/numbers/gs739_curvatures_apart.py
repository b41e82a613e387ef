"""The loss is steep in one direction and flat in another: the rate that the one bears moves nothing along the other.

Why: plain gradient descent diverges above a rate of two by the largest curvature, and along a direction of another
curvature the error halves in 0.7 / (rate x curvature) steps. Where the two are a thousand times apart or more, no rate
serves both. Inputs far from a deviation of 1, or of another scale than the constant beside them, make them so.

Fix: bring the inputs to a mean of 0 and a deviation of 1 and raise the rate; or take a method that measures curvatures
(`torch.optim.LBFGS`), or one that divides by the gradients' size (Adam).

Measured: gradients and parameters of up to 64 numbers in pairs of passes: how the one changes along the change of the
other. Told where the passes so far were less than a third of what the flat direction needs, the gradient kept its
direction, and the loss could still fall by a twentieth or more. Silent on: larger models, optimizers that adapt their
rates, batches that differ.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import log, sqrt
from statistics import median
from typing import NamedTuple

from gradscope.analysis.words import (
    located,
    numbers,
    one_digit,
    parameter_name,
    parameter_subjects,
    plural,
    user,
)
from gradscope.events import Curvatures, PassTime, Step
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Optimizer, Site
from gradscope.rules import rule
from gradscope.store import Trace

PASSES = 100
MANY = 200  # passes that are not enough either, where the run made fewer
APART = 1e3
LATE = 3  # pairs at the end that are compared
ALIKE = 2.0  # times: they are of one curvature
KEPT = 0.999  # cosine of two gradients in a row
BORNE = (0.02, 2.0)  # rate x largest curvature: below it is the rate that is small, above it diverges
GONE = 0.3  # of the way along the flat direction
LEFT = 0.05  # of the loss could still be gained


def bad() -> None:  # fix: by hand
    import torch

    torch.manual_seed(0)
    x = torch.linspace(-300, 300, 50)
    y = 1.8 * x + 32
    w, b = torch.randn(1, requires_grad=True), torch.randn(1, requires_grad=True)
    opt = torch.optim.SGD([w, b], lr=1e-5)  # cause: GS739
    for _ in range(300):
        opt.zero_grad()
        loss = (w * x + b - y).pow(2).mean()
        loss.backward()  # effect: GS739
        opt.step()


def good() -> None:
    import torch

    torch.manual_seed(0)
    x = torch.linspace(-300, 300, 50)
    y, x = 1.8 * x + 32, x / 173
    w, b = torch.randn(1, requires_grad=True), torch.randn(1, requires_grad=True)
    opt = torch.optim.SGD([w, b], lr=0.3)
    for _ in range(300):
        opt.zero_grad()
        loss = (w * x + b - y).pow(2).mean()
        loss.backward()
        opt.step()


class Valley(NamedTuple):
    """The curvatures of the steepest and of the flattest direction, with the parameter that lies mostly along each."""

    line: Site
    parameters: tuple[int, ...]
    passes: int
    steep: float
    steepest: int
    flat: float
    flattest: int
    rate: float
    gain: float  # by which the loss could still fall along the flat direction
    loss: float

    @property
    def needed(self) -> float:
        """Passes in which the error along the flat direction halves."""
        return log(2) / (self.rate * self.flat)


@rule("GS739", name="curvatures-apart", severity="warning", symptom=True, needs=Curvatures)
def curvatures_apart(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Curvatures):
        valley = _valley(trace, event)
        if valley is not None:
            yield _finding(trace, valley)


def _valley(trace: Trace, event: Curvatures) -> Valley | None:
    line = event.site.user
    own = [time for time in trace.of(PassTime) if time.site.user.location() == line.location()]
    passes, sites = sum(time.passes for time in own), {time.site.id for time in own}
    if passes < PASSES or len(event.curvatures) <= LATE or _adapts(trace, event.parameters):
        return None
    steep, steepest = max(zip(event.curvatures, event.mostly, strict=True))
    late = event.curvatures[-LATE:]
    flat, rate = median(late), min(event.rates)  # between two passes some may have gone unseen
    if flat <= 0 or max(late) > ALIKE * flat or min(late) * ALIKE < flat or min(event.cosines[-LATE:]) < KEPT:
        return None
    losses = [loss for _, loss in trace.numbers("loss", None, sites)]
    gain = event.lengths[-1] ** 2 / (2 * flat)
    if (
        steep < APART * flat
        or not BORNE[0] < rate * steep < BORNE[1]
        or rate * flat * max(passes, MANY) > GONE
    ):
        return None
    if not losses or gain < LEFT * abs(losses[-1]):
        return None
    return Valley(
        line, event.parameters, passes, steep, steepest, flat, event.mostly[-1], rate, gain, losses[-1]
    )


def _adapts(trace: Trace, ids: tuple[int, ...]) -> bool:
    holding = {number for id in ids for number in trace.parameter(id).optimizers}
    return any(trace.optimizers[number].cls != "SGD" for number in holding)


def _finding(trace: Trace, valley: Valley) -> Finding:
    holding = [trace.optimizers[n] for n in trace.parameter(valley.parameters[0]).optimizers]
    optimizer = holding[0] if len(holding) == 1 else None
    made = user(optimizer.site) if optimizer is not None else None
    fix, edits = (
        _scaled(trace, valley) if valley.steepest != valley.flattest else _newton(trace, optimizer, made)
    )
    times = valley.steep / valley.flat
    return Finding(
        message=f"the loss bends {times:,.0f} times as much in one direction as in another: the rate that the one"
        f" bears moves nothing along the other in {plural(valley.passes, 'pass')}",
        cause=made or valley.line,
        cause_label="one rate for both",
        effect=valley.line if made is not None else None,
        effect_label="the gradient keeps its direction, and hardly falls",
        seen=(
            f"curvatures of {valley.steep:.3g} (mostly along `{parameter_name(trace, valley.steepest)}`) and"
            f" {valley.flat:.3g} (`{parameter_name(trace, valley.flattest)}`): a rate above"
            f" {2 / valley.steep:.2g} diverges along the one, and at {valley.rate:.2g} the error along the other halves"
            f" in {valley.needed:,.0f} passes",
            f"the loss is {numbers(valley.loss)}, and could fall by {numbers(valley.gain)} along the flat direction",
        ),
        fix=fix,
        edits=edits,
        count=valley.passes,
        subjects=parameter_subjects(valley.parameters),
    )


def _scaled(trace: Trace, valley: Valley) -> tuple[str, Edits]:
    steepest, flattest = (parameter_name(trace, id) for id in (valley.steepest, valley.flattest))
    return (
        f"divide what `{steepest}` is multiplied with by about {sqrt(valley.steep / valley.flat):,.0f}, so that it"
        f" counts as much as what `{flattest}` is (inputs with a mean of 0 and a deviation of 1), and take a rate of"
        f" about {one_digit(1 / valley.flat)}",
        (),
    )


def _newton(trace: Trace, optimizer: Optimizer | None, made: Site | None) -> tuple[str, Edits]:
    """LBFGS in place of SGD: the edit where its steps have their closure already."""
    text = "no rate mends that: scale the columns of the problem, or take a method that measures curvatures,"
    if optimizer is None or made is None:
        return f'{text} `torch.optim.LBFGS([…], line_search_fn="strong_wolfe")`', ()
    here = Source(trace, made.path)
    node = here.file.at(made)
    steps = [e.site.user for e in trace.of(Step) if e.optimizer == optimizer.id]
    call = trace.source_file(steps[0].path).at(steps[0]) if steps else None
    if not isinstance(node, ast.Call) or not node.args or "\n" in here.file.text(node):
        return f"{text} `torch.optim.LBFGS`, in place of {located(trace, made)}", ()
    name = here.file.text(node.func).rpartition(".")[0]
    given = here.file.text(node.args[0])
    new = f'{name + "." if name else ""}LBFGS({given}, line_search_fn="strong_wolfe")'
    closed = isinstance(call, ast.Call) and bool(call.args) and bool(name)
    asks = "" if closed else ", whose `step` takes a function that computes the loss and its gradients"
    return (
        f"{text} `{new}`{asks}, in place of {located(trace, made)}",
        here.replace(node, new) if closed else (),
    )
