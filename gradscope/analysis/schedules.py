"""Learning rates: whether schedules or their optimizers step first, which of two is never stepped, and whether a rate
is changed at all."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gradscope.analysis.loop import in_order, settled
from gradscope.analysis.text import nodes_of_functions, site_of
from gradscope.analysis.words import variable
from gradscope.events import Backward, Rates, Scaler, Scheduled, SchedulerMade, Step
from gradscope.model import Optimizer, Site
from gradscope.source import FUNCTIONS, LOOPS, called_name, method_name
from gradscope.store import Trace

TORCHS = {
    "LambdaLR", "MultiplicativeLR", "StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR",
    "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR",
}  # fmt: skip
PLATEAU = "ReduceLROnPlateau"
ENOUGH = 20  # turns of the other one
RAISED = 1.2  # times the rate that it was made with


def raises_its_rate(optimizer: Optimizer) -> bool:
    """Whether it came to step at a rate that is far above the one it was made with: a test of which rates go, say."""
    rates = [group["lr"] for group in optimizer.groups if isinstance(group.get("lr"), int | float)]
    return bool(rates) and optimizer.highest > RAISED * max(rates)


def goes_up(optimizer: Optimizer) -> bool:
    """Whether it is told to make the loss larger."""
    return any(group.get("maximize") for group in optimizer.groups)


def finds_its_length(trace: Trace, optimizer: Optimizer) -> bool:
    """Whether a step computes the loss itself, as those of line searches do, or there is no rate that it goes by: how
    large a gradient is says nothing of how far it goes."""
    own = (step for step in trace.of(Step) if step.optimizer == optimizer.id)
    return not any("lr" in group for group in optimizer.groups) or any(step.closure for step in own)


def goes_down(trace: Trace, steps: Iterable[Step]) -> bool:
    """Whether the optimizers of these steps are known, and none of them is told to make the loss larger."""
    optimizers = [trace.optimizers.get(step.optimizer) for step in steps]
    return not any(one is None or goes_up(one) for one in optimizers)


def rates_written(trace: Trace) -> Iterator[tuple[str, str, ast.Assign]]:
    """(file, function, statement) of what gives an optimizer's group another rate, whether or not it ran."""
    for path, function, node in nodes_of_functions(trace, ast.Assign):
        if any(is_rate(target) for target in node.targets):
            yield path, function, node


def rate_written_at(trace: Trace) -> Site | None:
    """The first line of the program that gives an optimizer's group another rate itself, whether or not it ran."""
    written = (site_of(*line) for line in rates_written(trace))
    return min(written, key=lambda site: (site.path, site.line), default=None)


def is_rate(node: ast.AST) -> bool:
    """Whether it is `group["lr"]`, the rate of an optimizer's group."""
    return (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "lr"
    )


def schedules_of(trace: Trace, optimizer: int) -> list[SchedulerMade]:
    """The schedules of an optimizer, in the order in which they were made; not those that others drive."""
    made = [event for event in trace.of(SchedulerMade) if event.optimizer == optimizer]
    driven = {number for event in made for number in event.drives}
    return [event for event in made if event.scheduler not in driven]


def schedule_name(trace: Trace, made: SchedulerMade) -> str:
    """What the program calls a schedule, else its class: "`scheduler`", "the `StepLR`"."""
    name = variable(trace, made.site)
    return f"`{name}`" if name else f"the `{made.cls}`"


def is_taken_over(trace: Trace, scheduler: int, optimizer: int) -> bool:
    """Whether another schedule of the optimizer was stepped only after the last step of this one, as averaging of
    weights does it."""
    others = {event.scheduler for event in trace.of(Rates) if event.optimizer == optimizer} - {scheduler}
    order = [event.scheduler for _, event in in_order(trace) if isinstance(event, Scheduled)]
    begun = [order.index(other) for other in others if other in order]
    return scheduler in order and any(scheduler not in order[place:] for place in begun)


class Early(NamedTuple):
    """A schedule's step that came before the first step of its optimizer."""

    schedule: Scheduled
    times: int  # how often its line ran before that
    first: Step


def stepped_early(trace: Trace, made: SchedulerMade) -> Early | None:
    """The line that steps a schedule both before and after the optimizer's first step. None for an
    accumulation, whose schedule counts passes, and where a scaler may have skipped the first step."""
    number, optimizer = made.scheduler, made.optimizer
    before: dict[Site, tuple[Scheduled, int]] = {}
    first: Step | None = None
    held = set(trace.optimizers[optimizer].parameters)
    passes = since = 0  # passes into these parameters: before the schedule's first step, and after it
    for repeat, event in in_order(trace):
        if isinstance(event, Scaler) and event.optimizer == optimizer and first is None:
            return None
        if isinstance(event, Step) and event.optimizer == optimizer and first is None:
            first = event
            if passes and since:
                return None
        if isinstance(event, Backward) and first is None and held & set(event.filled):
            passes, since = (passes, since + repeat) if before else (passes + repeat, since)
        if isinstance(event, Scheduled) and event.scheduler == number:
            site = event.site.user
            if first is None:
                before[site] = (event, before.get(site, (event, 0))[1] + repeat)
            elif site in before:
                return Early(*before[site], first)
    return None


class NeverReached(NamedTuple):
    """A schedule whose step stands in the text, under a condition, and never ran, while another one of the same
    optimizer was stepped on and on and had no more to change."""

    other: Rates
    step: Site  # where the text steps it
    condition: Site  # what decides
    named: str  # the test as the branch has it


def never_reached(trace: Trace, made: SchedulerMade) -> NeverReached | None:
    """What keeps this schedule from being stepped beside another one that has come to its end long ago."""
    if not settled(trace) or any(e.scheduler == made.scheduler for e in trace.of(Scheduled)):
        return None
    classes = {e.scheduler: e.cls for e in trace.of(SchedulerMade)}
    if any(made.scheduler in e.drives for e in trace.of(SchedulerMade)) or made.cls not in TORCHS:
        return None
    others = [e for e in trace.of(Rates) if e.optimizer == made.optimizer]
    if len(others) != 1 or classes.get(others[0].scheduler) not in TORCHS:
        return None
    other = others[0]
    if other.turns < ENOUGH or not 0 < other.moved * 2 <= other.turns or not other.last:
        return None
    name = variable(trace, made.site)
    uses = list(_uses(trace, made.site, name)) if name else []
    if len(uses) != 1 or _handed_on(trace, made.site, name):
        return None
    path, function, call = uses[0]
    branch = _decides(trace, path, call)
    if branch is None:
        return None
    condition = _condition(trace, path, function, branch.test)
    return NeverReached(other, site_of(path, function, call), condition, ast.unparse(branch.test))


def _calls(trace: Trace, made: Site, name: str) -> Iterator[tuple[str, str, ast.Call]]:
    """The calls in which a name of this kind may be meant: of an attribute all of the program, else of its scope."""
    file = trace.source_file(made.path)
    own = None if "." in name else {id(node) for node in ast.walk(file.scope(made))}
    for path, function, node in nodes_of_functions(trace, ast.Call):
        if own is None or id(node) in own:
            yield path, function, node


def _same(node: ast.expr, name: str) -> bool:
    """Whether an expression is this name; of an attribute also that of another name for its object."""
    text = ast.unparse(node)
    return text == name or (
        "." in text and "." in name and text.rpartition(".")[2] == name.rpartition(".")[2]
    )


def _uses(trace: Trace, made: Site, name: str) -> Iterator[tuple[str, str, ast.Call]]:
    """The calls of its `step()` in the program."""
    for path, function, node in _calls(trace, made, name):
        if method_name(node) == "step" and isinstance(node.func, ast.Attribute):
            if _same(node.func.value, name):
                yield path, function, node


def _handed_on(trace: Trace, made: Site, name: str) -> bool:
    """Whether any call is given it, so that something else may step it."""
    return any(
        _same(given, name)
        for _, _, node in _calls(trace, made, name)
        if called_name(node) not in ("print", "isinstance", "type", "str", "repr")
        for given in [*node.args, *(keyword.value for keyword in node.keywords)]
    )


def _decides(trace: Trace, path: str, call: ast.Call) -> ast.If | None:
    """The innermost branch around a call, within its loop or function."""
    for above in trace.source_file(path).above(call):
        if isinstance(above, ast.If):
            return above
        if isinstance(above, (*LOOPS, *FUNCTIONS)):
            return None
    return None


def _condition(trace: Trace, path: str, function: str, test: ast.expr) -> Site:
    """Where the answer is worked out: what a function of the program returns at last, where the test is its call."""
    while isinstance(test, ast.UnaryOp):
        test = test.operand
    wanted = called_name(test)
    for other in trace.sources if wanted else ():
        for node in trace.source_file(other).nodes:
            if isinstance(node, FUNCTIONS) and node.name == wanted:
                last = node.body[-1]
                if isinstance(last, ast.Return) and last.value is not None:
                    return site_of(other, node.name, last.value)
    return site_of(path, function, test)
