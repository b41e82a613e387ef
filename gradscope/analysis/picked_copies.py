"""Writes to the copy that an index or a mask has picked, which nobody reads, and whether the run goes on with what it
was picked from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import TAKING
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.model import Graph, Op
from gradscope.store import Trace

PICKING = TAKING | {"masked_select"}


class Lost(NamedTuple):
    """A write in place, and the call that gave the copy."""

    graph: Graph
    op: Op
    picked: Op


def lost_writes(trace: Trace) -> Iterator[Lost]:
    """Those of which no call reads what was written. The same write of a graph that was built several times is told
    once."""
    known = paths(trace)
    for graph in trace.graphs:
        for op in graph.writing:
            if len(op.writes) != 1:
                continue
            picked = graph.maker(known.memory(graph.id, op.writes[0]))
            if picked is None or picked.name not in PICKING or len(picked.inputs) < 2:
                continue
            if not _is_read(known, graph, picked.outputs[0]):
                yield Lost(graph, op, picked)


def _is_read(known: Paths, graph: Graph, copy: int) -> bool:
    """Whether a call takes numbers of the copy anywhere else than into itself."""
    own, todo = {copy}, [copy]
    for value in todo:  # grows while it is walked
        for op in graph.consumers.get(value, ()):
            made = [v for v in (*op.outputs, *op.written) if known.memory(graph.id, v) == copy]
            if not made:
                return True
            todo += [v for v in made if v not in own]
            own.update(made)
    return False


def read_again(trace: Trace, lost: Lost) -> bool:
    """Whether a call of the program's takes what the copy was picked from after that: in this graph, in its next
    turn, or in another graph that has it from the same place."""
    known, graph, holder = paths(trace), lost.graph, taken_from(trace, lost)
    for op in graph.ops[0 if graph.count > 1 else lost.op.index + 1 :]:
        if op.index not in (lost.op.index, lost.picked.index) and _takes(known, op, holder):
            return True
    place = _origin(known, graph.id, holder)
    return any(
        _origin(known, other.id, value.index) == place and other.consumers.get(value.index)
        for other in trace.graphs
        if other.id != graph.id and (other.id > graph.id or other.count > 1)
        for value in other.values
        if value.origin is not None
    )


def taken_from(trace: Trace, lost: Lost) -> int:
    """The first state of the tensor that the copy was picked from."""
    return paths(trace).memory(lost.graph.id, lost.picked.inputs[0])


def _takes(known: Paths, op: Op, holder: int) -> bool:
    return any(known.memory(op.graph, value) == holder for value in op.inputs)


def _origin(known: Paths, graph: int, value: int) -> Key:
    """Where the memory of a value came from first."""
    place, seen = (graph, value), set[Key]()
    while place not in seen and (origin := known.value(place).origin) is not None:
        seen.add(place)
        place = origin[0], known.memory(*origin)
    return place
