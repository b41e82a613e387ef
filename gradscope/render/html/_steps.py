"""The run of a page, stretch by stretch."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from gradscope.analysis.course import measured
from gradscope.analysis.names import place
from gradscope.analysis.stretches import DID, did, each, purpose
from gradscope.escape import one_line
from gradscope.store import Pages, Trace

MOST = 400  # stretches that are listed
CURVES = 8  # losses that are drawn


@dataclass
class Stretch:
    """Equal stretches of the run, one after another."""

    steps: str
    ops: str
    nodes: str
    each: str  # milliseconds
    loss: str
    events: str


def stretches(trace: Trace) -> tuple[list[Stretch], int]:
    """The first of them, and how many more there are."""
    graphs = {graph.id: graph for graph in Pages(trace).graphs()}
    losses = dict(trace.numbers("loss"))
    owner = {s.index: (s.events, s.graph) for s in trace.segments}
    kinds: dict[tuple[int | None, int | None], Counter[str]] = {}
    for event in trace.events:
        if event.kind in DID:
            kinds.setdefault(owner[event.segment], Counter())[event.kind] += 1
    found, done, passed = [], 0, False
    for segment in trace.segments:
        count = segment.repeat if segment.is_step else 0
        first, last = done + 1, done + count
        done = last
        graph = graphs.get(segment.graph) if segment.graph is not None else None
        told = kinds.get((segment.events, segment.graph), Counter())
        passed = passed or bool({"backward", "step"} & told.keys())
        loss = next((losses[step] for step in range(last, first - 1, -1) if step in losses), None)
        found.append(
            Stretch(
                _title(first, last) if count else _outside(purpose(told.keys(), passed), segment.repeat),
                f"{graph.ops:,}" if graph else "",
                f"{graph.nodes:,}" if graph else "",
                each(segment),
                "" if loss is None else f"{loss:.4g}",
                did(told) or ("" if graph else "not looked at"),
            )
        )
    return found[:MOST], max(len(found) - MOST, 0)


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


def _title(first: int, last: int) -> str:
    return f"step {first:,}" if first == last else f"steps {first:,}–{last:,}"


def _outside(kind: str, repeat: int) -> str:
    return kind + (f" ×{repeat:,}" if repeat > 1 else "")
