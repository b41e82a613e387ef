"""What becomes of the axes of one value: each followed by its place, through the calls after it.

`axes` tells axes by where they came from. Of scores of places by the same places both are the same axis there, and
which of them a product sums over can only be told by following the two apart.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

from gradscope import equations
from gradscope.analysis.axes import Axes, Axis, axes
from gradscope.analysis.ops import ADDITIONS, LAYERS, PRODUCTS_OF_MATRICES, SCALES, SUBTRACTIONS
from gradscope.analysis.reach import Key
from gradscope.model import Op
from gradscope.store import Trace

MOST = 400  # calls that are followed behind one value


class Sum(NamedTuple):
    """A call that sums a value, or its product with another one, over some of its axes."""

    op: Op
    over: frozenset[int]  # which axes of the value
    left: frozenset[int]
    other: Key | None  # what it is multiplied by before
    shared: tuple[Axis, ...]  # the axes of that one that are summed over with it


class Trail(Axes):
    """The axes of weights, or of their `logarithms`, followed. `sums` are the calls that sum over some of them;
    `balanced` says whether the value is divided by, or subtracted from, something that was computed from it, or goes
    through another softmax: it is normalised once more."""

    def __init__(self, known: Axes, key: Key, logarithms: bool):
        self.scaling = ADDITIONS if logarithms else SCALES
        self.adding = {"logsumexp"} if logarithms else {"sum", "mean"}
        self.sources, self.samples, self.batches = known.sources, known.samples, dict(known.batches)
        self.known, self.around = known.known, known
        self.straddles, self.merged, self.handed, self.runs, self.ops = {}, {}, {}, [], []
        value = self.known.value(key)
        own = self._fresh(value)
        self._of = {key: own}
        self.numbers = {axis[0].source: place for place, axis in enumerate(own) if axis}
        self.sums: list[Sum] = []
        self.balanced = False
        self.on: set[Key] = {key}  # values that hold some of the axes
        self.behind: set[Key] = {key}  # values that were computed from it, whatever is left of the axes
        self.factors: dict[Key, Key] = {}
        self._walk(key)

    def of(self, key: Key) -> tuple[Axis, ...]:
        """The axes of a value: those that are followed, else those of the run."""
        return self._of[key] if key in self._of else self.around.of(key)

    def places(self, key: Key) -> frozenset[int]:
        """Which axes of the followed value are left in this one."""
        sources = {source for axis in self.of(key) for source in self.sources_of(axis)}
        return frozenset(self.numbers[source] for source in sources if source in self.numbers)

    def rank(self, axis: Axis) -> int:
        """Those that are followed before all others."""
        ours = any(piece.source in self.numbers for piece in axis)
        return -1 if ours else super().rank(axis)

    def _walk(self, key: Key) -> None:
        graph = self.known.graph(key[0])
        todo: list[int] = []
        seen: set[int] = set()

        def further(value: int) -> None:
            for op in graph.consumers.get(value, ()):
                if op.index not in seen:
                    seen.add(op.index)
                    heappush(todo, op.index)

        further(key[1])
        for _ in range(MOST):
            if not todo:
                break
            op = graph.ops[heappop(todo)]
            made = list(dict.fromkeys((*op.outputs, *op.written)))
            made = [index for index in made if (graph.id, index) in self.known.used.order]
            given = [(graph.id, index) for index in op.inputs]
            if not made:
                continue
            self._note(op, given)
            if self.on.isdisjoint(
                given
            ):  # nothing of the axes is left; what it is used for later may still tell
                self.behind.update((graph.id, index) for index in made)
                continue
            self._follow(graph, op, made)
            result = (graph.id, made[0])
            self._sum(op, given, result)
            for index in made:
                self.behind.add((graph.id, index))
                if self.places((graph.id, index)):
                    self.on.add((graph.id, index))
                if op.name not in LAYERS:  # what it makes is of its own scale
                    further(index)
        self.balanced = self.balanced or bool(todo)

    def _note(self, op: Op, given: list[Key]) -> None:
        again = op.name in ("softmax", "log_softmax", "normalize", "logsoftmax")
        both = len(given) > 1 and given[0] in self.behind and given[1] in self.behind
        if again or (both and op.name in SCALES | SUBTRACTIONS):
            self.balanced = True

    def _sum(self, op: Op, given: list[Key], result: Key) -> None:
        ours = [key for key in given if key in self.on]
        before = frozenset(place for key in ours for place in self.places(key))
        others = [key for key in given if key not in self.on]
        if op.name in self.scaling and len(ours) == len(others) == 1:
            self.factors[result] = others[0]
        elif len(ours) == 1 and not others and ours[0] in self.factors:
            self.factors[result] = self.factors[ours[0]]
        left = self.places(result)
        summed = op.name in self.adding and bool(op.extra.get("dims"))
        summed = summed or (op.name in PRODUCTS_OF_MATRICES and self.scaling is SCALES)
        if not summed or before == left:
            return
        other = others[0] if others else self.factors.get(ours[0])
        shared = self._shared(op, ours[0], other) if other is not None else ()
        self.sums.append(Sum(op, before - left, left, other, shared))

    def _shared(self, op: Op, ours: Key, other: Key) -> tuple[Axis, ...]:
        """The axes of the other factor that a sum goes over."""
        theirs = self.of(other)
        if op.name in PRODUCTS_OF_MATRICES:
            first = op.inputs[0] == ours[1]
            if op.name == "einsum":
                return self._lettered(op, first, theirs)
            if len(theirs) < 2:
                return theirs
            return (theirs[-2],) if first else (theirs[-1],)
        rank = len(self.of((op.graph, op.inputs[0])))
        places = [d % rank - rank for d in op.extra["dims"] if -rank <= d < rank]
        return tuple(theirs[d] for d in places if -d <= len(theirs))

    def _lettered(self, op: Op, first: bool, theirs: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """The other operand's axes whose letter both have and the result has not."""
        equation = equations.of(op)
        if equation is None or len(equation.operands) != 2:
            return ()
        places = equation.axes(int(first), len(theirs))
        return tuple(theirs[axis] for letter, axis in places.items() if letter in equation.contracted)


def trail(trace: Trace, key: Key, *, logarithms: bool = False) -> Trail:
    """The axes of this value, followed through the calls after it."""
    return Trail(axes(trace), key, logarithms)
