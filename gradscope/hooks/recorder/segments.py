"""The segment being recorded, and how a finished one is stored: each distinct graph
and each distinct list of events once, then a small row per segment."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class External:
    """A value that came into the segment from outside."""

    kind: str
    parameter: int | None
    module: int | None
    origin: tuple[int, int] | None  # (segment serial, value index)
    site: int
    outside: int | None  # its node's place in Segment.outside, where it carries a graph


@dataclass(slots=True)
class Row:
    """One op as noted when it ran."""

    template: int
    site: int
    module: int
    region: int
    ins: tuple[int, ...]
    outs: tuple[int, ...]
    written: tuple[int, ...]
    first: int  # sequence number before the call


@dataclass(slots=True)
class Segment:
    serial: int
    started: float
    ops: list[Row] = field(default_factory=list)
    metas: list[int] = field(default_factory=list)  # per value
    makers: list[int] = field(default_factory=list)  # per value: op index or -1
    roots: list[int] = field(default_factory=list)  # per value: names its memory
    externals: dict[int, External] = field(default_factory=dict)
    carried: dict[int, tuple[int, ...]] = field(default_factory=dict)
    # values that bring a graph along from before, or were computed from such → where those were made
    outside: list[tuple[str, int]] = field(default_factory=list)  # (name, site) of nodes from before
    outside_of: dict[int, int] = field(default_factory=dict)  # number of such a node → its place there
    events: list[tuple[Any, ...]] = field(default_factory=list)
    volatile: list[dict[str, Any]] = field(default_factory=list)
    hash: int = 0
    passes: int = 0
    freed_at: int = 0  # ops before this index: their graph was freed by a backward
    nodes: bool = False  # a node was built
    calls: dict[int, Counter[int]] = field(default_factory=dict)  # site → outermost calls of each module
    rebased: dict[int, int] = field(default_factory=dict)  # memory with views → op that wrote to it last
    looked: bool = True
    continued: bool = False  # the one before was full: the same graph goes on

    def new_value(self, meta: int, maker: int, root: int) -> int:
        self.metas.append(meta)
        self.roots.append(root)
        self.makers.append(maker)
        return len(self.metas) - 1

    def from_outside(self, number: int, name: str, site: int) -> int:
        """The place in `outside` of the node with this number."""
        place = self.outside_of.get(number)
        if place is None:
            place = self.outside_of[number] = len(self.outside)
            self.outside.append((name, site))
        return place

    def op_before(self, number: int) -> int:
        """Index of the op that was running when the node with this number was made."""
        ops = self.ops
        return bisect_right(ops, number, key=lambda row: row.first) - 1


def freeze(data: Any) -> Any:
    """Hashable form of an event's data."""
    if isinstance(data, dict):
        return ("d", tuple((k, freeze(v)) for k, v in data.items()))
    if isinstance(data, (list, tuple)):
        if data and type(data[0]) is int:
            return ("l", tuple(data))
        return ("l", tuple(freeze(v) for v in data))
    return data
