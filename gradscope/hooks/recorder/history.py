"""What happened of late: for explaining, after a crash, who wrote and who freed."""

from __future__ import annotations

from collections import deque
from collections.abc import Set
from typing import TYPE_CHECKING, NamedTuple

from gradscope.hooks.recorder.segments import Row, Segment
from gradscope.tracebacks import text_of, traceback_of

if TYPE_CHECKING:
    from gradscope.hooks.recorder.state import State


class Write(NamedTuple):
    """An in-place write: when (by node number), where, by what, to which memory, the version after."""

    number: int
    site: int
    name: str
    roots: Set[int]
    version: int | None


class Pass(NamedTuple):
    """A backward pass: when (by node number), where, and whether it kept the graph."""

    number: int
    site: int
    retained: bool


class History:
    def __init__(self, state: State):
        self.state = state
        self._last_error: tuple[int, str, int] | None = None  # id, text and frames of the one told last
        self.writes: deque[Write] = deque(maxlen=4000)
        self.passes: deque[Pass] = deque(maxlen=400)
        self.recent: deque[Segment] = deque(maxlen=6)
        self.anomaly = ""  # what torch has last warned of where anomaly mode stops a pass

    def told(self, error: BaseException) -> bool:
        """Whether this exception was noted already, further in: it has come through more frames
        since, so it is not another one that got the place of the first in memory."""
        return self.is_last(error) and self._last_error is not None and _frames(error) > self._last_error[2]

    def is_last(self, error: BaseException) -> bool:
        """Whether this is the exception noted last. It is known by id and text: exceptions take no
        weak reference, and holding one would keep its frames alive."""
        return self._last_error is not None and self._last_error[:2] == (id(error), text_of(error))

    def remember_error(self, error: BaseException) -> None:
        self._last_error = (id(error), text_of(error), _frames(error))

    def forget(self) -> None:
        self.writes.clear()
        self.passes.clear()
        self.recent.clear()

    def locate(self, number: int) -> tuple[int, int, int] | None:
        """(segment serial, op index, site) of the call that made the node with this number."""
        for segment in (self.state.segment, *reversed(self.recent)):
            index = segment.op_before(number)
            if index >= 0:
                row = segment.ops[index]
                nodes = self.state.templates[row.template].nodes
                if nodes and number <= row.first + max(n for _, n, _ in nodes):
                    return segment.serial, index, row.site
        return None

    def call_at(self, place: tuple[int, int, int]) -> tuple[Segment, Row]:
        """The call at a place (see `locate`), with the segment that it stands in."""
        segment = next(s for s in (self.state.segment, *self.recent) if s.serial == place[0])
        return segment, segment.ops[place[1]]

    def memory_of(self, place: tuple[int, int, int] | None) -> set[int]:
        """The memory that the call at a place (see `locate`) read, made or wrote to."""
        if place is None:
            return set()
        segment, row = self.call_at(place)
        return {segment.roots[v] for v in row.ins + row.outs + row.written}

    def version_before(self, number: int, root: int) -> int:
        """At which version this memory was when the next node to be made had this number."""
        found = (w.version or 0 for w in self.writes if root in w.roots and w.number <= number)
        return max(found, default=0)

    def writes_since(self, number: int, roots: Set[int], versions: tuple[int, int] | None) -> list[Write]:
        """In-place writes after the node with this number to this memory (any, where that is not known),
        newest last; `versions` is (expected, found) from torch's message."""
        found = []
        for write in self.writes:
            if write.number <= number or (roots and not write.roots & roots):
                continue
            version = write.version
            if versions is not None and version is not None and not versions[0] < version <= versions[1]:
                continue
            found.append(write)
        return found[-10:]

    def freed_by(self, number: int) -> int | None:
        """The first pass after the node was made that kept nothing."""
        for one in self.passes:
            if one.number > number and not one.retained:
                return one.site
        return None

    def last_pass(self) -> int | None:
        """When the last pass that kept nothing began, by node number."""
        return next((one.number for one in reversed(self.passes) if not one.retained), None)


def _frames(error: BaseException) -> int:
    count, entry = 0, traceback_of(error)
    while entry is not None:
        count, entry = count + 1, entry.tb_next
    return count
