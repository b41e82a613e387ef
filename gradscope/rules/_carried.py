"""Values that take the graph of an earlier step into a later one."""

from __future__ import annotations

from gradscope.model import Event, Op, Value
from gradscope.rules._paths import Paths


def carried_into(known: Paths, event: Event) -> tuple[Value, Op] | None:
    """The value with an old graph that the pass of `event` went through, and the call that took it in."""
    if event.graph < 0:
        return None
    graph = known.graph(event.graph)
    roots = event.data.get("roots") or event.data.get("inputs") or ()
    nodes = known.reach((event.graph, root) for root in roots).nodes
    for value in graph.values:
        if value.kind == "carried" and value.index not in roots and (event.graph, value.node) in nodes:
            readers = graph.consumers.get(value.index)
            if readers:
                return value, readers[0]
    return None
