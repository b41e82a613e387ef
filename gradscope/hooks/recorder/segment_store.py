"""Segments on their way into the trace: each distinct graph and each distinct list of events once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from time import perf_counter
from typing import Any, NamedTuple

from gradscope.hooks.recorder.families import Families, Family
from gradscope.hooks.recorder.learn import EARLIER, INPUT, INTERNAL, LEAF, OUTSIDE, Template
from gradscope.hooks.recorder.segments import Row, Segment
from gradscope.hooks.recorder.sites import SiteTree
from gradscope.hooks.recorder.values import Metas
from gradscope.store import TraceWriter, left_out, pack, pack_numbers

MAX_STORED_GRAPHS = 500  # a program whose every step is another graph fills no disk
MAX_STORED_LISTS = 2_000  # of events, where others are like them; and as many that nothing is like

MAX_TAKEN = 50  # times that it is told of a graph where its inputs came from

MAX_VARIANTS = 3  # stored of a family, where sampling may take one for another


class Variant(NamedTuple):
    """A stored member of a family."""

    size: int  # ops
    form: int  # hash of its calls and what each reads: values of equal forms have equal numbers
    graph: int | None
    events: int | None


class SegmentStore:
    """Turns segments into rows."""

    def __init__(
        self,
        writer: TraceWriter,
        metas: Metas,
        templates: list[Template],
        sites: SiteTree,
        before_commit: Callable[[], None],
    ):
        self.writer = writer
        self.before_commit = before_commit
        self.metas = metas
        self.templates = templates
        self.families = Families(metas, templates, sites)
        self.variants: dict[tuple[Family, bool], list[Variant]] = {}
        self.sample = True  # variants of a family that are stored already stand for others
        self.graphs: dict[tuple[int, int], int] = {}
        self.event_lists: dict[int, int] = {}
        self.lists_like: dict[
            int | None, int
        ] = {}  # hash of events, whatever leaves they chose → the last such list
        # Each given once, and known only when written: another thread's exception may end any line.
        self._graph_numbers, self._list_numbers = count(1), count(1)
        self.distinct: set[int] = set()
        self.graph_of: dict[int, int] = {}  # recent segment serial → graph id
        # Graph → its values from elsewhere, other than parameters: where they came from the last time that was known.
        self.taken: dict[int, dict[int, tuple[int, int]]] = {}
        self.told: dict[int, int] = {}  # graph → how often that was told
        self.rows = 0
        self.stored = 0
        self.last: list[Any] | None = None  # the segment row that may still be repeated
        self.began = perf_counter()

    def store(self, segment: Segment, is_step: bool) -> bool:
        """Writes what is new of `segment`. Returns whether nothing was new, but for how often a part
        of it repeats."""
        carried = () if segment.ops else self._carried(segment)
        key = None
        if segment.looked and (segment.ops or carried):
            key = (segment.hash, len(segment.ops)) if segment.ops else (hash(carried), 0)
        ekey = hash(tuple(segment.events)) if segment.events else None
        same = True
        like: int | None = None
        form = 0
        stands: Variant | None = None
        if (key is not None and key not in self.graphs) or (
            ekey is not None and ekey not in self.event_lists
        ):
            family, same, like = self.families.of(segment)
            if self.sample and key is not None and segment.ops:
                form = _form(segment)
                variants = self.variants.setdefault((family, is_step), [])
                if len(variants) >= MAX_VARIANTS:
                    size = len(segment.ops)
                    stands = min(variants, key=lambda one: (one.form != form, abs(one.size - size)))
                else:
                    stored = self._graph(key, segment), self._events(ekey, segment, like)
                    variants.append(Variant(len(segment.ops), form, *stored))
        if stands is not None:
            graph, events = stands.graph, stands.events
        else:
            graph, events = self._graph(key, segment), self._events(ekey, segment, like)
        moved: dict[int, tuple[int, int]] = {}
        if graph is not None and (stands is None or stands.form == form):
            moved = self._moved(graph, segment, carried or self._carried(segment))
            self.graph_of[segment.serial] = graph
        if len(self.graph_of) > 256:
            del self.graph_of[next(iter(self.graph_of))]
        if moved and is_step:
            self.divide()
        rows = self.rows
        self._row(graph, events, is_step, segment.started, perf_counter() - segment.started)
        if moved and graph is not None and self.rows > rows:  # else a round after others that are one row
            self.taken[graph] = moved
            self.told[graph] = self.told.get(graph, 0) + 1
            self.writer.add("taken", graph, self.rows, pack(list(moved.items())))
        return same

    def _moved(
        self, graph: int, segment: Segment, carried: tuple[tuple[int, tuple[int, int]], ...]
    ) -> dict[int, tuple[int, int]]:
        """Where the values of a segment come from, if that is elsewhere than when its graph ran before."""
        known = self.taken.get(graph)
        if known is not None and self.told.get(graph, 0) >= MAX_TAKEN:
            return {}
        now = {index: self._source(at) for index, at in carried if segment.externals[index].parameter is None}
        if known is None:
            self.taken[graph] = now
            return {}
        return {} if all(known.get(index) == at for index, at in now.items()) else {**known, **now}

    def _source(self, at: tuple[int, int]) -> tuple[int, int]:
        """The same value in the graph that made it, as far as that is known."""
        seen = set()
        while at not in seen and (before := self.taken.get(at[0], {}).get(at[1])) is not None:
            seen.add(at)
            at = before
        return at

    def _graph(self, key: tuple[int, int] | None, segment: Segment) -> int | None:
        """The graph of a segment, written where it is new and there are not too many."""
        if key is None:
            return None
        graph = self.graphs.get(key)
        if graph is None:
            graph = next(self._graph_numbers)
            if segment.nodes:
                self.distinct.add(self._structure(segment))
            if graph <= MAX_STORED_GRAPHS:
                self._write_graph(graph, segment)
            self.graphs[key] = graph
        return graph if graph <= MAX_STORED_GRAPHS else None

    def _events(self, key: int | None, segment: Segment, like: int | None) -> int | None:
        """The list of events of a segment, written where it is new; where there are too many, one that differs
        in no more than the leaves that were chosen (`like`: see `Sight.events`) stands for it."""
        if key is None:
            return None
        events = self.event_lists.get(key)
        if events is not None:
            return events
        if len(self.event_lists) >= MAX_STORED_LISTS and (
            like in self.lists_like or len(self.lists_like) >= MAX_STORED_LISTS
        ):
            return self.lists_like.get(like)
        events = next(self._list_numbers)
        self.writer.add_all(
            "event",
            (
                (events, i, kind, site or None, position, pack({**_thaw(data), **extra}))
                for i, ((kind, site, position, data), extra) in enumerate(
                    zip(segment.events, segment.volatile, strict=True)
                )
            ),
        )
        if like is not None:
            self.lists_like[like] = events
        self.event_lists[key] = events
        return events

    def _carried(self, segment: Segment) -> tuple[tuple[int, tuple[int, int]], ...]:
        """The values that a segment has from earlier graphs: of one without ops, what its passes start from."""
        return tuple(
            (index, (graph, external.origin[1]))
            for index, external in segment.externals.items()
            if external.origin is not None and (graph := self.graph_of.get(external.origin[0])) is not None
        )

    def repeat(self, cycle: tuple[tuple[Any, ...], ...], count: int, seconds: float) -> None:
        """Writes `count` segments that only had these events, in turn; a step closed each."""
        began = perf_counter() - seconds
        share = seconds / count
        alike = count if len(cycle) == 1 else 1
        for done in range(0, count, alike):
            events = self.event_lists.get(hash(cycle[done % len(cycle)]))
            self._row(None, events, True, began + done * share, alike * share, alike)

    def _structure(self, segment: Segment) -> int:
        """Hash of the autograd graph alone: what was built where, without what it was fed."""
        built = [
            (row.template, row.site, tuple(v for v in row.ins if segment.makers[v] >= 0))
            for row in segment.ops
            if self.templates[row.template].nodes
        ]
        return hash(tuple(built))

    def _row(
        self,
        graph: int | None,
        events: int | None,
        is_step: bool,
        started: float,
        duration: float,
        times: int = 1,
    ) -> None:
        self.stored += times
        last = self.last
        if last is not None and last[1] == graph and last[2] == events and last[5] == is_step:
            last[4] += duration
            last[6] += times
        else:
            if last is not None:
                self.writer.add("segment", *last)
            self.rows += 1
            last = self.last = [
                self.rows, graph, events, started - self.began, duration, is_step, times,
            ]  # fmt: skip
        if self.writer.due() or self.stored < 8:
            self.flush()

    def divide(self) -> int:
        """Keeps what came before apart from what comes. Gives the number of the next row."""
        if self.last is not None:
            self.writer.add("segment", *self.last)
            self.last = None
        return self.rows + 1

    def flush(self) -> None:
        if self.last is not None:
            self.writer.add("segment", *self.last)
        self.before_commit()
        self.writer.commit()

    def _write_graph(self, graph: int, segment: Segment) -> None:
        rows = GraphRows(graph, segment, self.metas, self.templates, self.graph_of)
        writer = self.writer
        writer.add_all("op", rows.ops)
        writer.add_all("value", rows.values)
        writer.add_all("node", rows.nodes)
        writer.add("graph", graph, len(rows.ops), len(rows.nodes))  # last: Ctrl-C leaves a whole one or none


def _form(segment: Segment) -> int:
    return hash(tuple([(row.template, row.site, row.ins) for row in segment.ops]))


class GraphRows:
    """Expands the templates of a segment into op, value and node rows."""

    def __init__(
        self, graph: int, segment: Segment, metas: Metas, templates: list[Template], graph_of: dict[int, int]
    ):
        self.graph = graph
        self.segment = segment
        self.ops: list[tuple[Any, ...]] = []
        self.values: list[tuple[Any, ...]] = []
        self.nodes: list[tuple[Any, ...]] = []
        self._value_node: dict[int, int] = {}
        self._leaf_node: dict[int, int] = {}
        self._op_nodes: list[int] = []  # op → index of its first node
        self._outside: dict[int, int] = {}
        self._before: dict[int, int] = {}  # value → the one before a write that built no node
        alias: dict[int, tuple[int, bool]] = {}
        position: dict[int, int] = {}
        for index, row in enumerate(segment.ops):
            template = templates[row.template]
            base = self._reserve(index, row, template)
            fresh = [v for v in dict.fromkeys(row.outs + row.written) if segment.makers[v] == index]
            before = {v: row.ins[i] for v, i in zip(row.written, template.writes, strict=True)}
            for place, value in enumerate(fresh):
                position[value] = place
                if place < len(template.outputs) and template.outputs[place] >= 0:
                    self._value_node[value] = base + template.outputs[place]
                elif value in before:
                    self._keep_node(value, before[value], template, metas)
                elif place < len(template.outputs) and template.outputs[place] == -1:
                    self._pass_on(value, row, template, place, metas)
                if place < len(template.alias) and (source := template.alias[place]) is not None:
                    alias[value] = (row.ins[source[0]], source[1])
            writes = tuple(row.ins[i] for i in template.writes)
            self.ops.append(
                (
                    graph, index, template.name, row.site, row.module if row.module >= 0 else None,
                    row.region if row.region >= 0 else None, pack_numbers(row.ins), pack_numbers(row.outs),
                    pack_numbers(range(base, base + len(template.nodes))), template.cut,
                    pack_numbers(writes) if writes else None, pack_numbers(row.written) if row.written else None,
                    template.extra or None,
                )
            )  # fmt: skip
        for value, meta in enumerate(segment.metas):
            self._value_row(value, metas, meta, alias, position, graph_of)
        self.nodes.sort(key=lambda row: row[1])

    def _keep_node(self, value: int, before: int, template: Template, metas: Metas) -> None:
        """Written without a new node (in no_grad, or `dropout(x, p=0, inplace=True)`): the old one stays."""
        if template.cut is None and metas.table[self.segment.metas[before]].requires_grad:
            self._before[value] = before
            if before in self._value_node:
                self._value_node[value] = self._value_node[before]

    def _pass_on(self, value: int, row: Row, template: Template, place: int, metas: Metas) -> None:
        """An output without a node of its own carries its input's (`x.to(same)`, `detach_` has none)."""
        if (
            template.cut is None
            and place < len(template.alias)
            and (source := template.alias[place]) is not None
        ):
            node = self._value_node.get(row.ins[source[0]])
            # A view made in no_grad requires a gradient as its base does, and is a leaf of its own.
            if node is not None and not source[1] and not metas.table[self.segment.metas[value]].is_leaf:
                self._value_node[value] = node

    def _reserve(self, index: int, row: Row, template: Template) -> int:
        """Gives the op's nodes their numbers, so that edges may point both ways."""
        targets = []
        for _, _, edges in template.nodes:
            for kind, a, b, _nr in edges:
                if kind == INPUT:
                    targets.append((kind, row.ins[a], 0))
                elif kind == LEAF:
                    targets.append((kind, a, 0))
                elif kind == OUTSIDE:
                    targets.append((kind, a, b))
        for kind, a, _b in targets:
            if kind == OUTSIDE:
                self._outside_node(a)
            else:
                self._node_of(a)
        base = len(self.nodes)
        self._op_nodes.append(base)
        for k, (name, _number, edges) in enumerate(template.nodes):
            resolved = []
            for kind, a, b, input_nr in edges:
                if kind == INTERNAL:
                    target = base + a
                elif kind == INPUT:
                    target = self._node_of(row.ins[a])
                elif kind == EARLIER:
                    target = self._op_nodes[a] + b
                elif kind == OUTSIDE:
                    target = self._outside_node(a)
                else:
                    target = self._node_of(a)
                resolved.append((target, input_nr))
            self.nodes.append((self.graph, base + k, name, index, pack(resolved), row.site, None, None))
        return base

    def _node_of(self, value: int) -> int:
        """The node a gradient of this value flows into; made for leaves and carried graphs."""
        while value in self._before:
            value = self._before[value]
        node = self._value_node.get(value)
        if node is None:
            node = self._leaf_node.get(value)
        if node is None:
            external = self.segment.externals.get(value)
            if external is not None and external.outside is not None:
                node = self._value_node[value] = self._outside_node(external.outside)
                return node
            node = self._leaf_node[value] = len(self.nodes)
            site, parameter = (external.site, external.parameter) if external is not None else (None, None)
            self.nodes.append(
                (self.graph, node, "AccumulateGrad", None, "[]", site or None, value, parameter)
            )
        return node

    def _outside_node(self, number: int) -> int:
        node = self._outside.get(number)
        if node is None:
            node = self._outside[number] = len(self.nodes)
            name, site = self.segment.outside[number]
            self.nodes.append((self.graph, node, name, None, "[]", site or None, None, None))
        return node

    def _value_row(
        self,
        value: int,
        metas: Metas,
        meta: int,
        alias: dict[int, tuple[int, bool]],
        position: dict[int, int],
        graph_of: dict[int, int],
    ) -> None:
        shown = metas.table[meta]
        external = self.segment.externals.get(value)
        maker = self.segment.makers[value]
        origin = None
        if external is not None and external.origin is not None:
            source = graph_of.get(external.origin[0])
            origin = pack((source, external.origin[1])) if source is not None else None
        source_value, hidden = alias.get(value, (None, False))
        node = self._value_node.get(value)
        if node is None and external is not None and external.outside is not None:
            node = self._outside.get(external.outside)  # where a write came before what reads it
        self.values.append(
            (
                self.graph, value, left_out(0, external.kind) if external else "", pack_numbers(shown.shape),
                left_out(1, shown.dtype), left_out(2, shown.device), shown.requires_grad, shown.is_leaf,
                maker if maker >= 0 else None,
                position.get(value, 0), source_value, hidden,
                node, external.parameter if external else None,
                external.module if external else None, origin,
                (external.site if external else self.segment.ops[maker].site) or None,
            )
        )  # fmt: skip


def _thaw_one(data: Any) -> Any:
    if type(data) is tuple:
        kind, items = data
        if kind == "d":
            return {k: _thaw_one(v) for k, v in items}
        return [_thaw_one(v) for v in items]
    return data


def _thaw(data: Any) -> dict[str, Any]:
    found = _thaw_one(data)
    return found if isinstance(found, dict) else {}
