"""Where values come from that a step takes over from passes before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gradscope.analysis.flow import initial, made_at, origin_of
from gradscope.model import Graph, Op, Value
from gradscope.store import Trace

Key = tuple[int, int]  # graph, value in it

MAX_OPS = 3_000  # drawn of passes before


class Source(NamedTuple):
    """What made a value in a pass before: its op, and the parameters that went into it."""

    op: Op
    parameters: tuple[int, ...]


def earlier(trace: Trace, graphs: list[int], moved: Mapping[Key, Key] | None = None) -> dict[int, set[int]]:
    """Graph → the ops of it that made, out of parameters, what `graphs` take over; graphs in the order of the run.
    Code that `graphs` run themselves is left out: of that, what an earlier round of a loop did is one box.
    moved: as `origins` of `join`."""
    moved = moved or {}
    own = set(graphs)
    calls = {(op.site.id, op.name) for id in graphs for op in trace.graph(id).ops}
    found: dict[int, set[int]] = {}
    for key in _taken(trace, graphs, moved):
        made = _values(trace, _upstream(trace, key, own, moved))
        if not any(value.parameter is not None for _, value in made):
            continue
        ops = [(at, value.op) for (at, _), value in made if value.op is not None]
        if any((op.site.id, op.name) in calls for op in (trace.graph(at).ops[op] for at, op in ops)):
            continue
        for at, op in ops:
            found.setdefault(at, set()).add(op)
    if sum(map(len, found.values())) > MAX_OPS:
        return {}
    return {at: found[at] for at in sorted(found)}


def source_of(trace: Trace, key: Key, moved: Mapping[Key, Key]) -> Source | None:
    """What made a value that nothing in the picture makes; None of data, which no parameter went into."""
    at = made_at(trace, key, moved)
    if at is None:
        return None
    made = trace.graph(at[0]).values[at[1]]
    ids = [
        v.parameter for _, v in _values(trace, _upstream(trace, at, set(), moved)) if v.parameter is not None
    ]
    if made.op is None or not ids:
        return None
    return Source(trace.graph(at[0]).ops[made.op], tuple(dict.fromkeys(ids)))


def _taken(trace: Trace, graphs: list[int], moved: Mapping[Key, Key]) -> Iterator[Key]:
    """What these graphs read of others, not counting parameters and buffers."""
    own = set(graphs)
    for id in graphs:
        graph = trace.graph(id)
        for value in graph.values:
            origin = _from_elsewhere(id, value, moved)
            if origin is not None and origin[0] not in own:
                yield origin


def _from_elsewhere(graph: int, value: Value, moved: Mapping[Key, Key]) -> Key | None:
    data = value.parameter is None and value.kind in ("input", "carried")
    return origin_of(graph, value, moved) if data else None


def _upstream(trace: Trace, key: Key, stop: set[int], moved: Mapping[Key, Key]) -> set[Key]:
    """All that a value was computed from, cut or not, itself included, outside the graphs in `stop`.
    What was done to a parameter before is not part of it."""
    seen = {key}
    todo = [key]
    while todo:
        id, index = todo.pop()
        graph = trace.graph(id)
        for source in _behind(graph, graph.values[index], moved):
            if source not in seen and source[0] not in stop:
                seen.add(source)
                todo.append(source)
    return seen


def _behind(graph: Graph, value: Value, moved: Mapping[Key, Key]) -> list[Key]:
    if value.parameter is not None:
        return []
    if value.op is None:
        origin = _from_elsewhere(graph.id, value, moved)
        return [] if origin is None else [origin]
    op = graph.ops[value.op]
    before = [w for w, new in zip(op.writes, op.written, strict=False) if new == value.index]
    return [(graph.id, v if (own := initial(graph, v)) is None else own) for v in (*op.inputs, *before)]


def _values(trace: Trace, keys: set[Key]) -> list[tuple[Key, Value]]:
    return [(key, trace.graph(key[0]).values[key[1]]) for key in sorted(keys)]
