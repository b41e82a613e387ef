"""What feeds a loss and what its gradient reaches, over all graphs of a run.

Dataflow passes through cuts, autograd does not: where the two differ, the gradient was
lost. Both are found once per trace, without recursion, from all backward passes at once.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter

from gradscope.analysis.gradients import asked_later, how_received
from gradscope.analysis.idle import mistaken, tried_out
from gradscope.analysis.loop import in_order
from gradscope.analysis.memo import once
from gradscope.analysis.stops import Stop, frozen, stops
from gradscope.analysis.words import plural
from gradscope.analysis.writes import memory_root
from gradscope.events import Backward, ErrorRaised, RequiresGrad, Rooted, Step, Update
from gradscope.model import Graph, Op, Parameter, Site, Value
from gradscope.store import Trace

Key = tuple[int, int]  # (graph id, index of a value or a node)

MOST_VIEWS = 12  # graphs that are gone back through for the memory of a tensor
KEPT = 4_000_000  # nodes in answers that are remembered


@dataclass
class Upstream:
    """Everything some values were computed from. `feeds`: value → (value, op that made it
    of the first, None where one tensor entered another graph)."""

    order: dict[Key, None] = field(default_factory=dict)
    feeds: dict[Key, list[tuple[Key, Op | None]]] = field(default_factory=dict)


@dataclass
class Reach:
    """What a backward pass visits. `complete` is False where part of the graph was not seen."""

    nodes: frozenset[Key]
    parameters: frozenset[int]
    leaves: frozenset[Key]
    complete: bool


class _Walk:
    """A backward pass on its way: what it has visited so far, its nodes by graph."""

    def __init__(self, without: frozenset[str], stop: frozenset[Key]):
        self.without, self.stop = without, stop
        self.nodes: dict[int, set[int]] = {}
        self.parameters: set[int] = set()
        self.leaves: set[Key] = set()
        self.complete = True

    def through(self, graph: Graph, start: int, carried: Mapping[int, Key]) -> list[Key]:
        """All that lies behind a node in its own graph; returns the values of others that it goes on with."""
        visited = self.nodes.setdefault(graph.id, set())
        if start in visited:
            return []
        further: list[Key] = []
        stop = {node for number, node in self.stop if number == graph.id}
        visited.add(start)
        todo = [start]
        while todo:
            index, name, op, edges, _, leaf, _, parameter = graph.nodes[todo.pop()]
            if index in stop or name in self.without:
                continue
            if leaf is not None or name == "AccumulateGrad":
                if leaf is not None:
                    self.leaves.add((graph.id, leaf))
                if parameter is not None:
                    self.parameters.add(parameter)
                continue
            if index in carried:
                further.append(carried[index])
            elif not edges and op is None:
                self.complete = False
            for target, _ in edges:
                if target not in visited:
                    visited.add(target)
                    todo.append(target)
        return further


class Paths:
    """The paths between parameters and losses of one trace (see `paths`). `stop`: those of the passes
    from there on, which should give its parameters what earlier ones gave them."""

    def __init__(self, trace: Trace, stop: Stop | None = None):
        self.stop = stop
        self._asked: dict[tuple[frozenset[Key], frozenset[str], frozenset[Key]], Reach] = {}
        self._kept = 0  # nodes in these answers
        self._graphs: dict[int, Graph] = {}
        self._load = trace.graph
        self._leaf_of: dict[Key, Parameter | None] = {}
        self._fed_by: dict[tuple[Key, ...], frozenset[int]] = {}
        self._equal: dict[frozenset[int], frozenset[int]] = {}  # of equal answers one is kept
        self._memory_of: dict[Key, int] = {}
        self.trace = trace
        self.parameters = {p.id: p for p in trace.parameters}
        passes = trace.of(Backward) if stop is None else _since(trace, stop.segment)
        self._passes = passes
        self.backwards = [e for e in passes if e.graph is not None and e.graph >= 0]
        self.updates = trace.of(Update)  # by the program's own hand
        self._set = [e for e in trace.of(RequiresGrad) if e.graph >= 0]
        self.asked_later = asked_later(trace)
        self.passes = sum(e.count for e in passes)
        self.stepping = {number for number, optimizer in trace.optimizers.items() if optimizer.steps}
        self.stepping |= {e.optimizer for e in trace.of(Step) if e.optimizer is not None}
        self.first_pass = min((e.segment for e in trace.of(Backward)), default=None)
        first = stop.segment if stop is not None else 0
        self.graph_ids = sorted({s.graph for s in trace.segments if s.graph is not None and s.index >= first})

    def graph(self, id: int) -> Graph:
        found = self._graphs.get(id)
        if found is None:
            found = self._graphs[id] = self._load(id)
        return found

    def value(self, key: Key) -> Value:
        """The value with this key."""
        return self.graph(key[0]).values[key[1]]

    def alike(self, loss: Rooted, through: Op | None = None) -> int:
        """How many passes this one stands for: those from its line that filled the same gradients, also while
        sampling slept. through: and those that filled others, of losses that were computed through this call."""
        if not isinstance(loss, Backward):
            return loss.count
        line = loss.site.user.location()
        filled = {loss.filled}
        if through is not None:
            others = [e for e in self.backwards if e.site.user.location() == line and e.filled != loss.filled]
            filled |= {event.filled for event in others if self._goes_through(event, through)}
        return sum(
            event.count
            for event in self.trace.of(Backward)
            if event.site.user.location() == line and event.filled in filled
        )

    def _goes_through(self, event: Backward, call: Op) -> bool:
        """Whether what a pass began with was computed from what this call, or the same one of another step, gave."""
        behind = self.flow((event.graph, root) for root in event.roots).order
        makers = (self.graph(graph).maker(index) for graph, index in behind if graph >= 0)
        return any(op is not None and op.site.id == call.site.id for op in makers)

    def times_through(self, graph: int, nodes: Collection[int]) -> int:
        """How many passes went through one of these nodes: those that were looked at, and what they stand for."""
        wanted = {(graph, node) for node in nodes}
        found: dict[object, Backward] = {}
        for event in self.backwards:
            key = event.site.user.location(), frozenset(event.filled)
            if event.graph == graph and key not in found:
                if not wanted.isdisjoint(self.reach((graph, root) for root in event.roots).nodes):
                    found[key] = event
        return sum(self.alike(event) for event in found.values())

    # -- dataflow ------------------------------------------------------------------

    def sources(self, key: Key) -> tuple[list[Key], Op | None]:
        """What a value was computed from, and by which op. A parameter starts here,
        whatever wrote its memory before."""
        graph = self.graph(key[0])
        if key[0] < 0:  # nothing is known of that segment's graph
            return [], None
        value = graph.values[key[1]]
        if value.op is not None:
            op = graph.ops[value.op]
            if value.index in op.written and value.is_leaf and value.requires_grad:
                return [
                    (graph.id, old) for old, new in zip(op.writes, op.written, strict=False) if new == key[1]
                ], op
            return [(graph.id, i) for i in dict.fromkeys((*op.inputs, *op.writes))], op
        if value.kind != "parameter" and value.origin is not None:
            origin = value.origin
            if origin[1] < len(self.graph(origin[0]).values):
                return [origin], None
        return [], None

    def made(self, key: Key) -> Key:
        """Where a value that was carried along from earlier graphs was made."""
        seen = {key}
        while (origin := self.value(key).origin) is not None and origin not in seen:
            if origin[1] >= len(self.graph(origin[0]).values):
                break
            seen.add(origin)
            key = origin
        return key

    def memory_made(self, key: Key) -> Key:
        """The value whose memory a tensor shares, where that was made, perhaps in an earlier graph."""
        for _ in range(MOST_VIEWS):
            key = key[0], memory_root(self.graph(key[0]), key[1])
            origin = self.value(key).origin
            if origin is None or origin[1] >= len(self.graph(origin[0]).values):
                break
            key = origin
        return key

    def maker(self, key: Key) -> Op | None:
        """The call that made a value, in whatever graph."""
        graph, index = self.made(key)
        op = self.graph(graph).values[index].op
        return self.graph(graph).ops[op] if op is not None else None

    def maker_behind(self, key: Key, names: Collection[str]) -> Op | None:
        """The call that made a value, or what that came from through calls of these names, by their first input."""
        return self.maker(self.source_behind(key, names))

    def source_behind(self, key: Key, names: Collection[str]) -> Key:
        """The value that another one came from through calls of these names, by their first input; itself, where none
        of them made it."""
        while (maker := self.maker(key)) is not None and maker.name in names and maker.inputs:
            key = maker.graph, maker.inputs[0]
        return key

    def flow(self, roots: Iterable[Key]) -> Upstream:
        """Everything that `roots` were computed from, nearest first."""
        flow = Upstream(dict.fromkeys(roots))
        todo = deque(flow.order)
        while todo:
            key = todo.popleft()
            sources, op = self.sources(key)
            for source in sources:
                flow.feeds.setdefault(source, []).append((key, op))
                if source not in flow.order:
                    flow.order[source] = None
                    todo.append(source)
        return flow

    def nearest_first(self, key: Key) -> Iterator[Key]:
        """What a value was computed from, one by one: for who looks for the first of some kind."""
        seen, todo = {key}, deque([key])
        while todo:
            current = todo.popleft()
            yield current
            for source in self.sources(current)[0]:
                if source not in seen:
                    seen.add(source)
                    todo.append(source)

    def nearest(self, key: Key, nodes: Collection[Key]) -> Key | None:
        """The nearest value with one of these nodes among those with a gradient that this was computed from."""
        seen, todo = {key}, deque([key])
        while todo:
            at = todo.popleft()
            if (at[0], self.value(at).node) in nodes:
                return at
            for source in self.sources(at)[0]:
                if source not in seen and self.value(source).requires_grad:
                    seen.add(source)
                    todo.append(source)
        return None

    def parameter_of(self, key: Key) -> Parameter | None:
        """The leaf that a value is, followed back through in-place writes."""
        way: list[
            Key
        ] = []  # all of it has one answer: a tensor that is filled in a loop has thousands of writes
        at: Key | None = key
        found: Parameter | None = None
        while at is not None and len(way) <= len(self.graph(key[0]).values):
            if at in self._leaf_of:
                found = self._leaf_of[at]
                break
            way.append(at)
            found, at = self._leaf_or_before(at)
        self._leaf_of.update(dict.fromkeys(way, found))
        return found

    def _leaf_or_before(self, key: Key) -> tuple[Parameter | None, Key | None]:
        """The leaf that a value is; else the value that a write made it of, where it may be one."""
        graph = self.graph(key[0])
        value = graph.values[key[1]]
        number = value.parameter if value.parameter is not None else self.asked_later.get(key)
        if number is not None:
            return self.parameters.get(number), None
        op = graph.ops[value.op] if value.op is not None else None
        if op is None or not value.is_leaf:
            return None, None
        if value.index not in op.written:
            made = self._became.get(key) if value.requires_grad else None
            return self.parameters.get(made) if made is not None else None, None
        return None, (key[0], op.writes[op.written.index(value.index)])

    @cached_property
    def _became(self) -> dict[Key, int]:
        """Leaves that were made in one segment and are known for parameters in a later one: an optimizer was given
        them only then."""
        return {
            value.origin: value.parameter
            for number in self.graph_ids
            for value in self.graph(number).values
            if value.parameter is not None and value.origin is not None
        }

    @cached_property
    def roots(self) -> dict[Key, list[Backward]]:
        """Values that a backward pass started from, or a pass that one of its hooks asked for."""
        found: dict[Key, list[Backward]] = {}
        for event in self.backwards:
            for root in (*event.roots, *event.within):
                if root < len(self.graph(event.graph).values):
                    found.setdefault((event.graph, root), []).append(event)
        return found

    @cached_property
    def used(self) -> Upstream:
        """Everything that any backward pass of the run depends on."""
        return self.flow(self.roots)

    def onward(
        self, key: Key, through: Callable[[Key, Op | None], bool], most: int = sys.maxsize
    ) -> Iterator[tuple[Key, Key, Op | None]]:
        """What losses make of a value, nearest first: (what is read, what comes of it, the call, or None where it goes
        on in another graph). Then the same of each result that is let through, of so many at most."""
        todo, seen = [key], {key}
        for current in todo:  # grows while it is walked
            for result, op in self.used.feeds.get(current, ()):
                yield current, result, op
                if result not in seen and len(seen) <= most and through(result, op):
                    seen.add(result)
                    todo.append(result)

    def becomes_number(self, key: Key, through: Collection[str], last: Collection[str], most: int) -> bool:
        """Whether a value goes into a single number of a loss by ops of these names alone, of so many at most, and
        then one of `last`."""
        steps = self.onward(key, lambda _, op: op is not None and op.name in through, most)
        return any(
            op is not None and op.name in last and not self.value(result).shape for _, result, op in steps
        )

    @cached_property
    def _used_calls(self) -> dict[str, list[tuple[int, Key, Op]]]:
        found: dict[str, list[tuple[int, Key, Op]]] = {}
        for place, key in enumerate(self.used.order):
            op = self.graph(key[0]).maker(key[1])
            if op is not None:
                found.setdefault(op.name, []).append((place, key, op))
        return found

    def used_calls(self, names: Collection[str]) -> list[tuple[Key, Op]]:
        """The calls of these ops that a backward pass depends on, each of their results with the op, nearest to
        the losses first. Of a million calls a rule is about a few."""
        found = [one for name in names for one in self._used_calls.get(name, ())]
        return [(key, op) for _, key, op in sorted(found, key=itemgetter(0))]

    def readers(self, key: Key) -> list[Op | None]:
        """The calls on the way to a loss that read a value; None for another graph that goes on with it."""
        found: dict[int, Op | None] = {}
        for result, op in self.used.feeds.get(key, ()):
            here = op is not None and result[0] == key[0]
            found[op.index if here and op is not None else -1] = op if here else None
        return list(found.values())

    @cached_property
    def feeding(self) -> dict[int, list[Key]]:
        """Parameter id → its values among those that a loss was computed from."""
        found: dict[int, list[Key]] = {}
        for key in self.used.order:
            if self.value(key).is_leaf:
                parameter = self.parameter_of(key)
                if parameter is not None:
                    found.setdefault(parameter.id, []).append(key)
        return found

    def loss_of(self, key: Key, passes: Callable[[Backward], bool] | None = None) -> Backward | None:
        """The first backward pass that a value of `used` leads to, of those that are meant."""
        seen = {key}
        todo = deque(seen)
        while todo:
            current = todo.popleft()
            for event in self.roots.get(current, ()):
                if passes is None or passes(event):
                    return event
            for target, _ in self.used.feeds.get(current, ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return None

    # -- autograd ------------------------------------------------------------------

    @cached_property
    def _carried(self) -> dict[int, dict[int, Key]]:
        return {}

    def _carried_in(self, graph: Graph) -> dict[int, Key]:
        """Node → where the value that carried it into this graph came from."""
        found = self._carried.get(graph.id)
        if found is None:
            found = self._carried[graph.id] = {
                value.node: value.origin
                for value in graph.values
                if value.kind == "carried" and value.node is not None and value.origin is not None
            }
        return found

    def parameters_in(self, keys: Iterable[Key]) -> set[int]:
        """The leaves among these values, by id."""
        return {p.id for key in keys if (p := self.parameter_of(key)) is not None}

    def filled_by(self, event: Backward) -> set[int]:
        """The leaves, declared or not, that a pass gave a gradient, by id."""
        return self.parameters_in((event.graph, leaf["value"]) for leaf in event.leaves) | set(event.filled)

    def fed_by(self, *keys: Key) -> frozenset[int]:
        """The leaves that these values were computed from, with a graph or without, by id."""
        found = self._fed_by.get(keys)
        if found is None:  # all steps of a graph ask the same
            ids = frozenset(self.parameters_in(self.flow(keys).order))
            found = self._fed_by[keys] = self._equal.setdefault(ids, ids)
        return found

    def all_seen(self, *keys: Key) -> bool:
        """Whether all that these values were computed from was seen. Torch 2.2 and 2.3 do not show `x[…]`: what it
        gave looks like data there."""
        if not str(self.trace.program.get("torch")).startswith(("2.2.", "2.3.")):
            return True
        ends = [key for key in self.flow(keys).order if self.sources(key) == ([], None)]
        values = (self.graph(graph).values[index] for graph, index in ends)
        return all(value.parameter is not None or (value.is_leaf and value.requires_grad) for value in values)

    def behind(self, key: Key) -> frozenset[int]:
        """The parameters that a value was computed from with a graph, by id."""
        return self.reach([key]).parameters

    def reach(
        self,
        roots: Iterable[Key],
        without: frozenset[str] | set[str] = frozenset(),
        stop: Collection[Key] = (),
    ) -> Reach:
        """What a backward from these values visits, not going past nodes named in `without` nor
        those in `stop`."""
        asked = frozenset(roots), frozenset(without & self.trace.node_names), frozenset(stop)
        found = self._asked.get(asked)
        if found is None:
            found = self._visited(*asked)
            if self._kept < KEPT:  # a run may have thousands of passes, each through all of its model
                self._kept += len(found.nodes)
                self._asked[asked] = found
        return found

    def _visited(self, roots: frozenset[Key], without: frozenset[str], stop: frozenset[Key]) -> Reach:
        walk = _Walk(without, stop)
        values, seen = list(roots), set(roots)
        while values:
            key = values.pop()
            graph = self.graph(key[0])
            if key[1] >= len(graph.values):
                walk.complete = False
                continue
            value = graph.values[key[1]]
            further: list[Key] = []
            if value.is_leaf:
                walk.leaves.add(key)
            elif value.node is not None:
                further = walk.through(graph, value.node, self._carried_in(graph))
            elif value.origin is not None:
                further = [value.origin]
            elif value.requires_grad:
                walk.complete = False
            values += [one for one in further if one not in seen]
            seen.update(further)
        parameters = walk.parameters | self.parameters_in(walk.leaves)
        nodes = frozenset((number, node) for number, some in walk.nodes.items() for node in some)
        return Reach(nodes, frozenset(parameters), frozenset(walk.leaves), walk.complete)

    @cached_property
    def reached(self) -> Reach:
        """What all backward passes of the run visit; not complete where all of a line's were slept through."""
        found = self.reach(self.roots)
        return replace(found, complete=False) if self.unseen else found

    @cached_property
    def unseen(self) -> set[tuple[str, int]]:
        """The lines all of whose passes were slept through: nothing is known of what these visit."""
        looked = {event.site.user.location() for event in self.backwards}
        return {event.site.user.location() for event in self._passes} - looked

    # -- parameters ------------------------------------------------------------------

    def seen(self, ids: list[int], otherwise: str) -> str:
        """What was measured of parameters that get no gradient in these passes; `otherwise`: where they
        never got one."""
        return otherwise if self.stop is None else self.stop.seen(self.trace, ids)

    def passes_beside(self, parameters: Iterable[Parameter]) -> int:
        """How many passes went into what their optimizers hold: those into another model say nothing of this one.
        Where none did, all of the run: which of them should have is not known here."""
        held = {number for p in parameters for number in p.optimizers}
        beside = [p.passes for p in self.parameters.values() if not held.isdisjoint(p.optimizers)]
        return max(beside, default=0) or self.passes

    def stepped(self, parameter: Parameter) -> bool:
        return any(number in self.stepping for number in parameter.optimizers)

    def has_gradient(self, parameter: Parameter) -> bool:
        """Whether a gradient was ever computed for it."""
        return bool(how_received(self.trace, parameter))

    def memory(self, graph: int, value: int) -> int:
        """The first value whose memory this one shares (`p` for `p.data`)."""
        values, ops = self.graph(graph).values, self.graph(graph).ops
        way: list[Key] = []
        while (graph, value) not in self._memory_of and len(way) < len(values):
            way.append((graph, value))
            base = values[value].alias_of
            if base is None:
                op = ops[made] if (made := values[value].op) is not None else None
                if op is None or value not in op.written:
                    break
                base = op.writes[op.written.index(value)]
            value = base
        first = self._memory_of.get((graph, value), value)
        self._memory_of.update(dict.fromkeys(way, first))
        return first

    @cached_property
    def frozen(self) -> set[int]:
        """Parameters that the program made not to require a gradient, and left so, while it still trained: a step of
        their own optimizer came afterwards, or a pass where they have none."""
        found: set[int] = set()
        waiting: set[int] = set()
        for _, event in in_order(self.trace):
            if isinstance(event, RequiresGrad) and event.graph >= 0:
                parameter = self.parameter_of((event.graph, event.value))
                if parameter is not None:
                    found.discard(parameter.id)
                    (waiting.discard if event.to else waiting.add)(parameter.id)
            elif waiting and isinstance(event, Backward | Step):
                now = {id for id in waiting if self._still_trained(self.parameters[id], event)}
                found |= now
                waiting -= now
        return found

    @staticmethod
    def _still_trained(parameter: Parameter, event: Backward | Step) -> bool:
        if isinstance(event, Step):
            return event.optimizer in parameter.optimizers
        return not parameter.optimizers

    def required(self, key: Key) -> Site | None:
        """Where the program made this value require a gradient."""
        events = [e for e in self._set if (e.graph, e.value) == key and e.to]
        return events[0].site if events else None

    def uses(self, parameter: int) -> list[Op]:
        """The ops that read it on the way to a loss."""
        return [
            op
            for key in self.feeding.get(parameter, ())
            for _, op in self.used.feeds.get(key, ())
            if op is not None and key[1] not in op.writes
        ]

    def resting(self) -> list[Parameter]:
        """Parameters without a gradient that only optimizers hold which never step, while another does."""
        return [p for p in (self.silent() if self.stepping else ()) if p.optimizers and not self.stepped(p)]

    def silent(self) -> list[Parameter]:
        """Those that require a gradient and never got one, nor were on the way of a pass that raised."""
        return [
            p
            for p in self.parameters.values()
            if p.requires_grad and p.id not in self.frozen | self.unfinished and not self.has_gradient(p)
        ]

    @cached_property
    def unfinished(self) -> frozenset[int]:
        """Parameters that a pass was on its way to when it raised."""
        return frozenset(id for event in self.trace.of(ErrorRaised) for id in self.on_the_way(event))

    def on_the_way(self, event: ErrorRaised) -> frozenset[int]:
        """Parameters that lie behind the roots of a pass that raised."""
        roots = event.roots if event.where == "backward" else ()
        return self.reach((event.graph, root) for root in roots).parameters

    @cached_property
    def mistaken(self) -> dict[int, tuple[int, Backward]]:
        """Optimizers that were called where another one was meant: (that one, its pass). Not those of which
        something feeds a loss and never gets a gradient: it is lost on the way."""
        lost = {number for p in self.silent() if p.id in self.feeding for number in p.optimizers}
        return {number: found for number, found in mistaken(self.trace).items() if number not in lost}

    def expected(self) -> list[Parameter]:
        """Parameters that should train and never got a gradient: those of an optimizer that
        steps, or without any optimizer those of a module of which others got one."""
        if self.stop is not None:
            still = frozen(self.trace, self.stop)
            return [self.parameters[id] for id in self.stop.parameters if id not in still]
        silent = self.silent()
        if self.stepping:
            aside = tried_out(self.trace) | self.mistaken.keys()
            return [p for p in silent if self.stepped(p) and not aside.issuperset(p.optimizers)]
        return [p for p in silent if p.registered]


@once
def paths(trace: Trace) -> Paths:
    """The paths of `trace`, found once."""
    return Paths(trace)


@once
def late_paths(trace: Trace) -> list[Paths]:
    """The paths from each place on where gradients stopped in the middle of the run."""
    return [Paths(trace, stop) for stop in stops(trace)]


def _since(trace: Trace, index: int) -> list[Backward]:
    """The passes of the segments from this one on."""
    later = {(s.events, s.graph) for s in trace.segments if s.index >= index}
    lists = {s.index: (s.events, s.graph) for s in trace.segments}
    return [event for event in trace.of(Backward) if lists[event.segment] in later]


def passes(count: int) -> str:
    return plural(count, "backward pass")
