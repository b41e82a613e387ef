"""The run of a page, stretch by stretch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from gradscope.analysis.course import measured
from gradscope.analysis.names import place
from gradscope.analysis.stretches import Stretch, did, told_stretches
from gradscope.escape import one_line
from gradscope.store import GraphSize, Pages, Trace

MOST = 400  # stretches that are listed
CURVES = 8  # losses that are drawn


@dataclass
class Row:
    """A stretch, in words."""

    steps: str
    ops: str
    nodes: str
    each: str  # milliseconds
    loss: str
    events: str


def rows(trace: Trace) -> tuple[list[Row], int]:
    """Those of the first stretches, and how many more there are."""
    graphs = {graph.id: graph for graph in Pages(trace).graphs()}
    known = dict(trace.numbers("loss"))
    found = told_stretches(trace)
    return [_row(one, graphs, known) for one in found[:MOST]], max(len(found) - MOST, 0)


def _row(one: Stretch, graphs: dict[int, GraphSize], known: dict[int, float]) -> Row:
    graph = graphs.get(one.segment.graph) if one.segment.graph is not None else None
    loss = one.loss(known)
    return Row(
        one.title,
        f"{graph.ops:,}" if graph else "",
        f"{graph.nodes:,}" if graph else "",
        one.each,
        "" if loss is None else f"{loss:.4g}",
        did(one.kinds) or ("" if graph else "not looked at"),
    )


def losses(trace: Trace, points: int = 300) -> list[dict[str, Any]]:
    """The curve of each line's loss over the run, thinned: what it is called, and (step, loss)."""
    found = []
    for course in measured(trace):
        known = [(step, float(f"{loss:.4g}")) for step, loss in zip(course.steps, course.losses, strict=True)
                 if math.isfinite(loss)]  # fmt: skip
        if known:
            name = f"{course.name.strip('`')} ({place(course.line)})"
            found.append({"name": one_line(name), "points": known[:: max(len(known) // points, 1)]})
    return found[:CURVES]
