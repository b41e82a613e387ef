"""How often a line ran that calls modules from within: past a model's own `__call__`, or in a method."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gradscope.analysis.calls import Call, Calls
from gradscope.events import CallTime
from gradscope.model import Graph, Site


class Runs(NamedTuple):
    """Between how many and how many times; of what sampling slept through, none."""

    least: int
    most: int


def runs_of(known: Calls, group: list[Call], line: Site) -> Runs:
    """How often `line` ran for these calls, all made below it. Once at least for each stretch of its operations
    between those of other lines, and no oftener than the module that was called least there."""
    place = line.location()
    shared = any(
        call.used and any(f.location() == place for f in call.event.site.stack) for call in known.all
    )
    stored: dict[tuple[int, int], list[Call]] = {}
    for call in group:
        stored.setdefault((call.event.segment, call.event.graph), []).append(call)
    least = 0
    for (_, number), found in stored.items():
        stretches = _stretches(known.paths.graph(number), line)
        if shared:  # others of the same line train
            positions = [call.event.position for call in found]
            stretches = [part for part in stretches if any(at in part for at in positions)]
        least += max(1, len(stretches)) * max(call.event.count for call in found)
    most = min(_calls(known, group, shared=shared).values())
    return Runs(min(least, most), most)


def _calls(known: Calls, group: list[Call], *, shared: bool) -> Counter[int]:
    """Site → how many calls it made: of many in a row the first are noted, and all are timed."""
    made = Counter[int]()
    for call in group:
        made[call.event.site.id] += call.event.count
    for event in () if shared else known.trace.of(CallTime):
        if event.site.id in made:
            made[event.site.id] = max(made[event.site.id], event.calls)
    return made


def _stretches(graph: Graph, line: Site) -> list[range]:
    """The operations of a graph below a call, in stretches without others: what the rest of its line computes is none
    of them."""
    found: list[range] = []
    inside: dict[int, bool] = {}
    for op in graph.ops:
        if op.site.id not in inside:
            inside[op.site.id] = any(frame.span() == line.span() for frame in op.site.stack)
        if not inside[op.site.id]:
            continue
        if found and found[-1].stop == op.index:
            found[-1] = range(found[-1].start, op.index + 1)
        else:
            found.append(range(op.index, op.index + 1))
    return found
