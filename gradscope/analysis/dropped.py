"""Gradients that a call cleared before the step that was to use them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gradscope.analysis.loop import timeline
from gradscope.events import Backward, Scaler, Step, Update, ZeroGrad
from gradscope.model import Event, Site
from gradscope.store import Trace

NO_GRADIENT = "No inf checks were recorded"  # torch's own words


@dataclass(frozen=True)
class Missed:
    """Steps of one line that found none of the gradients which one call had dropped."""

    optimizer: int
    clear: Site
    step: Site
    count: int
    of_line: int  # steps of that line, with or without gradients
    of_all: int  # steps of the optimizer whose gradients any call had dropped
    steps: int  # all steps of the optimizer
    parameters: frozenset[int]  # of the optimizer, that missed a gradient at any of them
    first: int  # the stretch of the first of them


def missed(trace: Trace) -> Iterator[Missed]:
    """Where steps missed gradients that a call had dropped after their pass. Not those for which only the
    pass comes too late, or is missing."""
    run = _Run(trace)
    for number, tally in run.tallies.items():
        for (clear, step), count in tally.lost.items():
            if (clear, step) not in run.late:
                yield Missed(
                    number, clear, step, count, tally.at[step], tally.lost.total(), tally.steps,
                    frozenset(tally.parameters), tally.first[clear, step],
                )  # fmt: skip


@dataclass
class _Tally:
    """Steps of one optimizer: all of them, and those whose gradients had been dropped."""

    steps: int = 0
    at: Counter[Site] = field(default_factory=Counter)  # steps by line
    lost: Counter[tuple[Site, Site]] = field(default_factory=Counter)
    first: dict[tuple[Site, Site], int] = field(default_factory=dict)  # the first lost one's stretch
    parameters: set[int] = field(default_factory=set)


class _Place(NamedTuple):
    """A point of the run: a stretch of the timeline, and the op that comes next in it."""

    stretch: int
    position: int


class _Waiting(NamedTuple):
    """A step without gradients after a forward that no pass has gone through yet."""

    place: tuple[Site, Site]
    step: _Place
    parameters: set[int]


class _Run:
    """Follows each gradient from the pass that made it to the call that dropped it and the step
    that then missed it."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.tallies: dict[int, _Tally] = {}
        self.stretches: list[list[Event]] = []
        self.filled: dict[int, int] = {}  # parameter → number of the pass that filled it
        self.passes: list[_Place] = []
        self.served: set[int] = set()  # passes that a step has used
        self.stale: set[int] = set()  # gradients of which a part is new
        self.dropped: dict[int, tuple[ZeroGrad, _Place]] = {}  # parameter → the call, and whence to look
        self.waiting: _Waiting | None = None
        self.late: set[tuple[Site, Site]] = set()  # cleared in time, it is the backward that is missing
        self.unseen: set[int] = (
            set()
        )  # filled while nobody looked, when a `.grad` that is set by hand is not seen
        self.known: dict[Site, tuple[Site, Site]] = {}  # line of a step → where its gradients were last lost
        for repeat, events in timeline(trace):
            self.stretches.append(events)
            for event in events:
                if isinstance(event, ZeroGrad):
                    self._clear(event)
                elif isinstance(event, Backward):
                    self._fill(event)
                elif isinstance(event, Step):
                    self._step(event, repeat)
                elif isinstance(event, Update):
                    self.stale.discard(event.parameter)
                elif isinstance(event, Scaler) and NO_GRADIENT in event.error:
                    self._refused(event, repeat)

    def _refused(self, event: Scaler, repeat: int) -> None:
        """A scaler looks at the gradients before its optimizer steps, and raises where there is none."""
        known = self.trace.optimizers.get(event.optimizer)
        if known is not None:
            self._count(event, {"none": tuple(known.parameters)}, repeat)

    def _place(self, event: Event) -> _Place:
        return _Place(len(self.stretches) - 1, event.position + 1)

    def _made(self, parameter: int, otherwise: _Place) -> _Place:
        made = self.filled.get(parameter)
        return self.passes[made] if made is not None else otherwise

    def _fill(self, event: Backward) -> None:
        wait, self.waiting = self.waiting, None
        if wait is not None and wait.parameters & set(event.filled):
            if not self._forward_between(wait.step, event, wait.parameters):
                self.late.add(wait.place)  # the forward before the step has its pass after it
        self.stale |= set(event.stale)
        if event.graph < 0:
            self.unseen.update(event.filled)
        for parameter in event.filled:
            self.dropped.pop(parameter, None)
            self.filled[parameter] = len(self.passes)
        self.passes.append(self._place(event))

    def _clear(self, event: ZeroGrad) -> None:
        for parameter in {*event.dropped, *self.stale.intersection(event.parameters)}:
            made = self.filled.get(parameter)
            # What another optimizer's step has used was made for that one.
            start = self.passes[made] if made in self.served and made is not None else self._place(event)
            self.dropped[parameter] = (event, start)
        self.stale -= set(event.parameters)
        self.unseen -= set(event.parameters)

    def _step(self, event: Step, repeat: int) -> None:
        states = event.states
        self.served.update(self.filled[p] for p in event.fresh if p in self.filled)
        self._count(event, states, repeat)
        for ids in states.values():
            for parameter in ids:
                self.dropped.pop(parameter, None)
            self.stale -= set(ids)
            self.unseen -= set(ids)

    def _count(self, event: Step | Scaler, states: dict[str, tuple[int, ...]], repeat: int) -> None:
        tally = self.tallies.setdefault(event.optimizer, _Tally())
        tally.steps += repeat
        tally.at[event.site.user] += repeat
        empty = [p for state in ("none", "zero") for p in states.get(state, ())]
        if any(states.get(state) for state in ("fresh", "stale", "used")):
            return
        lost = [p for p in empty if p in self.dropped]
        if not lost:
            self._lost_unseen(event, self.unseen.intersection(empty), repeat)
            return
        clear, start = self.dropped[lost[0]]
        place = clear.site.user, event.site.user
        if self._forward_between(start, event, set(lost)):
            self.late.add(place)
        elif self._forward_between(self._made(lost[0], start), event, set(lost)):
            self.waiting = _Waiting(place, self._place(event), set(lost))
        else:
            tally.lost[place] += repeat
            self.known[place[1]] = place
            tally.first.setdefault(place, len(self.stretches) - 1)
            tally.parameters.update(lost)

    def _lost_unseen(self, event: Step | Scaler, gone: set[int], repeat: int) -> None:
        """The pass had filled them and the step finds nothing, as where somebody looked: it is that line again."""
        place, tally = self.known.get(event.site.user), self.tallies[event.optimizer]
        if place is not None and gone & tally.parameters:
            tally.lost[place] += repeat

    def _forward_between(self, start: _Place, event: Event, ids: set[int]) -> bool:
        """Then the gradients were cleared in time, and it is the backward that comes too late or is
        missing (GS204)."""
        for number, events in enumerate(self.stretches[start.stretch :], start.stretch):
            graph = events[0].graph if events else -1
            if graph >= 0:
                begin = start.position if number == start.stretch else 0
                end = event.position + 1 if events is self.stretches[-1] else None
                ops = [op for op in self.trace.graph(graph).ops[begin:end] if op.nodes]
                ours = self._computed_from(graph, ids) - self._with_own_pass(events, graph) if ops else set()
                if any(not ours.isdisjoint(op.outputs) for op in ops):
                    return True
        return False

    def _computed_from(self, graph: int, ids: set[int]) -> set[int]:
        """Values that were computed from these parameters, or in an earlier stretch."""
        known = self.trace.graph(graph)
        found = {
            v.index
            for v in known.values
            if v.parameter in ids or (v.origin is not None and v.requires_grad and not v.is_leaf)
        }
        for op in known.ops:
            if not found.isdisjoint(op.inputs):
                found.update(op.outputs)
        return found

    def _with_own_pass(self, events: list[Event], graph: int) -> set[int]:
        """Values that a pass for something else went through: an attack's, between backward and step."""
        known = self.trace.graph(graph)
        aside = [e for e in events if isinstance(e, Backward) and not e.filled]
        through = {v for e in aside for root in e.roots for v in known.upstream(root)}
        return through | {v for op in known.ops if not through.isdisjoint(op.outputs) for v in op.outputs}
