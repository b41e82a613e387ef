"""Values that take the graph of an earlier step into a later one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradscope.analysis.reach import Paths
from gradscope.events import Backward, Rooted
from gradscope.model import Graph, Op, Value

MANY = 5  # passes, each of which goes further back than the one before


@dataclass
class LongerPasses:
    """Passes of one line, each of which goes through all that the last one went through and what was
    added since, without an optimizer's step between."""

    passes: list[Backward]
    nodes: list[int]  # that each of them visits
    taken_in: Op  # the call that takes the old state in
    state: Value
    updated: bool = False  # by the program's own hand, after each of them


@dataclass(frozen=True)
class Carried:
    """A value with an old graph that a pass went through."""

    value: Value
    readers: list[Op]  # the calls that took it in, on the way of that pass


def all_carried(known: Paths, event: Rooted) -> list[Carried]:
    """The values with an old graph that the pass of `event` went through."""
    if event.graph < 0:
        return []
    graph = known.graph(event.graph)
    roots = event.roots or event.inputs
    nodes = known.reach((event.graph, root) for root in roots).nodes
    found = []
    for value in graph.values:
        if value.kind == "carried" and value.index not in roots and (event.graph, value.node) in nodes:
            readers = [
                op
                for op in graph.consumers.get(value.index, ())
                if any((event.graph, node) in nodes for node in op.nodes)
            ]
            if readers:
                found.append(Carried(value, readers))
    return found


def carried_into(known: Paths, event: Rooted) -> tuple[Value, Op] | None:
    """The first such value, and the call that took it in."""
    return next(((carried.value, carried.readers[0]) for carried in all_carried(known, event)), None)


def longer_passes(known: Paths) -> Iterator[LongerPasses]:
    """Lines whose passes go back ever further, without a step between: they fill gradients, or the
    program changes parameters by hand after each."""
    for number in known.graph_ids:
        lines: dict[tuple[str, int], list[Backward]] = {}
        for event in known.backwards:
            if event.graph == number and event.roots:
                lines.setdefault(event.site.user.location(), []).append(event)
        for passes in lines.values():
            if len(passes) >= MANY:
                updated = _updated_between(known, number, passes[:MANY])
                fills = all(e.call == "backward" for e in passes)
                found = _longer(known, known.graph(number), passes[:MANY]) if fills or updated else None
                if found is not None:
                    yield LongerPasses(passes, *found, updated)


def _updated_between(known: Paths, number: int, passes: list[Backward]) -> bool:
    written = [e.position for e in known.updates if e.graph == number]
    return all(any(a.position <= at <= b.position for at in written) for a, b in pairwise(passes))


def _longer(known: Paths, graph: Graph, passes: list[Backward]) -> tuple[list[int], Op, Value] | None:
    visits = [known.reach((graph.id, root) for root in e.roots).nodes for e in passes]
    shared = [len(a & b) for a, b in pairwise(visits)]
    if any(b <= a for a, b in pairwise(shared)) or not all(e.retain_graph for e in passes[:-1]):
        return None
    last, before = passes[-1], passes[-2].position
    found = None
    for op in graph.ops[before + 1 : last.position + 1]:
        for index in op.inputs:
            state = graph.values[index]
            if state.op is None or state.op > before or state.is_leaf:
                continue
            if (graph.id, state.node) in visits[-1] & visits[-2]:
                return [len(nodes) for nodes in visits], op, state
            if (graph.id, state.node) in visits[-1] and state.op > passes[-3].position:
                found = op, state  # made beside the loss of that step: what takes it last goes on with it
    return ([len(nodes) for nodes in visits], *found) if found is not None else None
