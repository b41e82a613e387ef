"""Steps that repeat exactly, while sampling sleeps: their events are expected, not worked out.

Working out what a backward pass or a step did to every gradient takes a loop over all
parameters, and a row of the trace. Where the last steps had the same events, the next few
are only checked to have the same events at the same lines: gradients are taken to go on as
they did, and the rows are written together. What comes unexpected ends that at once.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gradscope.hooks._ledger import LeafRecord
    from gradscope.hooks._recorder import Recorder

Frozen = tuple[str, int, int, Any]
# What repeats: the events of each segment. A step closes every one of them.
Cycle = tuple[tuple[Frozen, ...], ...]
KINDS = frozenset({"backward", "step", "zero_grad", "clip", "schedule"})


class Expected(NamedTuple):
    """One event of the cycle."""

    kind: str
    site: int
    optimizer: int | None
    event: Frozen
    filled: list[LeafRecord]  # the gradients that this pass fills
    closes: bool  # it is the last of its segment


class Replay:
    """Expects the events of a cycle, over and over; see `begin`."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self.active = False

    def begin(self, cycle: Cycle, times: int) -> None:
        """From the start of a segment on, the cycle is expected this many times."""
        self.cycle = cycle
        self.times = times
        self.done = 0
        self.at = 0  # the place within the cycle
        self.since = perf_counter()
        records = {record.id: record for record in self.recorder.ledger.all}
        self.expected: list[Expected] = []
        for events in cycle:
            for event in events:
                kind, site, _, frozen = event
                data = dict(frozen[1])
                ids = data["accumulated"][1] if kind == "backward" else ()
                filled = [records[id] for id in ids if id in records]
                closes = event is events[-1]
                self.expected.append(Expected(kind, site, data.get("optimizer"), event, filled, closes))
        self.next = self.expected[0]
        self.active = True

    def expects(self, kind: str, site: int, optimizer: int | None = None) -> bool:
        """Whether this event comes in its turn. What comes out of turn ends the replay."""
        if not self.active:
            return False
        expected = self.next
        if expected.site == site and expected.kind == kind and expected.optimizer == optimizer:
            return True
        self.leave()
        return False

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
        recorder = self.recorder
        events = [expected.event for expected in self.expected[: self.at]]
        closed = [i for i, expected in enumerate(self.expected) if expected.closes]
        segments = self.done * len(closed) + sum(i < self.at for i in closed)
        begun = max((i + 1 for i in closed if i < self.at), default=0)
        self._count({record.id: record for record in recorder.ledger.all})
        recorder.ledger.resume(known=not self.at)
        for event in events[begun:]:
            recorder.segment.events.append(event)
            recorder.segment.volatile.append({})
        recorder.skipped(self.cycle, segments, perf_counter() - self.since)

    def _count(self, records: dict[int, LeafRecord]) -> None:
        """The passes and steps that each parameter and optimizer had meanwhile."""
        for place, (kind, _, optimizer, (_, _, _, frozen), filled, _) in enumerate(self.expected):
            times = self.done + (place < self.at)
            if kind == "backward":
                for record in filled:
                    record.passes += times
            elif kind == "step" and optimizer is not None:
                self.recorder.optimizers[optimizer]["steps"] += times
                for state, ids in dict(frozen[1])["states"][1]:
                    for id in ids[1] if state != "none" else ():
                        if id in records:
                            records[id].steps += times


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
