"""Which way a loss goes with what it was computed from: whether it rises with it or falls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gradscope.analysis.ops import (
    ADDITIONS,
    CASTS,
    JOINING,
    MULTIPLICATIONS,
    NEGATIONS,
    PASSING,
    POWERS,
    REVERSED_SUBTRACTIONS,
    SCALES,
    SUBTRACTIONS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths
from gradscope.events import Backward
from gradscope.model import Op, Site
from gradscope.store import Trace

RISING = {
    "mean", "sum", "squeeze", "unsqueeze", "view", "reshape", "flatten", "clone", "contiguous", "relu", "leaky_relu",
    "softplus", "sigmoid", "log_sigmoid", "tanh", "exp", "log", "log1p", "clamp", "identity",
    "logsumexp",
}  # fmt: skip
MOST = 2000  # values of a loss that are looked at for divergences
DEEP = 30  # ops that are followed from a loss


class Part(NamedTuple):
    """What a loss is made of, nothing else: the call, and whether the loss rises (1) or falls (-1) with what it gives.
    `turned` is the first call that turns it round."""

    op: Op
    sign: int
    turned: Op | None


def sole_part(known: Paths, event: Backward, ends: Callable[[Op], bool]) -> Part | None:
    """The one call that a pass begins behind, past all that only turns, shifts and averages it, and for which `ends`
    does not hold; None where several are added up."""
    if not _is_plain(event):
        return None
    key, sign, turned = (event.graph, event.roots[0]), 1, None
    for _ in range(DEEP):
        sources, op = known.sources(key)
        tracked = [s for s in sources if known.value(s).requires_grad]
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


def _is_plain(event: Backward) -> bool:
    """Whether a pass goes down one loss, with no weights of its own."""
    return event.call == "backward" and len(event.roots) == 1 and event.sense == 1 and not event.weights


class Term(NamedTuple):
    """A value that a loss rises (1) or falls (-1) with. `turned` is the first call on the way from the loss that turns
    it round, `added` the last one that adds it to something else, or takes it from that; or puts it beside that."""

    key: Key
    sign: int
    turned: Op | None
    added: Op | None


def signed(known: Paths, event: Backward, ends: Callable[[Op], bool]) -> Iterator[Term]:
    """What a plain loss is made of, as far as it is known which way it goes with it, the nearest first; not what is
    behind a call for which `ends` holds, nor what only data goes into."""
    if not _is_plain(event):
        return
    todo = [Term((event.graph, event.roots[0]), 1, None, None)]
    seen = {todo[0].key}
    for term in todo:  # grows while it is walked
        yield term
        sources, op = known.sources(term.key)
        tracked = [s for s in sources if known.value(s).requires_grad]
        if not tracked or len(seen) >= MOST or (op is not None and ends(op)):
            continue
        ways = [1] * len(tracked) if op is None else senses(known.trace, op, tracked)
        added = op if op is not None and len(op.inputs) > 1 and _adds(op, term.added) else term.added
        for source, way in zip(tracked, ways or (), strict=False):
            if source not in seen:
                seen.add(source)
                turned = op if way < 0 and term.turned is None else term.turned
                todo.append(Term(source, term.sign * way, turned, added))


def _adds(op: Op, added: Op | None) -> bool:
    """Whether it adds its inputs up, or puts them side by side for a sum, where nothing else behind it adds them."""
    return op.name in SUMS or (op.name in JOINING and added is None)


@dataclass
class Divergence:
    """A divergence, which is never below 0, in a loss: the last call that makes it, and whether the loss rises (1) or
    falls (-1) with it. `turned` is the first call that turns it round, `form` what it is of."""

    op: Op
    sign: int
    turned: Op | None
    form: str


def divergences(known: Paths, event: Backward) -> list[Divergence]:
    """The divergences among the terms that a pass begins with: of probabilities from a constant (`q * (q.log() - g)`,
    `q * (k * q).log()`), and of a normal distribution from the standard one (`1 + v - m**2 - v.exp()`)."""
    found: list[Divergence] = []
    exponentials: dict[Key, Divergence] = {}
    squares: set[int] = set()  # with which signs
    plain: dict[Key, int] = {}
    for term in signed(known, event, lambda op: op.name == "exp" or is_square(op)):
        sources, op = known.sources(term.key)
        tracked = [s for s in sources if known.value(s).requires_grad]
        plain[known.made(term.key)] = term.sign
        if op is None:
            continue
        if op.name in MULTIPLICATIONS and len(tracked) == 2 and _from_constant(known, tracked):
            form = "probabilities from a constant distribution"
            found.append(Divergence(op, term.sign, term.turned, form))
        elif op.name == "exp" and tracked:
            form = "a normal distribution from the standard one"
            exponentials[known.made(tracked[0])] = Divergence(op, term.sign, term.turned, form)
        elif is_square(op):
            squares.add(term.sign)
    return found + [
        one for key, one in exponentials.items() if one.sign in squares and plain.get(key) == -one.sign
    ]


def _from_constant(known: Paths, factors: list[Key]) -> bool:
    """Whether one of both is a softmax, and the other the logarithm of that, less a constant."""
    for one, other in (factors, factors[::-1]):
        q = known.maker_behind(one, PASSING)
        if q is None or q.name != "softmax":
            continue
        shifted = logged = False  # on the way back from the product
        for _ in range(DEEP):
            op = known.maker(other)
            sources = [s for s in known.sources(other)[0] if known.value(s).requires_grad]
            if op is q:
                return shifted
            if op is None or len(sources) != 1:
                break
            if op.name == "log_softmax":
                return shifted and sources[0] == known.made((q.graph, q.inputs[0]))
            first = op.inputs[0] == sources[0][1]
            if op.name in SUBTRACTIONS and (not first or op.name in REVERSED_SUBTRACTIONS):
                break
            beside = [(op.graph, index) for index in op.inputs if (op.graph, index) != sources[0]]
            if known.fed_by(
                *beside
            ):  # of the model too, though detached: one of two that pull against each other
                break
            if op.name in SUMS:
                shifted |= not logged  # what is added before the logarithm keeps that finite
            elif op.name in SCALES:
                shifted |= logged and _by_a_constant(known.trace, op)
            elif op.name == "log":
                logged = True
            elif op.name not in PASSING | CASTS:
                break
            other = sources[0]
    return False


def _by_a_constant(trace: Trace, op: Op) -> bool:
    """Whether probabilities are multiplied with the number of classes, or divided by those of a prior: not with what
    is next to 1, `q * (1 - eps)`."""
    node = trace.source_file(op.site.user.path).at(op.site.user)
    if not isinstance(node, ast.BinOp):
        return False
    factor = plain_factor(trace, op)
    if factor is not None:
        return factor >= 2
    return all(isinstance(side, ast.Name | ast.Attribute | ast.Subscript) for side in (node.left, node.right))


def site_in(part: Part, event: Backward) -> Site:
    """Where the part is computed, as a line of the function that makes the pass; the call's own line where that is
    none of those that led to it."""
    return seen_from(part.op, event.site.user)


def seen_from(op: Op, site: Site) -> Site:
    """The line by which a call came of the function that `site` stands in; the call's own where none did."""
    frames = [frame for frame in op.site.stack if frame.function == site.function]
    return frames[-1] if frames else op.site.user


def is_square(op: Op) -> bool:
    """Whether it is a power, or a product of a value with itself."""
    return op.name in POWERS or (
        op.name in MULTIPLICATIONS and len(op.inputs) == 2 and op.inputs[0] == op.inputs[1]
    )


def is_negated(known: Paths, key: Key, forms: Collection[str] = ()) -> bool:
    """Whether a minus made a value, perhaps brought into another of these forms since."""
    maker = known.maker_behind(key, forms)
    return maker is not None and maker.name in NEGATIONS


def senses(trace: Trace, op: Op, sources: list[Key]) -> list[int] | None:
    """Of each of these inputs, whether the result rises (1) or falls (-1) with it; None where that is not known."""
    if op.name in NEGATIONS:
        return [-1] * len(sources)
    if op.name in RISING | ADDITIONS | JOINING | CASTS:
        return [1] * len(sources)
    if op.name in SUBTRACTIONS:
        turned = op.name in REVERSED_SUBTRACTIONS
        if len(op.inputs) == 1:
            return [-1 if turned else 1]
        first = op.inputs[1 if turned else 0]
        return [1 if index == first else -1 for _, index in sources]
    if op.name in SCALES and len(op.inputs) == 1:
        sign = op.extra.get("sign")
        return [sign] if isinstance(sign, int) else None
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
