"""The levels of a quantile loss lie along the axis of the targets, not along that of the quantiles that are learned.

Why: quantile regression weighs an error by the level of its quantile: `tau` where the target is above it, `1 - tau`
where it is below. Of each quantile with each target there are two axes. With the levels along the targets each quantile
gets every level alike: all of them learn the same number, and no spread is left.

Fix: put the levels on the axis of the quantiles: `tau.view(1, -1, 1)` for errors of shape (batch, quantiles, targets).

Told where the error is a difference of two tensors, one with a gradient and one without, each of which has an axis that
the other lacks.
Silent on: one target for each sample, levels along both axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import (
    ALIASES,
    CASTS,
    MULTIPLICATIONS,
    ORDERINGS,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import written_input
from gradscope.analysis.words import located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._complements import complement_of
from gradscope.store import Trace

SAME = ALIASES | CASTS | {"clone", "contiguous"}
WIDENED = {"expand", "expand_as", "broadcast_to", "repeat", "repeat_interleave"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 8)
    tau = (torch.arange(8) + 0.5) / 8
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        expected, target = net(torch.randn(16, 3)), torch.randn(16, 8)
        error = target.unsqueeze(1) - expected.unsqueeze(2)
        weight = torch.abs(tau - (error.detach() < 0).float())  # cause: GS449
        loss = (weight * error.square()).sum(1).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS449
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 8)
    tau = (torch.arange(8) + 0.5) / 8
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        expected, target = net(torch.randn(16, 3)), torch.randn(16, 8)
        error = target.unsqueeze(1) - expected.unsqueeze(2)
        weight = torch.abs(tau.view(1, 8, 1) - (error.detach() < 0).float())
        loss = (weight * error.square()).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class Levels(NamedTuple):
    """The call that picks levels by the sign of an error; which of its inputs has them; and the axes, from the end, of
    what is expected and of the targets."""

    op: Op
    place: int
    expected: int
    targets: int
    error: Op


@rule("GS449", name="quantiles-along-the-targets", severity="warning")
def quantiles_along_the_targets(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(ORDERINGS):
        return
    known = paths(trace)
    told: dict[tuple[str, int], list[Levels]] = {}
    for _, op in known.used_calls(SUBTRACTIONS | {"where"}):
        found = _levels(known, op)
        if found is not None and _weighs(known, found):
            told.setdefault(op.site.user.location(), []).append(found)
    for all_found in told.values():
        yield _finding(trace, known, all_found[0])


def _levels(known: Paths, op: Op) -> Levels | None:
    graph = known.graph(op.graph)
    given = [(graph.id, index) for index in op.inputs]
    if any(graph.values[index].requires_grad for index in op.inputs):
        return None
    if op.name == "where" and len(given) == 3:
        for place, other in ((1, 2), (2, 1)):
            if complement_of(known, given[other], SAME) == known.source_behind(given[place], SAME):
                return _along(known, op, place, given[0])
        return None
    if op.name == "where" or len(given) != 2:
        return None
    for place in (0, 1):
        found = _along(known, op, place, given[1 - place])
        if found is not None:
            return found
    return None


def _along(known: Paths, op: Op, place: int, sign: Key) -> Levels | None:
    """Levels whose only axis is that of the targets, next to the sign of an error."""
    asked = known.maker_behind(sign, SAME)
    if asked is None or asked.name not in ORDERINGS or not asked.inputs:
        return None
    if len(asked.inputs) == 2:  # the two are compared themselves
        error = asked
    else:
        maker = known.maker_behind((asked.graph, asked.inputs[0]), SAME)
        if maker is None or maker.name not in SUBTRACTIONS or len(maker.inputs) != 2:
            return None
        error = maker
    sides = [known.source_behind((error.graph, index), SAME | WIDENED) for index in error.inputs]
    learned = [
        known.value((error.graph, index)).requires_grad or known.value(side).requires_grad
        for index, side in zip(error.inputs, sides, strict=True)
    ]
    if learned.count(True) != 1:
        return None
    expected, target = (known.value(side).shape for side in (sides if learned[0] else sides[::-1]))
    rank = max(len(expected), len(target))
    own = [axis for axis in range(-rank, 0) if _size(expected, axis) > 1 == _size(target, axis)]
    theirs = [axis for axis in range(-rank, 0) if _size(target, axis) > 1 == _size(expected, axis)]
    levels = known.value((op.graph, op.inputs[place])).shape
    if len(own) != 1 or len(theirs) != 1 or _size(levels, own[0]) != 1 or _size(levels, theirs[0]) == 1:
        return None
    return Levels(op, place, own[0], theirs[0], error)


def _size(shape: tuple[int, ...], axis: int) -> int:
    return shape[axis] if -axis <= len(shape) else 1


def _weighs(known: Paths, found: Levels) -> bool:
    """Whether the result, or its absolute value, is a factor of what has a gradient."""
    graph = known.graph(found.op.graph)
    behind = graph.readers_behind(found.op.outputs, lambda op: op.name in SAME | {"abs"})
    return any(
        op.name in MULTIPLICATIONS
        and any(graph.values[index].requires_grad for index in op.inputs)
        and (found.op.name == "where" or value not in found.op.outputs)
        for value, op in behind
    )


def _finding(trace: Trace, known: Paths, found: Levels) -> Finding:
    op, graph = found.op, known.graph(found.op.graph)
    index = op.inputs[found.place]
    levels, result = graph.values[index].shape, graph.values[op.outputs[0]].shape
    name = names_of(trace).name(graph, index)
    tau = f"`{name}`" if name else "the levels"
    targets, expected = len(result) + found.targets, len(result) + found.expected
    graph_of_error = known.graph(found.error.graph)
    shapes = [graph_of_error.values[i].shape for i in found.error.inputs]
    loss = known.loss_of((graph.id, op.outputs[0]))
    fits = levels[found.targets] == result[found.expected]
    form, edits = _moved(trace, found, levels) if fits else ("", ())
    wanted = f"{tau.strip('`')}{form}" if name and form else ""
    return Finding(
        message=f"{tau} of shape {levels} lies along axis {targets} of the errors, which is that of the targets, and"
        f" not along axis {expected}, that of the quantiles: each quantile is given every level",
        cause=op.site.user,
        cause_label=f"meets {result} along the targets",
        effect=loss.site.user if loss is not None else None,
        effect_label="learns the same for every quantile",
        related=((found.error.site.user, f"axis {expected} has a gradient, axis {targets} has none"),),
        seen=(
            f"the errors are made of {shapes[0]} and {shapes[1]}: what has a gradient has the size"
            f" {result[expected]} along axis {expected} and is repeated along axis {targets}, where the levels differ",
        ),
        fix=f"put the levels on axis {expected}{f', `{wanted}`,' if wanted else ''} in {located(trace, op.site.user)}",
        edits=edits,
        count=known.alike(loss) if loss is not None else 1,
    )


def _moved(trace: Trace, found: Levels, levels: tuple[int, ...]) -> tuple[str, Edits]:
    """The method that puts the levels onto the other axis, and the edit that calls it."""
    if len(levels) >= max(-found.expected, -found.targets):
        form = f".transpose({found.targets}, {found.expected})"
    elif (found.targets, found.expected) == (-1, -2):
        form = ".unsqueeze(-1)"
    else:
        return "", ()
    here = Source(trace, found.op.site.user.path)
    if found.op.name == "where":
        return form, ()
    given = written_input(trace, found.op, found.place)
    return form, here.behind(given, form) if given is not None else ()
