"""Writes to the copy that an index or a mask has picked, which nobody reads, and whether the run goes on with what it
was picked from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import TAKING
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
    for graph in trace.graphs:
        for op in graph.writing:
            if len(op.writes) != 1:
                continue
            picked = graph.maker(base(graph, op.writes[0]))
            if picked is None or picked.name not in PICKING or len(picked.inputs) < 2:
                continue
            if not _is_read(graph, picked.outputs[0]):
                yield Lost(graph, op, picked)


def base(graph: Graph, value: int) -> int:
    """The first state of the tensor whose memory a value lies in."""
    while True:
        found = graph.values[value]
        if found.alias_of is not None:
            value = found.alias_of
            continue
        maker = graph.maker(value)
        if maker is None or value not in maker.written:
            return value
        value = maker.writes[maker.written.index(value)]


def _is_read(graph: Graph, copy: int) -> bool:
    """Whether a call takes numbers of the copy anywhere else than into itself."""
    own, todo = {copy}, [copy]
    for value in todo:  # grows while it is walked
        for op in graph.consumers.get(value, ()):
            made = [v for v in (*op.outputs, *op.written) if base(graph, v) == copy]
            if not made:
                return True
            todo += [v for v in made if v not in own]
            own.update(made)
    return False


def read_again(trace: Trace, lost: Lost) -> bool:
    """Whether a call of the program's takes what the copy was picked from after that: in this graph, in its next
    turn, or in another graph that has it from the same place."""
    graph, holder = lost.graph, base(lost.graph, lost.picked.inputs[0])
    for op in graph.ops[0 if graph.count > 1 else lost.op.index + 1 :]:
        if op.index not in (lost.op.index, lost.picked.index) and _takes(graph, op, holder):
            return True
    place = _origin(trace, graph, holder)
    return any(
        _origin(trace, other, value.index) == place and other.consumers.get(value.index)
        for other in trace.graphs
        if other.id != graph.id and (other.id > graph.id or other.count > 1)
        for value in other.values
        if value.origin is not None
    )


def _takes(graph: Graph, op: Op, holder: int) -> bool:
    return any(base(graph, value) == holder for value in op.inputs)


def _origin(trace: Trace, graph: Graph, value: int) -> tuple[int, int]:
    """Where a value came from first."""
    seen = set()
    place = graph.id, value
    while place not in seen:
        seen.add(place)
        origin = graph.values[value].origin
        if origin is None:
            break
        place = origin
        graph, value = trace.graph(origin[0]), base(trace.graph(origin[0]), origin[1])
        place = graph.id, value
    return place
