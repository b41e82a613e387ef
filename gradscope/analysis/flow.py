"""Several stored graphs as one flow of data and of gradients.

Values that live on from one segment into the next (`Value.origin`), and parameters,
are one value here. Indices of this module count within the Flow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat

from gradscope.analysis.names import names_of
from gradscope.analysis.reach import Key, paths
from gradscope.events import Backward, ErrorRaised, Rooted
from gradscope.model import Event, Graph, Node, Op, Parameter, Site, Value
from gradscope.store import Trace


@dataclass
class Flow:
    """Ops in program order with joined values and grad nodes."""

    trace: Trace
    ops: list[Op] = field(default_factory=list)
    inputs: list[tuple[int, ...]] = field(default_factory=list)
    outputs: list[tuple[int, ...]] = field(default_factory=list)  # new values: returned and written
    values: list[Value] = field(default_factory=list)
    graph_of: list[Graph] = field(default_factory=list)  # per value
    parameter_of: dict[int, int] = field(default_factory=dict)  # value → parameter id
    maker: list[int | None] = field(default_factory=list)  # per value: its op
    value_node: list[int | None] = field(default_factory=list)  # per value: its grad node
    nodes: list[Node] = field(default_factory=list)
    node_op: list[int | None] = field(default_factory=list)
    edges: list[list[int]] = field(default_factory=list)  # per node: targets
    leaf_of: dict[int, int] = field(default_factory=dict)  # AccumulateGrad → its leaf's value
    joined: dict[tuple[int, int], int] = field(default_factory=dict)  # (graph, value) → value
    joined_nodes: dict[tuple[int, int], int] = field(default_factory=dict)
    taken_over: dict[int, list[Key]] = field(default_factory=dict)  # value → the same in later graphs
    earlier: frozenset[int] = frozenset()  # ops of which only the results belong here: other passes ran them
    sources: frozenset[int] = frozenset()  # graphs that only those come from
    times: Mapping[int, int] = field(default_factory=dict)  # graph → how often it ran, where that is known
    origins: Mapping[Key, Key] = field(
        default_factory=dict
    )  # (graph, value) → where it came from, as for `join`

    # -- names -------------------------------------------------------------------

    def name(self, value: int) -> str | None:
        """What the user calls a value: where it was made, else where another graph takes it over."""
        names = names_of(self.trace)
        graph, shown = self.graph_of[value], self.values[value]
        name = (names.made_as(graph, shown) if shown.kind == "input" else None) or names.name(
            graph, shown.index
        )
        if name is None:
            later = (names.name(self.trace.graph(id), at) for id, at in self.taken_over.get(value, ()))
            name = next((name for name in later if name is not None), None)
        return name

    def parameter(self, value: int) -> Parameter | None:
        """The parameter's record of the whole run, where the value is one."""
        id = self.parameter_of.get(value)
        return self._parameters.get(id) if id is not None else None

    @cached_property
    def _parameters(self) -> dict[int, Parameter]:
        return {p.id: p for p in self.trace.parameters}

    @cached_property
    def leaf_bit(self) -> dict[int, int]:
        """Trainable leaves, numbered."""
        return {
            v: k for k, v in enumerate(i for i, v in enumerate(self.values) if v.is_leaf and v.requires_grad)
        }

    # -- directions ----------------------------------------------------------------

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        """Value → ops that read it."""
        found: dict[int, list[int]] = {}
        for op, inputs in enumerate(self.inputs):
            for value in dict.fromkeys(inputs):
                found.setdefault(value, []).append(op)
        return found

    @cached_property
    def callers(self) -> list[tuple[tuple[str, int], ...]]:
        """The program's own lines (file, line) that led to each op, outermost first; a recursion only once. Without
        the outermost ones that led to all of them, such as `main()`."""
        found = [_callers(op.site) for op in self.ops]
        shared = _led_to_all(found)
        return [lines[shared:] for lines in found]

    @cached_property
    def events(self) -> list[Event]:
        """Events of the joined graphs."""
        ids = {graph for graph, _ in self.joined} - self.sources
        return [event for event in self.trace.events if event.graph in ids]

    @cached_property
    def backwards(self) -> list[Rooted]:
        """Backward passes, also those that torch refused."""
        return [
            e
            for e in self.events
            if isinstance(e, Backward) or (isinstance(e, ErrorRaised) and e.where == "backward")
        ]

    @cached_property
    def roots(self) -> dict[int, Rooted]:
        """Values a backward pass started from."""
        found: dict[int, Rooted] = {}
        for event in self.backwards:
            for value in event.roots if isinstance(event, Backward) else event.inputs:
                if (at := self.joined.get((event.graph, value))) is not None:
                    found.setdefault(at, event)
        return found

    @cached_property
    def root_nodes(self) -> list[int]:
        """Grad nodes that backward passes started from."""
        found = [n for v in self.roots if (n := self.value_node[v]) is not None]
        return list(dict.fromkeys(found))

    @cached_property
    def reached(self) -> set[int]:
        """Grad nodes that a backward pass visits."""
        return set(self.before)

    @cached_property
    def before(self) -> dict[int, int | None]:
        """Each grad node that a backward pass visits → the one before it on a shortest way."""
        return self.paths(self.root_nodes)

    @cached_property
    def lines(self) -> list[tuple[str, int]]:
        """The program's own line that each op stands at (file, line)."""
        return [op.site.user.location() for op in self.ops]

    def paths(self, starts: list[int]) -> dict[int, int | None]:
        """Every node reachable from `starts` → the node before it on a shortest way."""
        before: dict[int, int | None] = dict.fromkeys(starts)
        todo = list(before)
        for node in todo:  # grows while it is walked: breadth first
            for target in self.edges[node]:
                if target not in before:
                    before[target] = node
                    todo.append(target)
        return before

    @cached_property
    def reached_leaves(self) -> set[int]:
        """Leaves that a backward pass visits."""
        return {leaf for node, leaf in self.leaf_of.items() if node in self.reached}

    @cached_property
    def feeds_root(self) -> set[int]:
        """Values that a root of a backward pass was computed from, cut or not."""
        return self.upstream(list(self.roots))

    def upstream(self, starts: list[int]) -> set[int]:
        seen = set(starts)
        todo = list(seen)
        while todo:
            maker = self.maker[todo.pop()]
            for source in self.inputs[maker] if maker is not None else ():
                if source not in seen:
                    seen.add(source)
                    todo.append(source)
        return seen

    def only(self, ops: list[int]) -> Flow:
        """The flow with none but these ops, which hold the makers of all that they read."""
        place: dict[int | None, int] = {op: at for at, op in enumerate(ops)}
        return replace(
            self,
            ops=[self.ops[op] for op in ops],
            inputs=[self.inputs[op] for op in ops],
            outputs=[self.outputs[op] for op in ops],
            maker=[place.get(op) for op in self.maker],
            node_op=[place.get(op) for op in self.node_op],
            earlier=frozenset(place[op] for op in self.earlier if op in place),
        )

    def base(self, value: int) -> int:
        """The value whose memory this one shares in the end."""
        seen = {value}
        while (alias := self.values[value].alias_of) is not None:
            value = self.joined.get((self.graph_of[value].id, alias), value)
            if value in seen:
                break
            seen.add(value)
        return value


def join(
    trace: Trace,
    graphs: list[int],
    everything: bool = False,
    earlier: Mapping[int, set[int]] | None = None,
    origins: Mapping[Key, Key] | None = None,
) -> Flow:
    """The stored graphs with these ids as one Flow. Unless `everything` is asked for, of
    graphs that built no grad nodes (data being prepared) only what modules made of the
    others' inputs is taken, where there are others. earlier: graph → the ops of it, in the order of the run,
    that made what these graphs take over from passes before. origins: (graph, value) → where it came from in this step,
    where that is not the step that the graph was stored of."""
    before = earlier or {}
    moved = origins or {}
    flow = Flow(trace, sources=frozenset(before), origins=moved)
    built = set() if everything else set(trace.graphs_with_nodes) & set(graphs)
    wanted = {**_wanted(trace, graphs, built, moved), **before}
    rooted = {event.graph for event in trace.of(Backward, ErrorRaised)}
    shared: dict[int, int] = {}
    once: dict[Key, int] = {}
    for id in (*before, *graphs):
        graph = trace.graph(id)
        whole = id in built or not (built or id in before)
        ops = graph.ops if whole else [graph.ops[at] for at in sorted(wanted.get(id, ()))]
        if not ops and id not in rooted:  # a pass may start from what a step before it made
            continue
        index = {op.index: at for at, op in enumerate(ops, len(flow.ops))}
        flow.ops += ops
        values = _join_values(flow, graph, index, shared, once)
        _join_nodes(flow, graph, index, values)
        for op in ops:
            flow.inputs.append(tuple([values[v] for v in op.inputs]))
            made = op.outputs if not op.written else tuple(dict.fromkeys((*op.outputs, *op.written)))
            flow.outputs.append(tuple([values[v] for v in made if graph.values[v].op == op.index]))
        if id in before:
            flow.earlier |= frozenset(index.values())
    return flow


def _wanted(
    trace: Trace, graphs: list[int], built: set[int], moved: Mapping[Key, Key]
) -> dict[int, set[int]]:
    """Per graph without grad nodes: its ops in and after modules or regions, and in calls that go on to build a
    graph, that later graphs depend on; not what prepares the data."""
    found: dict[int, set[int]] = {}
    needed: dict[int, list[int]] = {}
    shown_in: dict[int, set[int | None]] = {}
    calling = _Calling(trace, built)
    for id in graphs if built else []:
        if id not in built:
            shown_in[id] = _shown(trace, id, shown_in, moved, calling)
    for id in reversed(graphs if built else []):
        graph = trace.graph(id)
        todo = needed.get(id, [])
        shown = shown_in.get(id, set())
        ops = found.setdefault(id, set())
        for index in todo:  # grows while it is walked
            maker = graph.values[index].op if index < len(graph.values) else None
            if maker is None or maker not in shown or maker in ops:
                continue
            if initial(graph, index) is None and not _trained(graph.values[index]):
                ops.add(maker)
                todo.extend(graph.ops[maker].inputs)
        for value in graph.values:
            origin = origin_of(id, value, moved) if value.parameter is None else None
            if origin is not None and (id in built or value.index in todo):
                needed.setdefault(origin[0], []).append(origin[1])
    return found


def made_at(trace: Trace, key: Key, moved: Mapping[Key, Key]) -> Key | None:
    """The same value in the graph that made it; None where no graph did. moved: as `origins` of `join`."""
    seen: set[Key] = set()
    while key not in seen:
        seen.add(key)
        value = trace.graph(key[0]).values[key[1]]
        if value.op is not None:
            return key
        origin = origin_of(key[0], value, moved)
        if origin is None or value.parameter is not None:
            return None
        key = origin
    return None


def origin_of(graph: int, value: Value, moved: Mapping[Key, Key]) -> Key | None:
    """Where a value of a graph came from, if that did not make it. moved: as `origins` of `join`."""
    return moved.get((graph, value.index), value.origin) if value.op is None else None


def _before(graph: Graph, index: int) -> int | None:
    """The value that an in-place write turned into this one."""
    op = graph.maker(index)
    return dict(zip(op.written, op.writes, strict=False)).get(index) if op is not None else None


def initial(graph: Graph, index: int) -> int | None:
    """The parameter that a value is after in-place writes (its initialisation)."""
    before = _before(graph, index)
    while before is not None and before != index:
        index, before = before, _before(graph, before)
    return index if graph.values[index].parameter is not None else None


def _trained(value: Value) -> bool:
    """Whether a value is where a graph begins, however it was made."""
    return value.is_leaf and value.requires_grad


def _callers(site: Site) -> tuple[tuple[str, int], ...]:
    """The program's own lines that led to a call, outermost first; a recursion only once."""
    frames = [frame for frame in site.stack if frame.kind == site.user.kind]
    return tuple(dict.fromkeys(frame.location() for frame in frames))


def _led_to_all(found: Sequence[tuple[tuple[str, int], ...]]) -> int:
    """How many lines, from the outermost on, led to all of these calls."""
    shared = 0
    while found and all(len(lines) > shared + 1 and lines[shared] == found[0][shared] for lines in found):
        shared += 1
    return shared


class _Calling:
    """The lines that call, or are, what builds the graphs with these ids, below those that led to all of it."""

    def __init__(self, trace: Trace, built: Iterable[int]):
        ways = list({op.site.id: _callers(op.site) for id in built for op in trace.graph(id).ops}.values())
        self._above = ways[0][: _led_to_all(ways)] if ways else ()
        self._lines = {lines[len(self._above)] for lines in ways}

    def __contains__(self, site: Site) -> bool:
        lines, above = _callers(site), len(self._above)
        return lines[:above] == self._above and len(lines) > above and lines[above] in self._lines


def _shown(
    trace: Trace, id: int, before: Mapping[int, set[int | None]], moved: Mapping[Key, Key], calling: _Calling
) -> set[int | None]:
    """Ops in a module or a region, or in a call that builds a graph, those that cut one, and what is computed from
    their results, or from those of the graphs before."""
    graph = trace.graph(id)
    found: set[int | None] = set()

    def is_shown(value: Value) -> bool:
        if value.op is not None:
            return value.op in found
        origin = origin_of(id, value, moved) if value.parameter is None else None
        if origin is None:
            return False
        maker = trace.graph(origin[0]).values[origin[1]].op
        return maker is not None and maker in before.get(origin[0], ())

    for op in graph.ops:
        inside = op.module is not None or op.region is not None or op.cut is not None
        if inside or op.site in calling or any(is_shown(graph.values[v]) for v in op.inputs):
            found.add(op.index)
    return found


def _join_values(
    flow: Flow, graph: Graph, ops: dict[int, int], shared: dict[int, int], once: dict[Key, int]
) -> list[int]:
    """Takes in the values of a graph; returns which each of them is in the flow. ops: those that are taken in, by
    their places in the flow. shared: by parameter, once: by what made them, where that ran once in the run."""
    later = paths(flow.trace).asked_later
    places: list[int] = []
    for value in graph.values:
        at = None
        origin = origin_of(graph.id, value, flow.origins)
        made: Key | None = None
        if origin is not None and origin[0] != graph.id:
            source = flow.trace.graph(origin[0])
            if value.parameter is None or _before(source, origin[1]) is None:
                at = flow.joined.get(origin)
            made = (
                made_at(flow.trace, origin, flow.origins) if at is None and value.parameter is None else None
            )
            if made is not None and flow.trace.graph(made[0]).count > 1:
                made = None  # each run of it made another one
            at = once.get(made) if made is not None else at
        elif value.op is not None and value.op not in ops:
            before = _before(graph, value.index)  # a write that is left out makes no new value
            at = places[before] if before is not None and before < value.index else None
        if at is None and value.op is None and value.parameter is not None:
            at = shared.get(value.parameter)
        if at is None:
            at = len(flow.values)
            flow.values.append(value)
            flow.graph_of.append(graph)
            flow.maker.append(ops.get(value.op) if value.op is not None else None)
            flow.value_node.append(None)
            if made is not None:
                once[made] = at
        elif flow.graph_of[at] is not graph:
            if value.kind == "buffer" and flow.maker[at] is None:
                flow.values[at], flow.graph_of[at] = (
                    value,
                    graph,
                )  # what made it is left out: it is what it is here
            elif flow.graph_of[at].id in flow.sources and graph.id not in flow.sources:
                # Frozen or not is what it is in these graphs, not in those that only gave them values.
                flow.values[at] = flow.values[at]._replace(requires_grad=value.requires_grad)
            flow.taken_over.setdefault(at, []).append((graph.id, value.index))
        id = later.get((graph.id, value.index), value.parameter) if later else value.parameter
        if id is not None:
            flow.parameter_of.setdefault(at, id)
        if value.parameter is not None and value.op is None:
            shared.setdefault(value.parameter, at)
        places.append(at)
    flow.joined.update(zip(zip(repeat(graph.id), range(len(places))), places, strict=False))
    return places


def _join_nodes(flow: Flow, graph: Graph, ops: dict[int, int], values: list[int]) -> None:
    """The same for the nodes. values: which each value of the graph is in the flow."""
    known_leaf = {leaf: node for node, leaf in flow.leaf_of.items()}
    owner = {value.node: value.index for value in graph.values if value.node is not None}
    places: list[int] = []
    for node in graph.nodes:
        at = None
        if node.leaf is not None:
            at = known_leaf.get(values[node.leaf])
        elif node.op is None and node.index in owner:
            at = flow.value_node[values[owner[node.index]]]
        if at is None:
            at = len(flow.nodes)
            flow.nodes.append(node)
            flow.node_op.append(ops.get(node.op) if node.op is not None else None)
            flow.edges.append([])
            if node.leaf is not None:
                flow.leaf_of[at] = values[node.leaf]
        places.append(at)
    for node, at in zip(graph.nodes, places, strict=True):
        targets = flow.edges[at]
        for edge in node.edges:
            if (target := places[edge.target]) not in targets:
                targets.append(target)
    for value, at in zip(graph.values, values, strict=True):
        if value.node is not None and flow.value_node[at] is None:
            flow.value_node[at] = places[value.node]
    flow.joined_nodes.update(zip(zip(repeat(graph.id), range(len(places))), places, strict=False))
