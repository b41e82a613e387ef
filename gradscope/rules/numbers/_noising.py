"""Noise that is added to data by a share that is looked up or told, as networks that take it out are trained."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.bootstraps import squared
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import MULTIPLICATIONS, POINTWISE_LOSSES, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths
from gradscope.model import Op
from gradscope.rules.numbers._losses import losses
from gradscope.store import Trace

DRAWS = {"randn_like", "randn", "rand_like", "rand", "normal", "normal_"}
SUMS = {"add", "sub"}
MIXING = SUMS | {"addcmul", "lerp"}
LOOKED_UP = {"__getitem__", "gather", "index_select", "take"}
NEAR = 6  # calls between the schedule's entry and the factor


def compared(known: Paths) -> Iterator[tuple[Key, Key, Op]]:
    """(prediction, target, call) of losses, and of differences that are squared or made absolute."""
    for prediction, op in losses(known, POINTWISE_LOSSES):
        if len(op.inputs) > 1:
            yield prediction, (op.graph, op.inputs[1]), op
    for _, op in known.used_calls(SUBTRACTIONS):
        graph = known.graph(op.graph)
        tracked = [i for i in op.inputs if graph.values[i].requires_grad]
        if len(op.inputs) == 2 and len(tracked) == 1 and squared(known, op):
            other = op.inputs[1 - op.inputs.index(tracked[0])]
            yield (op.graph, tracked[0]), (op.graph, other), op


def mixed(known: Paths, made: Op) -> tuple[Key, Key] | None:
    """(what noise is added to, the noise) of `a + share * noise`, `addcmul(a, share, noise)` and
    `lerp(a, noise, share)`."""
    sides = [known.made((made.graph, i)) for i in made.inputs]
    if made.name in SUMS and len(sides) == 2:
        drawn = [
            (side, noise) for side in sides if (noise := _noise(known, factors(known, side))) is not None
        ]
        other = [side for side in sides if all(side != one for one, _ in drawn)]
        return (other[0], drawn[0][1]) if len(drawn) == len(other) == 1 else None
    if made.name == "addcmul" and len(sides) == 3:
        noise = _noise(known, sides[1:])
        return (sides[0], noise) if noise is not None else None
    if made.name == "lerp" and len(sides) == 3:
        found = [(sides[1 - i], n) for i in (0, 1) if (n := _noise(known, [sides[i], sides[2]])) is not None]
        return found[0] if len(found) == 1 else None
    return None


def factors(known: Paths, key: Key) -> list[Key]:
    op = known.maker(key)
    if op is None or op.name not in MULTIPLICATIONS or len(op.inputs) != 2:
        return []
    return [known.made((op.graph, i)) for i in op.inputs]


def _noise(known: Paths, factors: list[Key]) -> Key | None:
    """The noise among these, where the other one is the entry of a schedule, or is told to the network as well."""
    drawn = [f for f in factors if (op := known.maker(f)) is not None and op.name in DRAWS]
    shares = [f for f in factors if f not in drawn[-1:]]
    if len(factors) != 2 or len(shares) != 1:
        return None
    if len(drawn) == 1 and looked_up(known, shares[0]):
        return drawn[0]
    told = [f for f in factors if readers(known, f) > 1]
    left = [f for f in drawn if f not in told]
    return left[0] if len(told) == len(left) == 1 else None


def looked_up(known: Paths, key: Key) -> bool:
    for _ in range(NEAR):
        op = known.maker(key)
        if op is None or not op.inputs:
            return False
        if op.name in LOOKED_UP and len(op.inputs) > 1:
            return True
        key = known.made((op.graph, op.inputs[0]))
    return False


def readers(known: Paths, key: Key) -> int:
    """How many calls on the way to a loss read a value, in whatever graph."""
    calls = {
        (op.graph, op.index)
        for source, readers in known.used.feeds.items()
        if known.made(source) == key
        for _, op in readers
        if op is not None
    }
    return len(calls)


def name_of(trace: Trace, graph: int, index: int) -> str:
    name = names_of(trace).name(trace.graph(graph), index)
    return f"`{name}`" if name else ""
