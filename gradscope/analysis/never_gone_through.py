"""States that a call takes and gives again and again, in a run without any backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradscope.analysis.names import names_of
from gradscope.events import Backward, ModuleCall
from gradscope.model import Graph, Site, Value
from gradscope.store import Trace

FEW = 20  # calls in a row
LINKED = 3  # of them whose inputs and outputs are known


@dataclass(frozen=True)
class Carried:
    """One such state: the line of the call, what the program names it there ("" where that is several
    tensors), how many calls made it in a row, and the nodes that it held after the second and the last."""

    site: Site
    name: str
    calls: int
    nodes: tuple[int, int]


def carried_for_nothing(trace: Trace) -> Iterator[Carried]:
    """The states whose graph gets longer with each call of a module, and that nothing goes back through."""
    if trace.of(Backward) or trace.program.get("exception") is not None:
        return
    by_line: dict[int, list[ModuleCall]] = {}
    for event in trace.of(ModuleCall):
        if event.graph >= 0 and event.grad:
            by_line.setdefault(event.site.id, []).append(event)
    for events in by_line.values():
        found = _followed(trace, events)
        if found is not None:
            yield found


def _followed(trace: Trace, events: list[ModuleCall]) -> Carried | None:
    links = [
        (first, [i for i in second.inputs if i in first.outputs])
        for first, second in pairwise(events)
        if first.graph == second.graph
    ]
    graph = trace.graph(events[0].graph)
    live = [(first, [i for i in given if graph.values[i].requires_grad]) for first, given in links]
    if len(live) < LINKED or any(first.graph != graph.id or not given for first, given in live[1:]):
        return None
    first, given = live[-1]
    state = graph.values[given[-1]]
    calls, last = _in_a_row(graph, state)
    if calls < FEW:
        return None
    begun = graph.values[live[1][1][-1]]
    site = events[0].site.user
    targets = (names_of(trace).assigned(site) or "").split(", ")
    whole = len(targets) == len(first.outputs)
    name = targets[first.outputs.index(state.index)] if whole else ""
    return Carried(site, name, calls, (_nodes(graph, begun), _nodes(graph, last)))


def _in_a_row(graph: Graph, state: Value) -> tuple[int, Value]:
    """How often the call that made this state was made of its own result, all in all, and the last one."""
    made = graph.ops[state.op] if state.op is not None else None
    if made is None:
        return 0, state
    last, longest = state, 0
    lengths: dict[int, int] = {}  # value → calls behind it
    for op in graph.ops:
        again = op.site.id == made.site.id and op.name == made.name
        length = max((lengths.get(i, 0) for i in op.inputs), default=0) + again
        live = [i for i in (*op.outputs, *op.written) if graph.values[i].requires_grad]
        lengths.update((i, length) for i in live if length)
        if again and live and length > longest:
            longest = length
            last = graph.values[op.outputs[min(state.position, len(op.outputs) - 1)]]
    return longest, last


def _nodes(graph: Graph, value: Value) -> int:
    return len(graph.reachable(value.node)) if value.node is not None else 0
