"""The life of every gradient: what filled it, what used it, what cleared it, what was left.

A gradient that several passes filled belongs to all of them until a step or an update by hand uses it, or a call
clears it. So accumulation, GANs and closures need no rule of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gradscope.analysis.loop import timeline
from gradscope.analysis.memo import once
from gradscope.events import Backward, RequiresGrad, Step, Update, ZeroGrad
from gradscope.model import Parameter
from gradscope.store import Trace
from gradscope.store.pages import Pages

Use = Step | Update
End = Step | Update | ZeroGrad
Line = tuple[str, int]


@dataclass(eq=False)
class Fill:
    """What one backward pass put into gradients, and what became of it.

    `times` is how often the pass came in a row before anything else could use what it filled. A parameter is
    in `waiting` until its gradient is used or cleared; what is in it at the end was left.
    """

    number: int  # in program order
    stretch: int  # of the timeline
    event: Backward
    times: int
    waiting: set[int]
    uses: list[tuple[Use, frozenset[int]]] = field(default_factory=list)
    clears: list[tuple[ZeroGrad, frozenset[int]]] = field(default_factory=list)

    @property
    def line(self) -> Line:
        """The user's line of the pass."""
        return self.event.site.user.location()

    @property
    def parameters(self) -> frozenset[int]:
        return frozenset(self.event.filled)

    @property
    def used(self) -> frozenset[int]:
        """Parameters whose gradient a step or an update by hand used."""
        return frozenset(id for _, ids in self.uses for id in ids)

    @property
    def cleared(self) -> frozenset[int]:
        """Parameters whose gradient was cleared before anything used it."""
        return frozenset(id for _, ids in self.clears for id in ids)


@dataclass(eq=False)
class Turn:
    """A step with the passes whose gradients it used, each with the parameters in which it did, and how often
    it came like this in a row. `stretch` is that of the timeline."""

    step: Step
    stretch: int
    times: int
    fills: dict[Fill, frozenset[int]]


class Gradients:
    """All fills and turns of a run, in program order.

    `ended` has of each parameter what ended its gradients, one after the other, with the passes that each had
    come from; `waiting` the passes that its last one came from, where nothing ended it.
    """

    def __init__(self, trace: Trace):
        self.fills: list[Fill] = []
        self.turns: list[Turn] = []
        self.ended: dict[int, list[tuple[End, list[Fill]]]] = {}
        self.waiting: dict[int, list[Fill]] = {}
        for stretch, (repeat, events) in enumerate(timeline(trace)):
            passes = 1 if any(isinstance(event, Step) for event in events) else repeat
            for event in events:
                if isinstance(event, Backward) and event.filled:
                    self._fill(event, stretch, passes)
                elif isinstance(event, Step):
                    self.turns.append(Turn(event, stretch, repeat, self._use(event, event.fresh)))
                elif isinstance(event, Update) and _uses(event):
                    self._use(event, {event.parameter})
                elif isinstance(event, ZeroGrad):
                    for fill, ids in self._end(event, event.parameters):
                        fill.clears.append((event, ids))

    def _fill(self, event: Backward, stretch: int, times: int) -> None:
        fill = Fill(len(self.fills), stretch, event, times, set(event.filled))
        self.fills.append(fill)
        for parameter in event.filled:
            self.waiting.setdefault(parameter, []).append(fill)

    def _use(self, event: Use, ids: Iterable[int]) -> dict[Fill, frozenset[int]]:
        found = dict(self._end(event, ids))
        for fill, mine in found.items():
            fill.uses.append((event, mine))
        return found

    def _end(self, event: End, ids: Iterable[int]) -> Iterator[tuple[Fill, frozenset[int]]]:
        """The fills that waited in these parameters, in program order, with those of each."""
        found: dict[int, set[int]] = {}
        for parameter in ids:
            fills = self.waiting.pop(parameter, None)
            if fills is None:
                continue
            self.ended.setdefault(parameter, []).append((event, fills))
            for fill in fills:
                found.setdefault(fill.number, set()).add(parameter)
        for number, mine in sorted(found.items()):
            self.fills[number].waiting -= mine
            yield self.fills[number], frozenset(mine)


def _uses(event: Update) -> bool:
    """Whether an update may have used the gradient: a weight that is clamped keeps it for its step. What is
    read while nothing is looked at is not known."""
    return event.used or event.graph < 0


@once
def gradients(trace: Trace) -> Gradients:
    """What became of each gradient of the run."""
    return Gradients(trace)


class Trained(NamedTuple):
    """What one line's passes train alone: the steps that used the gradients of no other line."""

    line: Line
    turns: list[Turn]
    event: Backward | None  # the first of its passes that was looked at

    @property
    def steps(self) -> int:
        return sum(turn.times for turn in self.turns)

    @property
    def used(self) -> set[int]:
        """Parameters whose gradients its steps used."""
        return {id for turn in self.turns for ids in turn.fills.values() for id in ids}


def trained_alone(trace: Trace) -> list[Trained]:
    """The lines whose passes are all that some steps used, each with these steps."""
    found: dict[Line, list[Turn]] = {}
    for turn in gradients(trace).turns:
        if len({fill.line for fill in turn.fills}) == 1:
            found.setdefault(next(iter(turn.fills)).line, []).append(turn)
    return [Trained(line, turns, _looked_at(turns)) for line, turns in found.items()]


def _looked_at(turns: list[Turn]) -> Backward | None:
    return next((fill.event for turn in turns for fill in turn.fills if fill.event.graph >= 0), None)


@once
def thrown_away(trace: Trace) -> dict[Line, set[int]]:
    """Line of a pass → parameters whose gradients from there were cleared, and never used."""
    cleared: dict[Line, set[int]] = {}
    used: dict[Line, set[int]] = {}
    for fill in gradients(trace).fills:
        cleared.setdefault(fill.line, set()).update(fill.cleared)
        used.setdefault(fill.line, set()).update(fill.used)
    return {line: ids - used[line] for line, ids in cleared.items()}


def how_received(trace: Trace, p: Parameter) -> str:
    """How a leaf got gradients: "passes" filled its `.grad`, they were "asked for", and a pass gave them back, or the
    program put them there "by hand". "" where it got none."""
    if p.passes:
        return "passes"
    if p.id in asked(trace):
        return "asked for"
    return "by hand" if p.steps or p.grad != "none" else ""


@once
def asked(trace: Trace) -> frozenset[int]:
    """Leaves whose gradient a pass was asked for (`autograd.grad`), without loading the graphs."""
    pages, later = Pages(trace), asked_later(trace)
    keys = {(e.graph, value) for e in trace.of(Backward) if e.graph >= 0 for value in e.inputs}
    return frozenset(leaf for key in keys if (leaf := _leaf(pages, later, key)) is not None)


def asked_later(trace: Trace) -> dict[tuple[int, int], int]:
    """Value → what an optimizer trains and was computed first, then made a leaf by `requires_grad_()`."""
    held = {p.id for p in trace.parameters if p.optimizers}
    events = (e for e in trace.of(RequiresGrad) if e.graph >= 0 and e.to and e.leaf in held)
    return {(e.graph, e.value): e.leaf for e in events if e.leaf is not None}


def _leaf(pages: Pages, later: dict[tuple[int, int], int], key: tuple[int, int]) -> int | None:
    """The leaf that a value is, followed back through in-place writes."""
    seen: set[tuple[int, int]] = set()
    while key not in seen and (values := pages.values(key[0], [key[1]])):
        seen.add(key)
        (value,) = values
        if value.parameter is not None or key in later:
            return value.parameter if value.parameter is not None else later[key]
        op = pages.op(key[0], value.op) if value.op is not None else None
        if op is None or not value.is_leaf or value.index not in op.written:
            return None
        key = key[0], op.writes[op.written.index(value.index)]
    return None
