"""What happened of late: for explaining, after a crash, who wrote and who freed."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Set
from typing import TYPE_CHECKING, Any, NamedTuple

from gradscope.hooks._segments import Segment

if TYPE_CHECKING:
    from gradscope.hooks._recorder import Recorder


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
    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self.last_error: Any = None  # weak reference to the exception told last
        self.writes: deque[Write] = deque(maxlen=4000)
        self.passes: deque[Pass] = deque(maxlen=400)
        self.recent: deque[Segment] = deque(maxlen=6)

    def remember_error(self, error: BaseException) -> None:
        try:
            self.last_error = weakref.ref(error)
        except TypeError:
            self.last_error = None

    def forget(self) -> None:
        self.writes.clear()
        self.passes.clear()
        self.recent.clear()

    def locate(self, number: int) -> tuple[int, int, int] | None:
        """(segment serial, op index, site) of the call that made the node with this number."""
        for segment in (self.recorder.segment, *reversed(self.recent)):
            index = segment.op_before(number)
            if index >= 0:
                row = segment.ops[index]
                nodes = self.recorder.templates[row.template].nodes
                if nodes and number <= row.first + max(n for _, n, _ in nodes):
                    return segment.serial, index, row.site
        return None

    def writes_since(self, number: int, versions: tuple[int, int] | None) -> list[dict[str, Any]]:
        """In-place writes after the node with this number to what its call read or made,
        newest last; `versions` is (expected, found) from torch's message."""
        place = self.locate(number)
        roots: set[int] = set()
        if place is not None:
            segment = next(s for s in (self.recorder.segment, *self.recent) if s.serial == place[0])
            row = segment.ops[place[1]]
            roots = {segment.roots[v] for v in row.ins + row.outs + row.written}
        found = []
        for at, site, name, written, version in self.writes:
            if at < number or (roots and not written & roots):
                continue
            if versions is not None and version is not None and not versions[0] < version <= versions[1]:
                continue
            found.append({"site": site, "op": name, "version": version})
        return found[-10:]

    def freed_by(self, number: int) -> int | None:
        """The first pass after the node was made that kept nothing."""
        for one in self.passes:
            if one.number > number and not one.retained:
                return one.site
        return None
