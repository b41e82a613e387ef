"""Parameters that had gradients and get none any more, while their optimizer goes on stepping.

What counts are the steps of the optimizer that holds a parameter: a pass for another loss, a phase
with an optimizer of its own, or a branch that is taken now and then lose nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gradscope.analysis.loop import in_order, stretches
from gradscope.analysis.memo import once
from gradscope.analysis.text import nodes_of_functions, nodes_that_ran, site_of
from gradscope.analysis.words import parameter_names, plural
from gradscope.events import Backward, Flipped, ModuleCall, RequiresGrad, Step, Update
from gradscope.model import Event, Parameter, Since, Site
from gradscope.store import Trace

ENOUGH = 5  # steps with a gradient, and steps without, before a gradient counts as stopped
LONGER = 10  # times the longest stretch without a gradient that came before
WITH, WITHOUT = ("fresh", "stale"), ("none", "zero", "used")


@dataclass(frozen=True)
class Run:
    """Steps of one optimizer in a row that found the same gradients."""

    step: int  # the first one's number in the program, from 1
    last: int  # the last one's
    count: int
    segment: int  # that of the first step
    end: int  # that of the last one
    filled: frozenset[int]  # parameters with a new gradient
    empty: frozenset[int]  # those without
    none: frozenset[int]  # those of them that had none at all: an optimizer does not change these
    site: Site


class Stop(NamedTuple):
    """Parameters of one optimizer whose gradients stopped at the same step."""

    parameters: tuple[int, ...]
    optimizer: int
    step: int  # the first without them, from 1
    segment: int  # the first one in which they were missing
    before: int  # steps that found them
    after: int  # steps that did not, up to the end
    whole: bool  # the optimizer finds no gradient at all since
    unchanged: bool  # no step since has changed them, nor the program by hand
    end: int  # the segment of the last step
    site: Site  # the user's line of these steps

    @property
    def since(self) -> Since:
        return Since(self.step)

    def seen(self, trace: Trace, ids: Iterable[int]) -> str:
        """What was measured of some of its parameters."""
        names = parameter_names(trace, ids)
        cls = trace.optimizers[self.optimizer].cls
        return (
            f"{plural(self.before, 'step')} of this `{cls}` found a gradient of {names}, the last"
            f" {self.after:,}, from step {self.step:,} on, found {'none' if self.unchanged else 'no new one'}"
        )


@once
def stops(trace: Trace) -> list[Stop]:
    """Where gradients stopped for good, in program order. Where at the same step others begin that had
    none, the program goes on to another phase: nothing stopped."""
    runs = _runs(trace)
    latest: dict[int, int] = {}  # parameter → the last step, of whichever optimizer, that found its gradient
    for some in runs.values():
        for run in some:
            latest.update((p, run.last) for p in run.filled if run.last > latest.get(p, 0))
    found: dict[tuple[int, int, int, int], list[int]] = {}
    for optimizer, some in runs.items():
        for parameter in some[-1].empty:
            series = _Series(some, parameter)
            if series.stopped and latest[parameter] < some[series.first].step:
                key = optimizer, series.first, series.before, series.after
                found.setdefault(key, []).append(parameter)
    begun = list(_begun(runs)) if found else []
    stopped = []
    written = {(event.parameter, event.segment) for event in trace.of(Update)} if found else set()
    for (optimizer, at, before, after), parameters in found.items():
        some = runs[optimizer]
        if not any(some[at - 1].last <= step <= some[at].step + 1 for step in begun):
            since = some[at - 1].end + 1
            unchanged = all(run.empty.intersection(parameters) <= run.none for run in some[at:]) and not any(
                parameter in parameters and segment >= since for parameter, segment in written
            )
            stopped.append(
                Stop(
                    tuple(sorted(parameters)), optimizer, some[at].step, since, before, after,
                    not any(run.filled for run in some[at:]), unchanged, some[-1].end, some[at].site,
                )
            )  # fmt: skip
    return sorted(stopped, key=lambda stop: (stop.step, stop.parameters))


def frozen(trace: Trace, stop: Stop) -> dict[int, Event]:
    """Parameters of a stop that require no gradient since: → where that was set, or (after steps that
    sampling slept through) noticed. What is set after the last step changes nothing."""
    found: dict[int, Event] = {}
    for segment, events in stretches(trace):
        for event in events if segment.index <= stop.end else ():
            if not isinstance(event, (Flipped, RequiresGrad)):
                continue
            for id in (id for id in stop.parameters if id in event.leaves):
                if event.to:
                    found.pop(id, None)
                else:
                    found.setdefault(id, event)
    return found


def frozen_by(trace: Trace, p: Parameter) -> RequiresGrad | None:
    """The last line that made a parameter require no gradient; None where the program never did, or turned it back."""
    last = _set_last(trace).get(p.id)
    return last if last is not None and not last.to else None


@once
def _set_last(trace: Trace) -> dict[int, RequiresGrad]:
    return {
        id: event
        for event in trace.of(RequiresGrad)
        for id in (event.leaf, event.parameter)
        if id is not None
    }


@once
def frozen_throughout(trace: Trace) -> set[int]:
    """Optimizers of two steps or more that hold nothing but frozen parameters at each of them: by whichever line, and
    whatever had trained these before."""
    off = {p.id for p in trace.parameters if not p.requires_grad}
    steps: dict[int, int] = {}
    others: set[int] = set()  # optimizers that found something to train
    for repeat, event in in_order(trace):
        if isinstance(event, (Flipped, RequiresGrad)):
            (off.difference_update if event.to else off.update)(event.leaves)
        elif isinstance(event, Step) and event.optimizer in trace.optimizers:
            steps[event.optimizer] = steps.get(event.optimizer, 0) + repeat
            if event.fed or not off.issuperset(trace.optimizers[event.optimizer].parameters):
                others.add(event.optimizer)
    return {number for number, count in steps.items() if count >= 2} - others


@once
def thawed(trace: Trace) -> dict[int, Event]:
    """Parameters that were frozen and require a gradient since: → where that was set last, or noticed."""
    off: set[int] = set()
    found: dict[int, Event] = {}
    for _, events in stretches(trace):
        for event in events:
            if isinstance(event, Flipped) and event.to:
                found |= dict.fromkeys(event.leaves, event)
            elif isinstance(event, RequiresGrad) and event.leaf is not None:
                if event.to and event.leaf in off:
                    found[event.leaf] = event
                (off.discard if event.to else off.add)(event.leaf)
    return found


def frozen_behind(trace: Trace, parameter: int) -> Event | None:
    """What froze a parameter for the rest of the run, where passes came after it, more of them than in any turn after
    which it was thawed again; or (after steps that sampling slept through) the first to notice it."""
    off: Event | None = None
    passes = in_turn = 0
    for _, event in in_order(trace):
        if isinstance(event, (Flipped, RequiresGrad)):
            if parameter in event.leaves and (event.to or off is None):
                if event.to and off is not None:
                    in_turn = max(in_turn, passes)
                off, passes = None if event.to else event, 0
        elif isinstance(event, Backward):
            passes += 1
    return off if passes > in_turn else None


def frozen_for_good(trace: Trace, line: tuple[str, int]) -> set[int]:
    """Parameters that were trained, then frozen once and for all, before two calls of modules from this line."""
    trained: set[int] = set()
    frozen: dict[int, int] = {}  # → calls since
    thawed: set[int] = set()
    for repeat, one in in_order(trace):
        if isinstance(one, Backward):
            filled = set(one.filled)
            trained |= filled
            thawed |= filled & set(frozen)
        elif isinstance(one, RequiresGrad) and not one.to and one.parameter in trained:
            frozen.setdefault(one.parameter, 0)
        elif isinstance(one, Flipped) and not one.to:
            frozen |= {id: frozen.get(id, 0) for id in trained & set(one.leaves)}
        elif isinstance(one, ModuleCall) and one.site.user.location() == line:
            frozen = {id: calls + repeat for id, calls in frozen.items()}
    return {id for id, calls in frozen.items() if calls >= 2} - thawed


def set_at(trace: Trace, event: Event) -> Site | None:
    """The line that froze, or that made what was frozen require a gradient. Where nobody looked it is the only one of
    the program's that can do so and was not seen to run, in functions that ran, or else (one may have run meanwhile) in
    all."""
    if isinstance(event, RequiresGrad):
        return event.site.user
    to = isinstance(event, Flipped) and event.to
    ran = {e.site.user.location() for e in trace.of(RequiresGrad)}
    for nodes in (nodes_that_ran, nodes_of_functions):
        found = [
            site_of(path, function, node.targets[0] if isinstance(node, ast.Assign) else node)
            for path, function, node in nodes(trace, ast.Assign, ast.Call)
            if isinstance(node, (ast.Assign, ast.Call)) and _sets(node, to) and (path, node.lineno) not in ran
        ]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _sets(node: ast.Assign | ast.Call, to: bool) -> bool:
    """Whether this is `x.requires_grad = …` or `x.requires_grad_(…)` with this value, or may be."""
    if isinstance(node, ast.Assign):
        changed, name, given = node.targets[0], "requires_grad", [node.value]
    else:
        changed, name = node.func, "requires_grad_"
        given = [*node.args, *(word.value for word in node.keywords)]
    fits = any(not isinstance(value, ast.Constant) or value.value is to for value in given) or (
        to and not given
    )
    return fits and isinstance(changed, ast.Attribute) and changed.attr == name


class _Series:
    """What the steps of one optimizer found of one parameter."""

    def __init__(self, runs: list[Run], parameter: int):
        self.before = self.after = self.longest = 0
        self.first = 0  # the place of the first run without a gradient, after the last with one
        for at, run in enumerate(runs):
            if parameter in run.filled:
                self.longest = max(self.longest, self.after if self.before else 0)
                self.before, self.after = self.before + run.count, 0
            elif parameter in run.empty:
                self.first = self.first if self.after else at
                self.after += run.count

    @property
    def stopped(self) -> bool:
        """Whether the stretch without a gradient is more than the pauses that came before."""
        return self.before >= ENOUGH and self.after >= max(ENOUGH, LONGER * self.longest)


def _runs(trace: Trace) -> dict[int, list[Run]]:
    """Optimizer → its steps in program order, those that found the same gradients together."""
    found: dict[int, list[Run]] = {}
    known: dict[int, tuple[frozenset[int], frozenset[int], frozenset[int]]] = {}
    steps = 0
    for segment, events in stretches(trace):
        for event in events:
            if not isinstance(event, Step) or event.optimizer not in trace.optimizers:
                continue
            number = event.optimizer
            filled, empty, none = known.setdefault(id(event), _found(event))
            some = found.setdefault(number, [])
            last = steps + segment.repeat
            if some and (some[-1].filled, some[-1].empty, some[-1].none) == (filled, empty, none):
                one = some.pop()
                count = one.count + segment.repeat
                run = Run(one.step, last, count, one.segment, segment.index, filled, empty, none, one.site)
            else:
                run = Run(
                    steps + 1, last, segment.repeat, segment.index, segment.index, filled, empty, none,
                    event.site.user,
                )  # fmt: skip
            some.append(run)
        steps += segment.repeat if segment.is_step else 0
    return found


def _found(step: Step) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
    filled, empty, none = (frozenset(step.in_state(*some)) for some in (WITH, WITHOUT, ("none",)))
    return filled, empty, none


def _begun(runs: dict[int, list[Run]]) -> Iterator[int]:
    """Steps that found gradients which had never been there, or had paused for long."""
    for some in runs.values():
        away: dict[int, int] = {}  # parameter → steps since its last gradient
        for at, run in enumerate(some):
            if at and any(away.get(p, ENOUGH) >= ENOUGH for p in run.filled - some[at - 1].filled):
                yield run.step
            elif not at and run.step > 1:
                yield run.step
            for parameter in run.filled:
                away[parameter] = 0
            for parameter in run.empty:
                away[parameter] = away.get(parameter, ENOUGH) + run.count
