"""A critic's values are subtracted from the very returns whose normalised form it was trained on.

Why: a critic that learns `(returns - mean) / std` answers in standard deviations. Subtracted from returns as they are,
its values change next to nothing: the advantage is the return itself, and the baseline does not lower its variance.

Fix: scale the values back before they are subtracted, by what the targets went through: `values * std + mean`. Or
subtract them from the normalised returns.

Measured: mean and spread of the returns that the values are subtracted from, and the bounds of the targets that the
critic's loss is given, each at the first call.
Silent on: values that were scaled or shifted before; targets of the same scale as the returns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.bootstraps import squared
from gradscope.analysis.ops import (
    ALIASES,
    COMPARING_LOSSES,
    MULTIPLICATIONS,
    NORMING,
    PASSING,
    SCALES,
    SUBTRACTIONS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.events import Subtracted, Targets
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import makers, measured_targets
from gradscope.store import Trace

WIDER = 3  # times the whole range of the targets: the spread of the returns
FAR = 5  # times that range between them
DEEP = 12


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    mean, std = torch.tensor(200.0), torch.tensor(50.0)
    for _ in range(4):
        states = torch.randn(32, 3)
        returns = 200 + 50 * torch.randn(32)
        with torch.no_grad():
            values = critic(states).squeeze(1)
        advantages = returns - values  # cause: GS393
        policy = -(advantages * actor(states).log_softmax(1)[:, 0]).mean()
        loss = nn.functional.mse_loss(critic(states).squeeze(1), (returns - mean) / std)  # effect: GS393
        opt.zero_grad()
        (policy + loss).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
    mean, std = torch.tensor(200.0), torch.tensor(50.0)
    for _ in range(4):
        states = torch.randn(32, 3)
        returns = 200 + 50 * torch.randn(32)
        with torch.no_grad():
            values = critic(states).squeeze(1)
        advantages = returns - (values * std + mean)
        policy = -(advantages * actor(states).log_softmax(1)[:, 0]).mean()
        loss = nn.functional.mse_loss(critic(states).squeeze(1), (returns - mean) / std)
        opt.zero_grad()
        (policy + loss).backward()
        opt.step()


class _Lesson(NamedTuple):
    """A loss that compares a critic's values with normalised returns."""

    loss: Op
    weights: frozenset[int]  # of the layer that gives the values
    raw: frozenset[Key]  # the returns as they are
    scaled: Op  # what makes the target of them


@rule("GS393", name="subtracted-in-other-units", severity="warning", needs=Subtracted)
def subtracted_in_other_units(trace: Trace) -> Iterator[Finding]:
    measured = {event.site.user.span(): event for event in trace.of(Subtracted)}
    if not measured:
        return
    known, targets = paths(trace), measured_targets(trace)
    lessons = list(_lessons(known))
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls(SUBTRACTIONS) if lessons else ():
        event, place = measured.get(op.site.user.span()), op.site.user.location()
        if event is None or len(op.inputs) != 2 or place in told:
            continue
        for lesson in lessons:
            target = targets.get((lesson.loss.site.user.span(), lesson.loss.name))
            same = known.made((op.graph, op.inputs[0])) in lesson.raw
            if same and target is not None and lesson.weights == _weights(known, (op.graph, op.inputs[1])):
                if _is_far(event, target):
                    told.add(place)
                    yield _finding(trace, known, op, lesson, event, target)
                break


def _lessons(known: Paths) -> Iterator[_Lesson]:
    for _, op in known.used_calls(COMPARING_LOSSES | SUBTRACTIONS):
        graph = known.graph(op.graph)
        if len(op.inputs) < 2 or not (op.name in COMPARING_LOSSES or squared(known, op)):
            continue
        for answer, target in (op.inputs[:2], op.inputs[1::-1]):
            if graph.values[answer].requires_grad and not graph.values[target].requires_grad:
                normalised = _normalised(known, (op.graph, target))
                weights = _weights(known, (op.graph, answer)) if normalised is not None else frozenset[int]()
                if normalised is not None and weights:
                    yield _Lesson(op, weights, *normalised)


def _normalised(known: Paths, key: Key) -> tuple[frozenset[Key], Op] | None:
    """What a value was before it was scaled, at each point on the way, and the last call that scales."""
    scaling: Op | None = None
    raw: set[Key] = set()
    for _ in range(DEEP):
        sources, op = known.sources(key)
        scales = op is not None and _scales(known, op)
        if not sources or not (scales or _shifts(known, op)):
            break
        if scales:
            scaling = scaling or op
        key = sources[0]
        if scaling is not None:
            raw.add(known.made(key))
    return (frozenset(raw), scaling) if scaling is not None else None


def _scales(known: Paths, op: Op) -> bool:
    """Whether a call gives numbers another scale, all of them the same."""
    if op.name in NORMING:
        return not any(known.value((op.graph, i)).requires_grad for i in op.inputs)
    return op.name in SCALES and _keeps_form(known, op)


def _shifts(known: Paths, op: Op | None) -> bool:
    """Whether it leaves them as they are, but for a shift."""
    return op is None or op.name in PASSING | ALIASES or (op.name in SUMS and _keeps_form(known, op))


def _keeps_form(known: Paths, op: Op) -> bool:
    """Whether each of many numbers is changed by one and the same, or by a few."""
    graph = known.graph(op.graph)
    shapes = [graph.values[i].shape for i in op.inputs[:2]]
    return shapes[0] == graph.values[op.outputs[0]].shape and (len(shapes) == 1 or shapes[1] != shapes[0])


def _weights(known: Paths, key: Key) -> frozenset[int]:
    """The trained parameters of the one layer whose results a value holds, as they are."""
    found = {_parameters(known, op) for op in _layers(known, key)}
    return found.pop() if len(found) == 1 else frozenset()


def _layers(known: Paths, key: Key) -> Iterator[Op]:
    """The calls whose results a value holds, with their graph or without."""
    for _, op in makers(known, key):
        if op.name in ALIASES and op.inputs:
            yield from _layers(known, (op.graph, op.inputs[0]))
        else:
            yield op


def _parameters(known: Paths, op: Op) -> frozenset[int]:
    held = (known.parameter_of((op.graph, i)) for i in op.inputs[1:])
    return frozenset(p.id for p in held if p is not None and known.stepped(p))


def _is_far(event: Subtracted, target: Targets) -> bool:
    width, middle = target.high - target.low, (target.high + target.low) / 2
    return width > 0 and (event.spreads[0] >= WIDER * width or abs(event.means[0] - middle) >= FAR * width)


def _scaled_back(known: Paths, lesson: _Lesson) -> Site | None:
    """Where the program multiplies the critic's values, so that they are returns again: the call that does it."""
    for _, op in known.used_calls(MULTIPLICATIONS):
        graph = known.graph(op.graph)
        if op.inputs and not graph.values[op.outputs[0]].requires_grad:
            if _weights(known, (op.graph, op.inputs[0])) == lesson.weights and len(op.inputs) == 2:
                site = op.site.user
                given_back = isinstance(known.trace.source_file(site.path).statement(site), ast.Return)
                return site.parent if given_back and site.parent is not None else site
    return None


def _finding(
    trace: Trace, known: Paths, op: Op, lesson: _Lesson, event: Subtracted, target: Targets
) -> Finding:
    place, loss, made = op.site.user, lesson.loss.site.user, lesson.scaled.site.user
    back = _scaled_back(known, lesson)
    means, spreads = event.means, event.spreads
    return Finding(
        message=f"{code(trace, place, 'a difference')} takes a critic's values from returns as they are, and it was"
        " trained on these returns normalised",
        cause=place,
        cause_label=f"{means[0]:.4g} ± {spreads[0]:.3g} on the left, {means[1]:.3g} ± {spreads[1]:.2g} on the right",
        effect=loss,
        effect_label=f"teaches the critic targets from {target.low:.3g} to {target.high:.3g}",
        related=(
            *(((made, "makes them of the returns"),) if made.location() != loss.location() else ()),
            *(((back, "scales the same values back"),) if back is not None else ()),
        ),
        seen=(
            f"of {event.numbers:,} numbers at the first call the left side was {means[0]:.4g} ± {spreads[0]:.3g}, the"
            f" right one {means[1]:.3g} ± {spreads[1]:.2g}; the critic's targets were the same returns,"
            f" scaled, from {target.low:.3g} to {target.high:.3g}",
        ),
        fix="scale the values back before they are subtracted in"
        f" {located(trace, place, code(trace, place, 'the difference'))}"
        + (
            f", as {located(trace, back, 'that line')} does"
            if back is not None
            else ": by the inverse of what"
            f" {located(trace, made, 'the normalisation')} does, times what it divides by, plus what"
            " it subtracts"
        ),
    )
