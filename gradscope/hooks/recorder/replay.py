"""Steps that repeat exactly, while sampling sleeps: their events are expected, not worked out.

Working out what a backward pass or a step did to every gradient takes a loop over all
parameters, and a row of the trace. Where the last steps had the same events, the next few
are only checked to have the same events at the same lines: gradients are taken to go on as
they did, and the rows are written together. What comes unexpected ends that at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from gradscope.hooks._torch import DisableTorchFunction, aside, version_of
from gradscope.hooks.recorder.state import Expecting

if TYPE_CHECKING:
    from gradscope.hooks.recorder.leaf import LeafRecord
    from gradscope.hooks.recorder.ledger import Ledger
    from gradscope.hooks.recorder.state import State

Frozen = tuple[str, int, int, Any]
# What repeats: the events of each segment. A step closes every one of them.
Cycle = tuple[tuple[Frozen, ...], ...]
UNEVEN = (
    3  # differences after which a gradient's writes tell nothing: it is summed as often as the graph has it
)
FEW_HELD = 32  # gradients asked for in a step, on average
KINDS = frozenset({"backward", "step", "zero_grad", "clip", "schedule"})


class Place(NamedTuple):
    """Where an event came from: a line of the user's, and the line that called its function."""

    outward: int  # frames of torch's between the call that is watched and the user's
    code: CodeType
    last: int  # instruction
    caller: CodeType | None
    caller_last: int


class Held:
    """The gradients that a step of the cycle finds: those that its last one found, and written to since as
    often as between the last two."""

    __slots__ = ("between", "empty", "every", "filled", "uneven", "versions")

    def __init__(self, states: dict[str, list[int]], records: dict[int, LeafRecord], uneven: Counter[int]):
        self.uneven = uneven
        self.empty = [records[id] for id in states.get("none", ()) if id in records]
        self.filled = [
            records[id] for state, ids in states.items() if state != "none" for id in ids if id in records
        ]
        self.every = 1 + (len(self.empty) + len(self.filled)) // FEW_HELD  # step in which they are asked for
        self.versions: list[int] = []
        self.between: list[int] = []

    def as_before(self) -> bool:
        """Whether they are there again: a parameter may have lost its gradient, or have got one."""
        for record in self.empty:
            t = record.ref()
            if t is None or not t.is_leaf or t.grad is not None:
                return False
        now: list[int] = []
        for record in self.filled:
            t = record.ref()
            if t is None or not t.is_leaf or (grad := t.grad) is None:
                return False
            now.append(version_of(grad))
        between = [new - old for new, old in zip(now, self.versions, strict=False)]
        alike = not self.between or between == self.between or not self._differ(between)
        self.versions, self.between = now, between
        return alike

    def _differ(self, between: list[int]) -> bool:
        """Whether one is written to more or less often that was written to evenly so far."""
        different = [
            record.id
            for record, new, old in zip(self.filled, between, self.between, strict=True)
            if new != old and self.uneven[record.id] < UNEVEN
        ]
        self.uneven.update(different)
        return bool(different)


@dataclass(slots=True)
class Expected:
    """One event of the cycle."""

    kind: str
    site: int
    optimizer: int | None
    event: Frozen
    filled: list[LeafRecord]  # the gradients that this pass fills
    closes: bool  # it is the last of its segment
    held: Held | None  # of a step
    place: Place | None = None  # known once it was met here


class Replay(Expecting):
    """Expects the events of a cycle, over and over; see `begin`."""

    def __init__(self, state: State, ledger: Ledger, skipped: Callable[..., None]):
        self.state = state
        self.ledger = ledger
        self.skipped = skipped  # the recorder's: tells the trace of steps that were only counted
        self.active = False
        self.leaving = False  # what has ended it is not noted yet: nothing can be expected from here on
        self.uneven: Counter[int] = Counter()  # how often the writes to its gradient differed

    def begin(self, cycle: Cycle, times: int) -> None:
        """From the start of a segment on, the cycle is expected this many times."""
        self.cycle = cycle
        self.times = times
        self.done = 0
        self.at = 0  # the place within the cycle
        self.since = perf_counter()
        records = {record.id: record for record in self.ledger.all}
        strangers = self._unfilled(cycle)
        self.expected: list[Expected] = []
        for events in cycle:
            for event in events:
                kind, site, _, frozen = event
                data = dict(frozen[1])
                ids = data["accumulated"][1] if kind == "backward" else ()
                filled = [records[id] for id in ids if id in records]
                others = self.ledger.others.get(site, ()) if kind == "backward" else ()
                filled += [record for record in others if record.passes > 1]  # the others live for one pass
                closes = event is events[-1]
                held = None
                if kind == "step":
                    states = {state: list(some[1]) for state, some in dict(data["states"][1]).items()}
                    states.setdefault("none", []).extend(strangers)
                    held = Held(states, records, self.uneven)
                self.expected.append(Expected(kind, site, data.get("optimizer"), event, filled, closes, held))
        self.next = self.expected[0]
        self.active = True

    def _unfilled(self, cycle: Cycle) -> list[int]:
        """Parameters without a gradient that the cycle has nothing to do with: one that is thawed gets a
        gradient, though no optimizer asks for it."""
        known = {id for events in cycle for event in events for id in _concerned(event)}
        with DisableTorchFunction():
            return [
                record.id
                for record in self.ledger.all
                if record.registered and record.id not in known
                if (t := record.ref()) is not None and t.is_leaf and t.grad is None
            ]

    def expects(self, kind: str, site: int, optimizer: int | None = None) -> bool:
        """Whether this event comes in its turn. What comes out of turn ends the replay."""
        if not self.active:
            return False
        expected = self.next
        if expected.site == site and expected.kind == kind and expected.optimizer == optimizer:
            return True
        self.leave()
        return False

    def comes(self, kind: str, frame: FrameType, optimizer: int | None = None) -> int:
        """The site of an event that is asked for from `frame`, if it comes in its turn, otherwise 0.
        Lines further out than that which called the user's function are compared once a replay."""
        if not self.active:
            return 0
        expected = self.next
        if expected.kind == kind and expected.optimizer == optimizer and _is_from(frame, expected.place):
            return expected.site
        site = self.state.sites.current(frame)
        if not self.expects(kind, site, optimizer):
            return 0
        expected.place = self._place(frame)
        return site

    def holds(self) -> bool:
        """Whether the step that comes next finds the gradients that it found in its last turn."""
        held = self.next.held
        if held is None or self.done % held.every:
            return True
        with DisableTorchFunction():
            return held.as_before()

    def _place(self, frame: FrameType) -> Place | None:
        user: FrameType | None = frame
        outward = 0
        while user is not None and self.state.sites.kind(user.f_code) != "user":
            user = user.f_back
            outward += 1
        if user is None:
            return None
        caller = user.f_back
        outer = (caller.f_code, caller.f_lasti) if caller is not None else (None, 0)
        return Place(outward, user.f_code, user.f_lasti, *outer)

    def take(self) -> Expected:
        """Notes the expected event, as it was the last time."""
        taken = self.next
        self.at += 1
        if self.at == len(self.expected):
            self.at = 0
            self.done += 1
            if self.done == self.times:
                self.leave()
                return taken
        self.next = self.expected[self.at]
        return taken

    def met(self, event: Frozen) -> bool:
        """Whether an event that was worked out is the next one. Then it is taken."""
        if event == self.next.event and not self.next.closes:
            self.take()
            return True
        self.leave()
        return False

    def leave(self) -> None:
        """Goes back to working everything out."""
        if not self.active:
            return
        self.active = False
        state = self.state
        events = [expected.event for expected in self.expected[: self.at]]
        closed = [i for i, expected in enumerate(self.expected) if expected.closes]
        segments = self.done * len(closed) + sum(i < self.at for i in closed)
        begun = max((i + 1 for i in closed if i < self.at), default=0)
        self._count({record.id: record for record in self.ledger.all})
        with aside():
            self.ledger.resume(not self.at, self._filled_since_cleared())
        for event in events[begun:]:
            state.segment.events.append(event)
            state.segment.volatile.append({})
        self.leaving = True
        try:
            self.skipped(self.cycle, segments, perf_counter() - self.since)
        finally:
            self.leaving = False

    def _filled_since_cleared(self) -> set[int]:
        """Parameters whose gradients the events of this turn, as far as it went, have cleared and then filled, and
        that no step of it has used since: theirs are known."""
        cleared: set[int] = set()
        filled: set[int] = set()
        for expected in self.expected[: self.at]:
            data = dict(expected.event[3][1])
            if expected.kind == "zero_grad":
                cleared.update(data["parameters"][1])
                filled.difference_update(data["parameters"][1])
            elif expected.kind == "backward":
                filled.update(cleared.intersection(data["accumulated"][1]))
            elif expected.kind == "step":
                used = set(_concerned(expected.event))
                cleared -= used
                filled -= used
        return filled

    def _count(self, records: dict[int, LeafRecord]) -> None:
        """The passes and steps that each parameter and optimizer had meanwhile."""
        for number, expected in enumerate(self.expected):
            times = self.done + (number < self.at)
            if expected.kind == "backward":
                for record in expected.filled:
                    record.passes += times
            elif expected.kind == "step" and expected.optimizer is not None:
                self.state.optimizers[expected.optimizer]["steps"] += times
                for state, ids in dict(expected.event[3][1])["states"][1]:
                    for id in ids[1] if state != "none" else ():
                        if id in records:
                            records[id].steps += times


def _concerned(event: Frozen) -> list[int]:
    """The parameters that a pass fills, or a step finds."""
    data = dict(event[3][1])
    if event[0] == "backward":
        return list(data["accumulated"][1])
    return [id for _, ids in data["states"][1] for id in ids[1]] if event[0] == "step" else []


def _is_from(frame: FrameType, place: Place | None) -> bool:
    if place is None:
        return False
    user: FrameType | None = frame
    for _ in range(place.outward):
        user = user.f_back if user is not None else None
    if user is None or user.f_code is not place.code or user.f_lasti != place.last:
        return False
    caller = user.f_back
    if caller is None:
        return place.caller is None
    return caller.f_code is place.caller and caller.f_lasti == place.caller_last


def repeating(seen: list[tuple[Frozen, ...]]) -> Cycle | None:
    """The shortest cycle that the last of these segments went through twice, where nothing in
    it has to be worked out anew each time. All of them were closed by a step."""
    for length in range(1, len(seen) // 2 + 1):
        last, before = seen[-length:], seen[-2 * length : -length]
        if last == before:
            return tuple(last) if all(map(_plain, last)) else None
    return None


def _plain(events: tuple[Frozen, ...]) -> bool:
    if not all(kind in KINDS and not dict(data[1]).get("closure") for kind, _, _, data in events):
        return False
    steps = [kind == "step" for kind, _, _, _ in events]
    return steps[-1:] == [True] and sum(steps) == 1
