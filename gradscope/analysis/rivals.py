"""Losses that contradict each other about what one network says of the results of another, as those of a generator and
its discriminator do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.calls import calls
from gradscope.analysis.ops import BINARY_LOSSES, POINTWISE_LOSSES, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.senses import is_square, signed
from gradscope.events import Backward, Targets
from gradscope.model import Op
from gradscope.store import Trace

LOSSES = BINARY_LOSSES | POINTWISE_LOSSES
CONSTANTS = {
    "ones": 1.0,
    "ones_like": 1.0,
    "new_ones": 1.0,
    "zeros": 0.0,
    "zeros_like": 0.0,
    "new_zeros": 0.0,
}
Pull = tuple[str, float]  # "to" a value; or the loss "goes" up (1) or down (-1) with what the network says


def opposed(
    trace: Trace, one: Backward, other: Backward, made: frozenset[int], judges: frozenset[int]
) -> bool:
    """Whether the losses of two passes pull different ways what a network with the parameters `judges` makes of
    the results of one with the parameters `made`."""
    pulls = [set(_pulls(paths(trace), event, made, judges)) for event in (one, other)]
    return all(len(found) == 1 for found in pulls) and _differ(*(next(iter(found)) for found in pulls))


def _differ(one: Pull, other: Pull) -> bool:
    return one[0] == other[0] and one[1] != other[1]


def _pulls(known: Paths, event: Backward, made: frozenset[int], judges: frozenset[int]) -> Iterator[Pull]:
    if event.graph < 0:
        return
    says = {
        (call.event.graph, value)
        for call in calls(known.trace).all
        if call.event.graph == event.graph
        and judges & {p.id for p in calls(known.trace).parameters(call.event)}
        for value in call.event.outputs
        if made & known.reach([(call.event.graph, value)]).parameters
    }
    for term in signed(known, event, lambda op: op.name in LOSSES or is_square(op)):
        op = known.maker(term.key)
        if term.key in says:
            yield "goes", term.sign
        elif op is not None and (op.name in LOSSES or is_square(op)):
            scores = [
                (op.graph, index) for index in op.inputs if known.value((op.graph, index)).requires_grad
            ]
            if len(set(scores)) == 1 and made & known.reach(scores[:1]).parameters:
                aim = _aim(known, op) if op.name in LOSSES else _aim_of_square(known, scores[0], says)
                if aim is not None and term.sign == 1:
                    yield "to", aim


def _aim(known: Paths, op: Op) -> float | None:
    """The one number that a loss compares all scores with."""
    for index in op.inputs:
        maker = known.maker((op.graph, index)) if not known.value((op.graph, index)).requires_grad else None
        if maker is not None and maker.name in CONSTANTS:
            return CONSTANTS[maker.name]
    place = op.site.user.location()
    events = [e for e in known.trace.of(Targets) if e.site.user.location() == place]
    return events[0].low if len(events) == 1 and events[0].low == events[0].high else None


def _aim_of_square(known: Paths, key: Key, says: set[Key]) -> float | None:
    """The same of `(x - 1) ** 2`, and of `x ** 2`."""
    if key in says:
        return 0.0
    op = known.maker(key)
    if (
        op is None
        or op.name not in SUBTRACTIONS
        or len(op.inputs) != 1
        or (op.graph, op.inputs[0]) not in says
    ):
        return None
    node = known.trace.source_file(op.site.user.path).at(op.site.user)
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    numbers = [side.value for side in sides if isinstance(side, ast.Constant)]
    return float(numbers[0]) if len(numbers) == 1 and isinstance(numbers[0], int | float) else None
