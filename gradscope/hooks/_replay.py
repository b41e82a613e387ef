"""Steps that repeat exactly, while sampling sleeps: their events are expected, not worked out.

Working out what a backward pass or a step did to every gradient takes a loop over all
parameters. Where the last steps had the same events, the next few are only checked to
have the same events at the same lines, and gradients are taken to go on as they did.
What comes unexpected ends that at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gradscope.hooks._ledger import LeafRecord
    from gradscope.hooks._recorder import Recorder

Frozen = tuple[str, int, int, Any]
KINDS = frozenset({"backward", "step", "zero_grad", "clip", "schedule", "mode"})


class Cycle(NamedTuple):
    """What repeats: for each segment its events, and whether a step closed it."""

    segments: tuple[tuple[tuple[Frozen, ...], bool], ...]

    @property
    def plain(self) -> bool:
        """Whether nothing in it has to be worked out anew each time."""
        events = [event for events, _ in self.segments for event in events]
        return all(kind in KINDS and not dict(data[1]).get("closure") for kind, _, _, data in events)


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
        self.segment = self.event = 0  # the place within the cycle
        records = {record.id: record for record in self.recorder.ledger.all}
        self.filled = {
            (s, e): [records[id] for id in dict(data[1])["accumulated"][1] if id in records]
            for s, (events, _) in enumerate(cycle.segments)
            for e, (kind, _, _, data) in enumerate(events)
            if kind == "backward"
        }
        self.optimizers = {
            (s, e): dict(data[1]).get("optimizer")
            for s, (events, _) in enumerate(cycle.segments)
            for e, (_, _, _, data) in enumerate(events)
        }
        self.active = True

    def expects(self, kind: str, site: int, optimizer: int | None = None) -> bool:
        """Whether this event comes in its turn. What comes out of turn ends the replay."""
        if not self.active:
            return False
        event = self._next()
        known = event is not None and event[0] == kind and event[1] == site
        if known and (optimizer is None or self.optimizers[self.segment, self.event] == optimizer):
            return True
        self.leave()
        return False

    def take(self) -> None:
        """Notes the expected event, as it was the last time."""
        event = self._next()
        assert event is not None, "`expects` has said so"
        if event[0] == "backward":
            self.recorder.ledger.filled = self.filled[self.segment, self.event]
        self.event += 1
        self.recorder.segment.events.append(event)
        self.recorder.segment.volatile.append({})

    def met(self, event: Frozen) -> None:
        """An event that was worked out: it should be the next one."""
        if event == self._next():
            self.event += 1
        else:
            self.leave()

    def end_segment(self, is_step: bool) -> None:
        """A segment ends: here too, or the program has changed."""
        events, closed = self.cycle.segments[self.segment]
        if self.event != len(events) or closed != is_step:
            self.leave()
            return
        self.event = 0
        self.segment += 1
        if self.segment == len(self.cycle.segments):
            self.segment = 0
            self.done += 1
            if self.done == self.times:
                self.leave()

    def leave(self) -> None:
        """Goes back to working everything out."""
        if not self.active:
            return
        self.active = False
        ledger = self.recorder.ledger
        self._count({record.id: record for record in ledger.all})
        ledger.resume(known=not self.segment and not self.event)

    def _next(self) -> Frozen | None:
        events, _ = self.cycle.segments[self.segment]
        return events[self.event] if self.event < len(events) else None

    def _count(self, records: dict[int, LeafRecord]) -> None:
        """The passes and steps that each parameter had meanwhile."""
        for s, (events, _) in enumerate(self.cycle.segments):
            for e, (kind, _, _, frozen) in enumerate(events):
                times = self.done + ((s, e) < (self.segment, self.event))
                data = dict(frozen[1])
                if kind == "backward":
                    for record in self.filled[s, e]:
                        record.passes += times
                elif kind == "step":
                    for state, ids in data["states"][1]:
                        for id in ids[1] if state != "none" else ():
                            if id in records:
                                records[id].steps += times


def repeating(seen: list[tuple[tuple[Frozen, ...], bool]]) -> Cycle | None:
    """The shortest cycle that the last of these segments went through twice, ending with a step."""
    for length in range(1, len(seen) // 2 + 1):
        last, before = seen[-length:], seen[-2 * length : -length]
        if last == before:
            cycle = Cycle(tuple(last))
            return cycle if cycle.plain else None
    return None
