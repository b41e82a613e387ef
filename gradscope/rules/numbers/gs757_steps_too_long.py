"""The loss grows from pass to pass, by a factor each time: every update overshoots.

Why: an update goes down the slope only as far as the slope holds. Where it is longer than that the loss is
larger afterwards, and so are the gradients: the next update is longer still, until the numbers are infinite. Weights
that begin too large do the same: what they give grows with the number of inputs that they sum over.

Fix: a lower learning rate; inputs and targets brought to about 1 (mean 0, deviation 1); weights of `torch.randn`
divided by the root of the number of inputs, as the layers of `nn` have them.

Measured: the loss of each pass. It grew in every one, ten thousand times in all. An error where it ended in infinity
or NaN. Silent on: losses that come back down, negative ones, gradient ascent, a rate that a schedule raises,
steps that compute the loss themselves, optimizers without a rate.
"""

import ast
import math
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import PRODUCTS_OF_MATRICES
from gradscope.analysis.reach import paths
from gradscope.analysis.schedules import finds_its_length, goes_up, raises_its_rate
from gradscope.analysis.since import since_pass
from gradscope.analysis.words import (
    listed,
    located,
    one_digit,
    optimizer_name,
    parameter_name,
    parameter_subjects,
    plural,
)
from gradscope.events import Backward, Clip, Step, Update
from gradscope.fixes.settings import elsewhere, with_setting
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Optimizer, Parameter, Site
from gradscope.rules import rule
from gradscope.store import Trace

IN_ALL = 1e4  # times that the loss has grown
EACH = 1.1  # times in each pass, those between included that were not measured
ENOUGH = 6  # losses in a row, each larger than the one before
BROKEN = 3  # of them, where they end in what is not finite
HUGE = 1e10  # a loss that nothing but such updates makes: two are enough, where the next is not finite
WIDE = 16  # inputs that a weight sums over
TRANSPOSING = {
    "linear",
    "t",
    "T",
    "transpose",
}  # calls after which a weight's second axis is that of the inputs


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.linspace(0, 100, 64).unsqueeze(1)
    model = nn.Linear(1, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)  # cause: GS757
    for _ in range(12):
        opt.zero_grad()
        loss = (model(x) - 3 * x).pow(2).mean()
        loss.backward()  # effect: GS757
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.linspace(0, 100, 64).unsqueeze(1)
    model = nn.Linear(1, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.0001)
    for _ in range(12):
        opt.zero_grad()
        loss = (model(x) - 3 * x).pow(2).mean()
        loss.backward()
        opt.step()


@rule("GS757", name="steps-too-long", severity="error", over=("GS701", "GS705", "GS237"))
def steps_too_long(trace: Trace) -> Iterator[Finding]:
    for events, climb in _climbs(trace):
        updated = _updated(trace, events)
        if updated is not None:
            yield _finding(trace, events[0], climb, updated)


class _Climb(NamedTuple):
    """Losses that were measured, with the steps before each: others may lie between."""

    steps: list[int]
    losses: list[float]
    broken: bool  # what came next was not finite

    @property
    def passes(self) -> int:
        """From the first to the last of them."""
        return max(len(self.steps), self.steps[-1] - self.steps[0] + 1)

    def growth(self, number: int) -> float:
        """How many times as large a pass made the loss, before that of this number."""
        passes = max(1, self.steps[number] - self.steps[number - 1])
        return float((self.losses[number] / self.losses[number - 1]) ** (1 / passes))


def _climbs(trace: Trace) -> Iterator[tuple[list[Backward], _Climb]]:
    lines: dict[tuple[str, int], list[Backward]] = {}
    for event in trace.of(Backward):
        if not event.inputs:
            lines.setdefault(event.site.user.location(), []).append(event)
    for events in lines.values():
        climb = _climb(trace.numbers("loss", sites={event.site.id for event in events}))
        if climb is not None:
            yield events, climb


def _climb(measured: list[tuple[int, float]]) -> _Climb | None:
    """The last losses that are finite, where each is larger than the one before and none comes back down."""
    losses = [loss for _, loss in measured]
    end = next((i for i, loss in enumerate(losses) if not math.isfinite(loss)), len(losses))
    begin = end - 1
    while begin > 0 and 0 < losses[begin - 1] < losses[begin]:
        begin -= 1
    found = losses[max(begin, 0) : end]
    broken = end < len(losses)
    enough = ENOUGH if not broken else BROKEN if found and found[-1] < HUGE else 2
    if len(found) < enough or found[-1] < IN_ALL * found[0]:
        return None
    climb = _Climb([step for step, _ in measured[max(begin, 0) : end]], found, broken)
    return climb if (found[-1] / found[0]) ** (1 / (climb.passes - 1)) >= EACH else None


class _Updated(NamedTuple):
    """What changes the parameters of the pass: a step of an optimizer, or the program's own line."""

    parameters: list[Parameter]
    line: Site
    optimizer: Optimizer | None


def _updated(trace: Trace, events: list[Backward]) -> _Updated | None:
    """None where that goes up the slope, or at a rate that changes."""
    filled = {id for event in events for id in (*event.filled, *_leaves(trace, event))}
    for step in trace.of(Step):
        optimizer = trace.optimizers.get(step.optimizer)
        if optimizer is None or not step.fresh & filled:
            continue
        if goes_up(optimizer) or raises_its_rate(optimizer) or filled & _clipped(trace):
            return None
        if finds_its_length(trace, optimizer):
            return None
        made = optimizer.site.user if optimizer.site is not None else step.site.user
        return _Updated([trace.parameter(id) for id in step.fresh & filled], made, optimizer)
    own = [update for update in trace.of(Update) if update.used and update.parameter in filled]
    if own and all(_goes_down(trace, update.site.user) for update in own):
        ids = dict.fromkeys(update.parameter for update in own)
        return _Updated([trace.parameter(id) for id in ids], own[0].site.user, None)
    return None


def _clipped(trace: Trace) -> set[int]:
    """Parameters whose gradients are clipped: an update is not the longer for them."""
    return {id for clip in trace.of(Clip) for id in clip.fresh}


def _leaves(trace: Trace, event: Backward) -> Iterator[int]:
    """The parameters of no module that it put a gradient into."""
    values = trace.graph(event.graph).values if event.leaves and event.graph >= 0 else ()
    yield from (p for leaf in event.leaves if (p := values[leaf["value"]].parameter) is not None)


def _goes_down(trace: Trace, site: Site) -> bool:
    statement = trace.source_file(site.path).statement(site)
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.op, ast.Sub)
    return statement is not None and any(
        (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub))
        or (isinstance(node, ast.Attribute) and node.attr in ("sub", "sub_"))
        or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub))
        for node in ast.walk(statement)
    )


def _finding(trace: Trace, event: Backward, climb: _Climb, updated: _Updated) -> Finding:
    first, last = climb.losses[0], climb.losses[-1]
    wide = _wide(trace, updated.parameters)
    updates = located(trace, updated.line, "the update")
    if updated.optimizer is not None:
        updates = f"the step of {optimizer_name(trace, updated.optimizer.id)}"
    fix, edits = _smaller(trace, wide) if wide else _slower(trace, climb, updated)
    ids = [p.id for p in updated.parameters]
    end = ", then it was not finite" if climb.broken else ""
    return Finding(
        message=f"every update makes the loss larger: {first:.3g} to {last:.3g} in {plural(climb.passes, 'pass')}"
        f"{end}",
        cause=wide[0].call if wide else updated.line,
        cause_label=f"a deviation of 1, summed over {wide[0].inputs} inputs"
        if wide
        else "its rate is too large here",
        effect=event.site.user,
        effect_label="the loss grows in every pass",
        related=tuple((w.call, f"a deviation of 1, summed over {w.inputs} inputs") for w in wide[1:]),
        severity="" if climb.broken else "warning",
        seen=(
            f"{updates} made it {climb.growth(1):.3g} times as large in the first of these passes,"
            f" {climb.growth(-1):.3g} times in the last",
            *(_of_wide(trace, w) for w in wide[:2]),
        ),
        fix=fix,
        edits=edits,
        count=climb.passes - 1,
        subjects=parameter_subjects(ids) | {("loss", event.site.user.location())},
        since=since_pass(trace, ids),
    )


# -- weights that begin too large -----------------------------------------------------------


class _Wide(NamedTuple):
    """A leaf that `torch.randn` gave its first numbers, and what it sums over."""

    parameter: Parameter
    call: Site
    inputs: int


def _of_wide(trace: Trace, wide: _Wide) -> str:
    return (
        f"`{parameter_name(trace, wide.parameter.id)}` begins with a deviation of 1: what it gives is about"
        f" {wide.inputs**0.5:.0f} times as large as what it is given"
    )


def _wide(trace: Trace, parameters: list[Parameter]) -> list[_Wide]:
    found = []
    for p in parameters:
        call = _randn(trace, p)
        inputs = _inputs(trace, p) if call is not None else 0
        if call is not None and inputs >= WIDE:
            found.append(_Wide(p, call, inputs))
    return found


def _randn(trace: Trace, p: Parameter) -> Site | None:
    """The call of `torch.randn` that made it, where nothing scales what that gives."""
    if p.site is None or len(p.shape) != 2:
        return None
    file, site = trace.source_file(p.site.user.path), p.site.user
    statement = file.statement(site)
    if not isinstance(statement, ast.Assign):
        return None
    node: ast.AST = statement.value
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "randn":
            return Site(-1, site.path, *file.span(node), site.function, site.kind)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("requires_grad_", "to"):
            node = node.func.value
        else:
            node = node.args[0] if node.args else statement
    return None


def _inputs(trace: Trace, p: Parameter) -> int:
    """How many numbers it sums over for each that it gives; 0 where that can't be told."""
    known = paths(trace)
    for number, index in known.feeding.get(p.id, ()):
        graph = known.graph(number)
        for op in graph.consumers.get(index, ()):
            if op.name in TRANSPOSING:
                return p.shape[1]
            if op.name in PRODUCTS_OF_MATRICES and op.inputs[-1] == index:
                return p.shape[0]
    return 0


def _smaller(trace: Trace, wide: list[_Wide]) -> tuple[str, Edits]:
    names = listed([f"`{parameter_name(trace, w.parameter.id)}`" for w in wide])
    text = (
        f"divide {names} by the root of the inputs where {'it is' if len(wide) == 1 else 'they are'} made, as"
    )
    text += f" `nn.Linear` does: `torch.randn(…) / {wide[0].inputs} ** 0.5`"
    return text, tuple(edit for w in wide for edit in _divided(trace, w))


def _divided(trace: Trace, wide: _Wide) -> Edits:
    here = Source(trace, wide.call.path)
    node = here.file.at(wide.call)
    if not isinstance(node, ast.Call):
        return ()
    asks = next((k for k in node.keywords if k.arg == "requires_grad"), None)
    divisor = f" / {wide.inputs} ** 0.5"
    if asks is None and isinstance(here.file.parent.get(id(node)), ast.Assign):
        return here.append(node, divisor)
    if asks is None:
        return here.insert(node, "(") + here.append(node, f"{divisor})")
    return (
        *here.insert(node, "("),
        *here.without_keyword(node, asks),
        *here.append(node, f"{divisor}).requires_grad_()"),
    )


# -- a lower rate ---------------------------------------------------------------------------


def _slower(trace: Trace, climb: _Climb, updated: _Updated) -> tuple[str, Edits]:
    """Along the steepest direction of a parabola an update multiplies the loss by (1 - rate × curvature)²: the rate
    at which that is 0 is this one divided by 1 + √(growth)."""
    part = 1 + math.sqrt(climb.growth(1))
    if updated.optimizer is not None and updated.optimizer.cls != "SGD":
        part = 10.0
    scale = "or bring inputs and targets to a mean of 0 and a deviation of 1 before"
    optimizer = updated.optimizer
    rate = optimizer.rate if optimizer is not None else None
    if rate is not None and rate > 0:
        lower = _round(rate / part)
        edits = with_setting(trace, updated.line, "lr", lower, 1)
        other = elsewhere(updated.line, edits)
        return (
            f"a lower rate in {located(trace, updated.line, 'the optimizer')}: {lower} in place of {rate:g}"
            f"{f' ({other})' if other else ''}; {scale}",
            edits,
        )
    written = _rate(trace, updated.line)
    if written is not None:
        name, node, rate = written
        lower, here = _round(rate / part), Source(trace, updated.line.path)
        edits = here.replace(node, lower)
        other = elsewhere(updated.line, edits)
        return (
            f"a lower rate, {lower} in place of {rate:g} for `{name}`{f' ({other})' if other else ''}; {scale}",
            edits,
        )
    return f"a lower rate, about 1/{part:.0f} of this one; {scale}", ()


def _round(rate: float) -> str:
    """To one digit, downwards."""
    size = 10.0 ** math.floor(math.log10(rate))
    return one_digit(math.floor(rate / size + 1e-9) * size)


def _rate(trace: Trace, site: Site) -> tuple[str, ast.expr, float] | None:
    """The only name in an update by hand that the program gives a plain number, once: with where, and which."""
    file = trace.source_file(site.path)
    statement = file.statement(site)
    names = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)} if statement is not None else set()
    found: dict[str, list[ast.expr]] = {}
    for node in file.nodes:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id in names
        ):
            found.setdefault(node.targets[0].id, []).append(node.value)
    numbers = [
        (name, value, value.value)
        for name, (value, *others) in found.items()
        if not others and isinstance(value, ast.Constant) and isinstance(value.value, float)
    ]
    return numbers[0] if len(numbers) == 1 else None
