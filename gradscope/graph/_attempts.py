"""Which levels and depths are tried, in turn, until a picture can be read."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

from gradscope.analysis.flow import Flow
from gradscope.graph._counts import Counts
from gradscope.graph._owners import Boxes, line_boxes, module_boxes, op_boxes

READABLE = 150  # nodes; above it a coarser level is shown
FITTING = 28  # nodes of a picture that fits a screen; where no level is asked for there are no more
NETWORKS = 3  # that a picture shows, from which on it is one also with a box for each
HIDDEN = 8  # modules that one line goes through from which on their own level says more


class Attempt(NamedTuple):
    """One way to draw a flow. coarser: what comes next, where the reader should know."""

    level: str
    boxes: partial[Boxes]
    most: int | None = READABLE  # nodes; None: as many as there are
    coarser: str = ""
    note: str = ""
    depth: int | None = None  # of the calls or modules that it opens, where not all are
    at_once: bool = False  # whether the picture should fit a screen

    def too_many(self, nodes: int) -> bool:
        """Whether a picture of so many boxes can't be read."""
        return self.most is not None and nodes > self.most


def attempts(
    flow: Flow,
    level: str | None,
    depth: int | None,
    sliced: bool = False,
    measured: bool = False,
    whole: bool = False,
) -> Iterator[Attempt]:
    """What is asked for, then what is coarser. depth: no call or module nested deeper has a box of its own.
    sliced: only a part of the picture will be shown. measured: how large a picture is will be known. whole: the level
    that is asked for, as large as it is."""
    if whole and level is not None:
        yield Attempt(level, _boxes_of(flow, level, depth), None, depth=depth)
        return
    own = level or ("module" if _in_modules(flow) else "line")
    if depth is None and not sliced:
        if level is None:
            yield from _fitting(flow, own)
            yield from _shallower(flow, FITTING, at_once=True)
            return
        if measured and level == "line":
            yield from _fitting(flow, own, READABLE)
        elif measured and level == "module":
            yield from _shallower(flow, READABLE, at_once=True, least=1)
    if own == "op":
        yield Attempt("op", _boxes_of(flow, "op", depth), coarser="line")
    if own in ("op", "line"):
        yield Attempt("line", _boxes_of(flow, "line", depth), depth=depth)
        yield Attempt("line", partial(line_boxes, flow, depth, rolled=True), coarser="module", depth=depth)
    yield Attempt("module", _boxes_of(flow, "module", depth), depth=depth)
    yield from _shallower(flow, READABLE)


def _boxes_of(flow: Flow, level: str, depth: int | None) -> partial[Boxes]:
    if level == "op":
        return partial(op_boxes, flow)
    return partial(line_boxes if level == "line" else module_boxes, flow, depth)


def _fitting(flow: Flow, level: str, most: int = FITTING) -> Iterator[Attempt]:
    """Lines of less and less depth, where they are to be drawn."""
    if level == "line":
        deepest = deepest_call(flow)
        depths = range(deepest, min(deepest, 1) - 1, -1)  # the outermost calls alone would be one box
        for rolled, depth in product((False, True), depths):
            note = "" if depth == deepest else _told(depth, deepest, "calls")
            boxes = partial(line_boxes, flow, depth, rolled=rolled)
            yield Attempt("line", boxes, most, note=note, depth=depth, at_once=True)


def _shallower(flow: Flow, most: int, at_once: bool = False, least: int = 0) -> Iterator[Attempt]:
    """Modules of less and less depth; what is outside them line by line, where that fits."""
    deepest = deepest_module(flow)
    closed = 0 if at_once and _networks(flow) >= NETWORKS else 1  # the least deep that shows more than a box
    for depth in range(deepest, least - 1, -1):
        note = "" if depth == deepest else _told(depth, deepest, "modules")
        if at_once and depth >= closed:
            lines = partial(module_boxes, flow, depth, lines=True)
            yield Attempt("module", lines, most, note=note, depth=depth, at_once=True)
        boxes = partial(module_boxes, flow, depth)
        if depth >= closed:
            yield Attempt("module", boxes, most, note=note, depth=depth, at_once=at_once)
        if not depth:
            yield Attempt("module", boxes, None, note=note, depth=depth)


def deepest_call(flow: Flow) -> int:
    """How deep lines of the program are called by others."""
    return max(map(len, flow.callers), default=1) - 1


def deepest_module(flow: Flow) -> int:
    """How deep modules lie in each other."""
    return max((module.path.count(".") + 1 for module in flow.trace.modules.values()), default=0)


def _networks(flow: Flow) -> int:
    """How many networks with parameters are in a flow."""
    modules = flow.trace.modules
    known = (flow.parameter(value) for value in flow.parameter_of)
    return len({modules[p.module].root for p in known if p is not None and p.module in modules})


def _told(depth: int, deepest: int, what: str) -> str:
    return f"{what} to depth {depth} of {deepest}: `--depth {depth + 1}` opens more"


def _in_modules(flow: Flow) -> bool:
    """Whether one line of the program hides a good part of a model that is not the program's own code."""
    counts = Counts(flow)
    behind: dict[Hashable, set[int]] = {}
    for op, lines in zip(flow.ops, flow.callers, strict=True):
        if op.module is not None and counts.hidden(op) > 1:
            behind.setdefault((lines, *counts.called(op)), set()).add(op.module)
    return any(len(modules) >= HIDDEN for modules in behind.values())
