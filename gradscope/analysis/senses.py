"""Which way a loss goes with what it was computed from: whether it rises with it or falls."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from gradscope.analysis.ops import ADDITIONS, CASTS, JOINING, SCALES, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths
from gradscope.events import Backward
from gradscope.model import Op, Site
from gradscope.store import Trace

RISING = {
    "mean", "sum", "squeeze", "unsqueeze", "view", "reshape", "flatten", "clone", "contiguous", "relu", "leaky_relu",
    "softplus", "sigmoid", "logsigmoid", "tanh", "exp", "log", "log1p", "clamp", "identity",
}  # fmt: skip
NEGATIONS = {"neg", "__neg__"}
DEEP = 30  # ops that are followed from a loss


@dataclass(frozen=True)
class Part:
    """What a loss is made of, nothing else: the call, and whether the loss rises (1) or falls (-1) with what it gives.
    `turned` is the first call that turns it round."""

    op: Op
    sign: int
    turned: Op | None


def sole_part(known: Paths, event: Backward, ends: Callable[[Op], bool]) -> Part | None:
    """The one call that a pass begins behind, past all that only turns, shifts and averages it, and for which `ends`
    does not hold; None where several are added up."""
    if event.call != "backward" or len(event.roots) != 1 or event.sense != 1 or event.weights:
        return None
    key, sign, turned = (event.graph, event.roots[0]), 1, None
    for _ in range(DEEP):
        sources, op = known.sources(key)
        tracked = [s for s in sources if known.graph(s[0]).values[s[1]].requires_grad]
        if op is None:
            if len(tracked) != 1:
                return None
            key = tracked[0]
            continue
        ways = None if ends(op) else senses(known.trace, op, tracked)
        if ways is None or len(tracked) != 1:
            return Part(op, sign, turned)
        if ways[0] < 0 and turned is None:
            turned = op
        key, sign = tracked[0], sign * ways[0]
    return None


def site_in(part: Part, event: Backward) -> Site:
    """Where the part is computed, as a line of the function that makes the pass; the call's own line where that is
    none of those that led to it."""
    frames = [frame for frame in part.op.site.stack if frame.function == event.site.user.function]
    return frames[-1] if frames else part.op.site.user


def senses(trace: Trace, op: Op, sources: list[Key]) -> list[int] | None:
    """Of each of these inputs, whether the result rises (1) or falls (-1) with it; None where that is not known."""
    if op.name in NEGATIONS:
        return [-1] * len(sources)
    if op.name in RISING | ADDITIONS | JOINING | CASTS:
        return [1] * len(sources)
    if op.name in SUBTRACTIONS:
        turned = op.name in ("rsub", "__rsub__")
        if len(op.inputs) == 1:
            return [-1 if turned else 1]
        first = op.inputs[1 if turned else 0]
        return [1 if index == first else -1 for _, index in sources]
    if op.name in SCALES and len(op.inputs) == 1:
        factor = plain_factor(trace, op)
        return None if factor is None else [1 if factor > 0 else -1]
    return None


def plain_factor(trace: Trace, op: Op) -> float | None:
    """The number that a value is multiplied with or divided by, as it is written; None where it is not, or 0."""
    node = trace.source_file(op.site.user.path).at(op.site.user)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.Div):
        return None
    for side in (node.left, node.right):
        try:
            number = ast.literal_eval(side)
        except (ValueError, TypeError, SyntaxError):
            continue
        if isinstance(number, int | float) and number:
            return 1 / number if isinstance(node.op, ast.Div) else float(number)
    return None
