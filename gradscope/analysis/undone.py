"""Steps whose result is overwritten before anything reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from gradscope.analysis.loop import stretches
from gradscope.analysis.ops import ALIASES, FILLS, LIKE, SHAPED_AS
from gradscope.analysis.words import root_of
from gradscope.analysis.writes import memory_root
from gradscope.events import Step, Update
from gradscope.model import Event, Graph, Op, Site
from gradscope.store import Trace

MAX_STRETCHES = 5_000


@dataclass
class Undone:
    """The steps of one optimizer: `times` were undone, at `site`; `kept` were not."""

    optimizer: int
    step: Site
    times: int = 0
    kept: int = 0
    site: Site | None = None
    parameters: set[int] = field(default_factory=set)


def undone(trace: Trace) -> Iterator[Undone]:
    """Optimizers of which every step was undone, as far as the run was looked at."""
    if trace.of(Update):
        for found in _Run(trace).steps.values():
            if found.times >= 2 and not found.kept and not _adapted(trace, found):
                yield found


def _adapted(trace: Trace, found: Undone) -> bool:
    """Whether the steps train a part of a model only: one that is adapted to each batch and reset (the
    predictions were made in the pass before the step)."""
    held = set(trace.optimizers[found.optimizer].parameters)
    roots = {root_of(trace, trace.parameter(p)) for p in found.parameters}
    others = (p for p in trace.parameters if p.registered and p.id not in held and not p.requires_grad)
    return any(root_of(trace, p) in roots for p in others)


class _Run:
    """Follows what each step changed to the first op that reads or overwrites it."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.steps: dict[int, Undone] = {}
        self.pending: dict[int, set[int]] = {}  # optimizer → parameters that nothing has touched since
        self._touched: dict[int, dict[int, tuple[int, Op | None]]] = {}
        eventful = ((segment, events) for segment, events in stretches(trace) if segment.events is not None)
        for segment, events in islice(eventful, MAX_STRETCHES):
            if segment.graph is None:  # not looked at
                self.pending.clear()
                continue
            self._look(trace.graph(segment.graph), events)
            for event in events:
                if isinstance(event, Step) and event.optimizer is not None:
                    self._step(event, segment.repeat)

    def _step(self, event: Step, repeat: int) -> None:
        states, number = event.states, event.optimizer
        used = {*states.get("fresh", ()), *states.get("stale", ())}
        found = self.steps.setdefault(number, Undone(number, event.site.user))
        found.kept += number in self.pending or repeat > 1 or bool(event.closure)
        if used:
            self.pending[number] = used
            found.parameters |= used

    def _look(self, graph: Graph, events: list[Event]) -> None:
        for number, waiting in list(self.pending.items()):
            found = self.steps[number]
            touched = self._first(graph)
            assigned = {p: e for e in events if (p := _assigned(e)) in waiting and _before(touched, p, e)}
            if any(touched[p][1] is None for p in waiting & touched.keys() - assigned.keys()):
                found.kept += 1
                del self.pending[number]
                continue
            writes = [op.site for p in waiting & touched.keys() if (op := touched[p][1]) is not None]
            writes += [event.site for event in assigned.values()]
            if writes and waiting <= touched.keys() | assigned.keys():
                found.times += 1
                found.site = found.site or writes[0].user
                del self.pending[number]

    def _first(self, graph: Graph) -> dict[int, tuple[int, Op | None]]:
        """Parameter → the first op that touches it, and that op again where it overwrites it all."""
        if graph.id not in self._touched:
            found = self._touched[graph.id] = {}
            for op in graph.ops:
                for value in op.inputs:
                    parameter = graph.values[memory_root(graph, value)].parameter
                    if parameter is not None and not _hands_on(graph, op) and not _shape_only(op, value):
                        found.setdefault(parameter, (op.index, op if _overwrites(graph, op, value) else None))
        return self._touched[graph.id]


def _assigned(event: Event) -> int | None:
    """The parameter that a line `p.data = …` gives other values."""
    return event.parameter if isinstance(event, Update) and event.how == "assigned" else None


def _before(touched: dict[int, tuple[int, Op | None]], parameter: int | None, event: Event) -> bool:
    """Whether no op of the stretch touches the parameter before the event."""
    return parameter is not None and (parameter not in touched or touched[parameter][0] > event.position)


def _overwrites(graph: Graph, op: Op, value: int) -> bool:
    """Whether `op` is `value.copy_(other)`, or fills it with numbers."""
    if op.name in FILLS:
        return value in op.writes
    others = {memory_root(graph, other) for other in op.inputs if other != value}
    return op.name == "copy_" and value in op.writes and memory_root(graph, value) not in others


def _shape_only(op: Op, value: int) -> bool:
    """Whether `op` asks for the shape alone: `vector[:n].view_as(p)`, `torch.empty_like(p)`."""
    return op.name in LIKE or (op.name in SHAPED_AS and op.inputs.index(value) > 0)


def _hands_on(graph: Graph, op: Op) -> bool:
    """Whether this is `p.data` of `p.data.copy_(…)`: no read of its own."""
    readers = [reader for value in op.outputs for reader in graph.consumers.get(value, ())]
    written = {value for reader in readers for value in reader.writes}
    return op.name in ALIASES and bool(readers) and set(op.outputs) <= written
