"""Makes the graph of one level from a Flow and its boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

from gradscope.analysis.flow import Flow, made_at
from gradscope.analysis.names import buffer_name, module_title, names_of, op_name
from gradscope.analysis.reach import paths
from gradscope.analysis.words import parameter_name
from gradscope.events import ErrorRaised, ModuleCall
from gradscope.graph._counts import COMPREHENDED, Counts
from gradscope.graph._earlier import source_of
from gradscope.graph._marks import Mark, got_gradient, stopped
from gradscope.graph._owners import Boxes, code_of, frame_at, joined_name, part_title
from gradscope.graph._places import Key
from gradscope.graph._pointed import Codes, Pointed, backward_id
from gradscope.graph.arrows import Graph
from gradscope.graph.attributes import add_edge, add_node, node_data
from gradscope.model import Finding, Op, Site, Value

# Buffers among the arguments of torch's functions, by place.
BUFFERS = {
    "batch_norm": ("", "running_mean", "running_var"),
    "instance_norm": ("", "running_mean", "running_var"),
}
NAMELESS = "a value without a name"
MAX_ENDS = 3  # boxes of a finding's cause that are tied to each of its effect
FACTORIES_OF_DATA = {"rand", "randn", "randint", "stack", "from_numpy", "default_collate"}


@dataclass
class Builder:
    """Builds the graph; `node` and `edge` set every documented attribute."""

    flow: Flow
    boxes: Boxes
    level: str
    marks: dict[int, Mark]  # by op of the flow
    findings: list[Finding]
    graph: Graph = field(default_factory=Graph)

    def __post_init__(self) -> None:
        self.more: dict[
            str, tuple[int, int]
        ] = {}  # box → how often it ran, and in how many of these it is drawn
        self.names = names_of(self.flow.trace)
        self.counts = Counts(self.flow, self.flow.times)
        self.once = Counts(self.flow)
        self.severed = {v for mark in self.marks.values() for v in mark.values}
        self._ids: dict[Key, str] = {}
        self.members: dict[Key, list[int]] = {}
        for op, key in enumerate(self.boxes.keys):
            self.members.setdefault(key, []).append(op)
        self.pointed = Pointed(
            self.flow, self.boxes.keys, self.findings, self.boxes.cluster, self.boxes.callers
        )
        self.model_inputs = {
            self.flow.joined[e.graph, v]
            for e in self.flow.events
            if isinstance(e, ModuleCall)
            for v in e.inputs
            if (e.graph, v) in self.flow.joined
        }
        self.group_first = {i: group[0] for group in self.boxes.groups for i in group}

    def build(self) -> Graph:
        for key, ops in self.members.items():
            self._box(key, ops)
        self._leaves()
        self._flow_edges()
        if self.level == "op":
            self._grad_nodes()
        else:
            self._grad_edges()
        self._alias_edges()
        self._backwards()
        self._places()
        return self.graph

    # -- nodes -------------------------------------------------------------------

    def node(self, id: str, kind: str, label: str, **more: Any) -> str:
        return add_node(self.graph, id, kind, label, **more)

    def _id(self, key: Key) -> str:
        id = self._ids.get(key)
        if id is None:
            id = self._ids[key] = ":".join(map(str, key))
        return id

    def _box(self, key: Key, ops: list[int]) -> None:
        self.node(self._id(key), **self.told(key, ops))

    def told(self, key: Key, ops: list[int]) -> dict[str, Any]:
        """The attributes of a box that these ops belong to."""
        flow = self.flow
        first = flow.ops[ops[0]]
        cuts = [cut for i in ops if (cut := self.marks.get(i)) is not None]
        severs = tuple(dict.fromkeys(name for cut in cuts for name in cut.severs))
        worst = next((cut for cut in cuts if cut.severs), cuts[0] if cuts else None)
        outputs = [v for i in ops for v in flow.outputs[i]]
        inside = set(ops)
        written = list(dict.fromkeys(name for i in ops for name in self._writes(i, inside)))
        writes = [name for name in written if name != NAMELESS] or written
        last = flow.values[outputs[-1]] if outputs else None
        site = worst.site if worst else first.site
        stops, kept = stopped(flow, self.marks, ops) if worst is not None else (False, [])
        form, label, detail = self._describe(key, ops)
        names = {name for v in outputs if (name := flow.name(v)) is not None}
        return node_data(
            kind="cut" if stops and key[0] != "data" else form, form=form, label=label, detail=detail, site=site,
            region=first.region, module=self._module(first.module),
            shape=last.shape if last else None, dtype=last.dtype if last else None,
            trainable=any(flow.values[v].requires_grad for v in outputs), cluster=self.boxes.cluster.get(key, ()),
            writes=writes, count=self._times(key, ops),
            earlier=flow.earlier.issuperset(ops),
            **told_of(self.pointed.boxes.get(key), *(self.pointed.values.get(v) for v in outputs)),
            cut=worst.reason if worst else None, severs=severs,
            kept_from=tuple(dict.fromkeys(name for v in kept if (name := flow.name(v)) is not None)),
            names=names | {self.names.place(first.site.user), op_name(first.name)},
        )  # fmt: skip

    def _describe(self, key: Key, ops: list[int]) -> tuple[str, str, str]:
        """(form, label, second line) of a box."""
        flow = self.flow
        op = flow.ops[ops[0]]
        site = op.site.user
        if key[0] == "op":
            return self._made(ops[0]), self._op_label(ops[0]), self.names.place(site)
        if key[0] == "data":
            return "input", self._data_title(ops), f"{part_title(flow, ops)} · {self.names.place(site)}"
        if key in self.boxes.parts:
            return "op", part_title(flow, ops), self.names.place(site)
        if key[0] == "line":
            site = frame_at(op, *key[1:3])  # type: ignore[arg-type]
            text = code_of(self.names.line(site)) or part_title(flow, ops)
            return (
                "line",
                text,
                f"{self.names.place(site)} in {within}"
                if (within := _function(site))
                else self.names.place(site),
            )
        if key[0] == "module" and op.module is not None:
            id = key[1]
            module = flow.trace.modules[id]  # type: ignore[index]
            return "module", self.boxes.titles[id], module.cls  # type: ignore[index]
        if self.boxes.lines and op.module is None and len(self.whole_lines.get(site.location(), ())) == 1:
            at = {flow.ops[i].site.user.location() for i in ops}
            if len(at) == 1 and (text := code_of(self.names.line(site))):  # all that the line does
                return "line", text, self.names.place(site)
        return "op", part_title(flow, ops), self.names.place(site)

    def _data_title(self, ops: list[int]) -> str:
        """`data`, and what the program calls the results that others read, or else how it writes them."""
        flow = self.flow
        inside = set(ops)
        ways = [v for i in ops for v in flow.outputs[i] if not inside.issuperset(flow.consumers.get(v, ()))]
        for values in (
            ways,
            [v for i in reversed(ops) for v in flow.outputs[i]],
        ):  # else what they are made from
            if named := list(dict.fromkeys(n for v in values if (n := flow.name(v)) is not None)):
                return f"data {', '.join(named[:3])}"
        written = [
            self.names.text(flow.ops[i].site.user) for i in ops if not set(flow.outputs[i]).isdisjoint(ways)
        ]
        return f"data {written[-1]}" if written and written[-1] else "data"

    def _made(self, op: int) -> str:
        """An op without tensor inputs makes data: then it is drawn as that."""
        if self.flow.inputs[op] or not self.flow.outputs[op]:
            return "op"
        value = self.flow.outputs[op][0]
        data = self.flow.values[value].requires_grad or value in self.model_inputs
        return "input" if data or self.flow.ops[op].name in FACTORIES_OF_DATA else "constant"

    def _op_label(self, op: int) -> str:
        named = [n for v in self.flow.outputs[op] if (n := self.flow.name(v)) is not None]
        spoken = op_name(self.flow.ops[op].name)
        if self.flow.ops[op].writes:
            return spoken
        return f"{', '.join(dict.fromkeys(named))} = {spoken}" if named else spoken

    def _writes(self, op: int, inside: set[int]) -> list[str]:
        """What an op writes to, but for the memory of what the ops `inside` have made: that is their own affair."""
        flow, shown = self.flow, self.flow.ops[op]
        written = [flow.joined[shown.graph, v] for v in shown.writes]
        return [self._written_name(v) for v in written if flow.maker[flow.base(v)] not in inside]

    def _written_name(self, value: int) -> str:
        if (name := self.flow.name(value)) is not None:
            return name
        base = self.flow.name(self.flow.base(value))
        return f"the memory of {base}" if base is not None else NAMELESS

    @cached_property
    def whole_lines(self) -> dict[tuple[str, int], set[Key]]:
        """Line → the boxes that hold something of what it did or called."""
        found: dict[tuple[str, int], set[Key]] = {}
        for op, key in zip(self.flow.ops, self.boxes.keys, strict=True):
            for frame in (op.site.user, *(f for f in op.site.stack if f.kind == "user")):
                found.setdefault(frame.location(), set()).add(key)
        return found

    @cached_property
    def round(self) -> Sequence[Hashable]:
        """Of each op: in which round of its box it ran."""
        if self.boxes.run:
            return self.boxes.run
        found: list[Hashable] = [0] * len(self.flow.ops)
        for key, ops in self.members.items():
            if self._count(key, ops, self.once) == 1:
                continue
            by_module: dict[int | None, list[int]] = {}  # of those that are folded
            for op in ops:
                by_module.setdefault(self._called(key, op), []).append(op)
            for module, own in by_module.items():
                calls = self._count(key, own, self.once)
                alike: dict[Hashable, list[int]] = {}
                for op in own:
                    at = self.flow.ops[op]
                    alike.setdefault((self.counts.below(at.site), at.name, at.module), []).append(op)
                for same in alike.values():
                    for number, op in enumerate(same):
                        found[op] = module, number * calls // len(same)
        return found

    def _called(self, key: Key, op: int) -> int | None:
        """The module that a box stands for at this op, or whose code it is."""
        own = self.flow.ops[op].module
        if key[0] != "module" or own is None:
            return own
        chain = [own, *self.counts.around(own)]
        depth = len(self.counts.around(key[1])) if isinstance(key[1], int) else 0
        return chain[max(len(chain) - 1 - depth, 0)]

    def _module(self, id: int | None) -> str | None:
        module = self.flow.trace.modules.get(id) if id is not None else None
        return None if module is None else module_title(self.flow.trace, module)

    def _times(self, key: Key, ops: list[int]) -> int:
        """How often a box ran, with the rounds that prepared data which is not drawn."""
        count = self._count(key, ops, self.counts)
        if any(self.flow.ops[op].nodes for op in ops) or self.flow.earlier.issuperset(ops):
            return count
        calls = {_call(self.flow.ops[op]) for op in ops}
        known = ((self.ran[call], self.drawn[call]) for call in calls)
        ran, drawn = min(
            known, key=lambda often: often[0] / often[1]
        )  # data for a round may be left out alone
        if ran <= drawn:
            return count
        self.more[self._id(key)] = ran, drawn
        return count * ran // drawn

    def _count(self, key: Key, ops: list[int], counts: Counts) -> int:
        """How often a box ran in what is shown."""
        if key[0] == "op":
            return counts.of_ops(ops)
        if key[0] == "module" and (module := self.flow.trace.modules.get(key[1])) is not None:  # type: ignore[call-overload]
            return counts.of_modules(ops, len(counts.around(module.id)))
        called = any(self.flow.ops[op].site.user.location() != key[1:3] for op in ops)
        if key[0] == "line" and (
            called or key in self.boxes.parts
        ):  # it called what they stand at, or others
            return counts.of_ops({self.boxes.run[op]: op for op in ops}.values())
        return counts.of_lines(ops)

    # -- leaves --------------------------------------------------------------------

    def _leaves(self) -> None:
        """Values from outside, equal ones of folded ops as one node."""
        flow = self.flow
        self.leaf_node: dict[int, str] = {}
        self.before: dict[
            str, tuple[int, ...]
        ] = {}  # node of a value from an earlier pass → parameters behind it
        by_use: dict[tuple[Any, ...], list[int]] = {}
        for index, value in enumerate(flow.values):
            if flow.maker[index] is not None:
                continue
            users = flow.consumers.get(index, ())
            if not users and index not in flow.roots:
                continue
            if (source := self._drawn(index)) is not None:
                self.leaf_node[index] = source
                continue
            boxes = {self.boxes.keys[op] for op in users}
            if len(boxes) == 1 and (box := next(iter(boxes)))[0] == "data" and index not in flow.roots:
                self.leaf_node[index] = self._id(box)
                continue
            key = (
                self._uses(index, users),
                value.shape,
                value.dtype,
                value.kind,
                value.requires_grad,
                got_gradient(self.flow, index),
                index in self.severed,
                tuple(self._codes_of(index).effects),
            )
            by_use.setdefault(key, []).append(index)
        for members in by_use.values():
            self._leaf(members)
        self._behind()

    def _drawn(self, index: int) -> str | None:
        """The box of the call that made a value, where the call is drawn for another round of the same code: of
        rounds that are alike one is stored, and data that was prepared before is left out."""
        value = self.flow.values[index]
        if self.level == "op" or value.kind != "input" or value.site is None:
            return None
        known = self.makers.get(_made(value), {})
        if len(known) != 1 or value.site.id in self._read_at(index):
            return None
        ((key, name),) = known.items()
        return self._id(key) if self.flow.name(index) in (None, name) else None

    @cached_property
    def makers(self) -> dict[Hashable, dict[Key, str | None]]:
        """Call and what it gives → its boxes, and what that is called. Of boxes that build no graph."""
        flow = self.flow
        found: dict[Hashable, dict[Key, str | None]] = {}
        for key, ops in self.members.items():
            if not flow.earlier.issuperset(ops) and not any(flow.ops[op].nodes for op in ops):
                for op in ops:
                    for value in flow.outputs[op]:
                        made = _made(flow.values[value], flow.ops[op].site)
                        found.setdefault(made, {})[key] = flow.name(value)
        return found

    @cached_property
    def ran(self) -> Counter[Hashable]:
        """Each call → how often it ran in all that was chosen to be shown, also where it is left out."""
        found: Counter[Hashable] = Counter()
        for id, times in self.flow.times.items():
            for op in self.flow.trace.graph(id).ops:
                found[_call(op)] += times
        return found

    @cached_property
    def drawn(self) -> Counter[Hashable]:
        """The same of the ops that are shown."""
        found: Counter[Hashable] = Counter()
        for op in self.flow.ops:
            found[_call(op)] += self.counts.of_graph(op.graph)
        return found

    def _uses(self, index: int, users: Sequence[int]) -> Hashable:
        """What must agree for two leaves to be one in the picture: the same folded ops take them
        at the same place; data, if it has one name and goes into the same boxes."""
        flow = self.flow
        data = flow.parameter(index) is None and flow.values[index].kind in ("input", "intermediate")
        if data and self._holder(index) is None and (self.level != "op" or flow.name(index) is None):
            return frozenset(self.boxes.keys[op] for op in users), flow.name(index), index in flow.roots
        return frozenset((self.group_first[op], flow.inputs[op].index(index)) for op in users)

    def _codes_of(self, index: int) -> Codes:
        """Findings about a value, or about the parameter that it is."""
        known = self.pointed.parameters.get(self.flow.parameter_of.get(index, -1))
        return known or self.pointed.values.get(index) or Codes()

    def _trains(self, index: int) -> bool:
        """requires_grad; a parameter that is frozen right after its initialisation has none."""
        parameter = self.flow.parameter(index)
        frozen = parameter is not None and not parameter.requires_grad and not parameter.passes
        return self.flow.values[index].requires_grad and not frozen

    def _leaf(self, members: list[int]) -> None:
        flow = self.flow
        first = members[0]
        value = flow.values[first]
        names = [name for v in members if (name := self._buffer_name(v) or flow.name(v)) is not None]
        parameter = flow.parameter(first)
        holder = self._holder(first)
        kind = (
            "buffer"
            if holder is not None
            else value.kind
            if value.kind in ("parameter", "buffer")
            else "input"
        )
        if parameter is not None and (parameter.registered or parameter.declared or parameter.optimizers):
            kind = "parameter"
        label = joined_name(names) if names else self._unnamed(members)
        if kind == "input" and len(members) == 1 and self._from_before(first, label):
            return
        id = f"{kind}:{parameter.id if parameter else f'{flow.graph_of[first].id}:{value.index}'}"
        self.node(
            id, kind, label, shape=value.shape, dtype=value.dtype, site=value.site, trainable=self._trains(first),
            got_gradient=got_gradient(flow, first), severed=first in self.severed,
            count=self.counts.of_values(members) if kind == "input" else len(members),
            numel=sum(prod(flow.values[v].shape) for v in members), names=set(names),
            module=self._module(parameter.module if parameter else holder), **told_of(self._codes_of(first)),
        )  # fmt: skip
        for member in members:
            self.leaf_node[member] = id

    def _from_before(self, index: int, label: str) -> bool:
        """Draws a value that an earlier pass made as what made it, with the parameters behind it; False
        where that is not known."""
        value = self.flow.values[index]
        key = (self.flow.graph_of[index].id, value.index)
        source = source_of(self.flow.trace, key, self.flow.origins)
        if source is None:
            return False
        site = source.op.site.user
        text = code_of(self.names.line(site)) if self.level == "line" else ""
        id = f"earlier:{source.op.graph}:{source.op.index}"
        if text and id in self.graph:  # another result of the same call
            self.graph.nodes[id]["names"].add(label)
            self.leaf_node[index] = id
            return True
        id = self.node(
            id if text else f"earlier:{key[0]}:{key[1]}", self.level, text or f"{label} = {op_name(source.op.name)}",
            detail=self.names.place(site), site=source.op.site, shape=value.shape, dtype=value.dtype,
            trainable=value.requires_grad, names={label, self.names.place(site)}, earlier=True,
        )  # fmt: skip
        self.leaf_node[index] = id
        self.before[id] = source.parameters
        return True

    def _leaf_of(self, id: int) -> str | None:
        """The node of a parameter that something in the picture uses."""
        values = (value for value, known in self.flow.parameter_of.items() if known == id)
        return next((self.leaf_node[value] for value in values if value in self.leaf_node), None)

    def _parameter(self, id: int) -> str:
        """The node of a parameter, also of one that nothing in the picture uses."""
        if (leaf := self._leaf_of(id)) is not None:
            return leaf
        parameter = self.flow.trace.parameter(id)
        name = parameter_name(self.flow.trace, id)
        return self.node(
            f"parameter:{id}", "parameter", name, shape=parameter.shape, dtype=parameter.dtype,
            trainable=parameter.requires_grad or parameter.passes > 0,
            got_gradient=paths(self.flow.trace).has_gradient(parameter),
            site=parameter.site, numel=prod(parameter.shape), names={name}, module=self._module(parameter.module),
            **told_of(self.pointed.parameters.get(id)),
        )  # fmt: skip

    def _behind(self) -> None:
        """What went into the values of earlier passes."""
        for id, parameters in self.before.items():
            for parameter in parameters:
                if (leaf := self._parameter(parameter)) not in self.graph.predecessors(id):
                    shown = self.graph.nodes[leaf]
                    self.edge(leaf, id, "flow", shape=shown["shape"], dtype=shown["dtype"],
                              trainable=bool(self.graph.nodes[id]["trainable"] and shown["trainable"]))  # fmt: skip

    def _buffer_name(self, index: int) -> str | None:
        """What torch calls a buffer that one of its functions takes at a known place, or its module's code."""
        module = self._holder(index)
        if module is None:
            return None
        own = (self.flow.name(index) or "").partition("self.")
        taken = (name for _, name in self._taken(index))
        name = own[2] if not own[0] and own[2].isidentifier() else next(taken, None)
        return buffer_name(self.flow.trace, module, name) if name else None

    def _holder(self, index: int) -> int | None:
        """The module that holds a leaf as a buffer. One whose making is left out of the same graph is known by torch's
        module that takes it as its own."""
        value, modules = self.flow.values[index], self.flow.trace.modules
        if value.kind == "buffer":
            return value.module if value.module in modules else None
        if value.kind != "intermediate" or value.requires_grad:
            return None
        takers = (op.module for op, _ in self._taken(index) if op.site.kind == "torch")
        return next((module for module in takers if module in modules), None)

    def _taken(self, index: int) -> Iterator[tuple[Op, str]]:
        """The ops that take a value as a buffer, and what torch calls that."""
        for user in self.flow.consumers.get(index, ()):
            op = self.flow.ops[user]
            known, at = BUFFERS.get(op.name, ()), self.flow.inputs[user].index(index)
            if at < len(known) and known[at]:
                yield op, known[at]

    def _unnamed(self, members: list[int]) -> str:
        """What values without a name are called: by the expression that made them, where that is one."""
        value = self.flow.values[members[0]]
        if value.kind in ("input", "intermediate"):
            made = {self._expression(v) for v in members}
            if len(made) == 1 and (text := made.pop()):
                return text
        if value.kind == "carried":
            return "from an earlier step"
        if value.kind == "buffer":
            return "buffer"
        return "input" if value.shape else "scalar"

    def _expression(self, index: int) -> str | None:
        """The text of the call that made a value."""
        flow, value = self.flow, self.flow.values[index]
        at = made_at(flow.trace, (flow.graph_of[index].id, value.index), flow.origins)
        maker = flow.trace.graph(at[0]).maker(at[1]) if at is not None else None
        site = maker.site if maker is not None else value.site
        if site is None or site.id in self._read_at(index):
            return None
        return self.names.text(site.user)

    def _read_at(self, index: int) -> set[int]:
        """The calls that take a value, by one of which it may have been seen for the first time."""
        return {self.flow.ops[op].site.id for op in self.flow.consumers.get(index, ())}

    def source(self, value: int) -> str | None:
        """The node a value comes out of."""
        maker = self.flow.maker[value]
        return self.leaf_node.get(value) if maker is None else self._id(self.boxes.keys[maker])

    # -- edges -----------------------------------------------------------------------

    def edge(self, a: str, b: str, kind: str, **more: Any) -> None:
        add_edge(self.graph, a, b, kind, **more)

    def _flow_edges(self) -> None:
        flow = self.flow
        # way → value → graph that reads it → what that is there: of several rounds of a call one is stored
        found: dict[tuple[str, str, tuple[int, ...], bool], dict[int, dict[int, set[int]]]] = {}
        back: set[tuple[str, str]] = set()
        place_of = {key: i for i, key in enumerate(self.members)}
        for op, inputs in enumerate(flow.inputs):
            target = self.boxes.keys[op]
            target_id = self._id(target)
            for value in dict.fromkeys(inputs):
                source = self.source(value)
                maker = flow.maker[value]
                if source is None or (source == target_id and self._inside(target, maker, op)):
                    continue
                way = (
                    source,
                    target_id,
                    flow.values[value].shape,
                    self._trains(value) and not self._is_off(op),
                )
                reader = flow.ops[op]
                read = found.setdefault(way, {}).setdefault(value, {}).setdefault(reader.graph, set())
                read.update(own for own, joined in zip(reader.inputs, inputs, strict=True) if joined == value)
                if maker is not None and place_of[self.boxes.keys[maker]] >= place_of[target]:
                    back.add((source, target_id))
        loops = _closing(back, [way[:2] for way in found])
        for (source, target_id, shape, grad), values in found.items():
            first = next(iter(values))
            self.edge(
                source, target_id, "flow", shape=shape, dtype=flow.values[first].dtype, trainable=grad,
                count=self._read(source, target_id, values),
                label=flow.name(first) or "", loop=(source, target_id) in loops,
                severed=self._severed_way(list(values), source),
            )  # fmt: skip

    def _is_off(self, op: int) -> bool:
        """Whether gradients are off where an op runs: what it is given hands no graph on."""
        inside = self.flow.ops[op].region is not None
        return inside and op in self.marks and self.marks[op].reason in ("no_grad", "inference_mode")

    def _read(self, source: str, target: str, values: Mapping[int, Mapping[int, set[int]]]) -> int:
        """How many values go from one box to another. values: each with the graphs that read it, and what they read of
        its rounds: a list of what a loop made has all of them. Where a graph ran several times in a row, each round
        after the first read what the one before it made: more is read there than was made, and of its own more made
        than read."""
        count = 0
        lacking, left = Counter[int](), Counter[int]()  # by graph
        for value, graphs in values.items():
            made = self.counts.of_values([value])
            home = self.flow.graph_of[value].id
            taken = sum(len(rounds) * self.counts.of_graph(id) for id, rounds in graphs.items())
            if home in graphs:
                count += made
                continue
            count += min(made, taken)
            if made > taken:
                left[home] += made - taken
            elif len(graphs) == 1:
                lacking[next(iter(graphs))] += taken - made
        count += (lacking & left).total()
        ran, drawn = self.more.get(source, (1, 1))
        return count * ran // drawn if self.more.get(target) == (ran, drawn) else count

    def _inside(self, box: Key, maker: int | None, op: int) -> bool:
        """Inside one box: a way from op to op of one round is not drawn, a loop's way back is; nor how data was
        prepared."""
        if maker is None or box[0] == "data":
            return True
        return self.level != "op" and self.round[maker] == self.round[op]

    def _severed_way(self, values: list[int], source: str) -> bool:
        """Whether these values are what is lost: severed leaves, or the result of a harmful cut."""
        if any(v in self.severed for v in values):
            return True
        return any(
            (maker := self.flow.maker[v]) is not None and bool((cut := self.marks.get(maker)) and cut.severs)
            for v in values
        )

    # -- findings --------------------------------------------------------------------

    def _places(self) -> None:
        """Lines and parameters of findings that no op of the picture stands for, each tied to what it is about."""
        for at, codes in self.pointed.places.items():
            where = self.names.place(at.site.user)
            text = code_of(self.names.line(at.site.user)) or where
            self.node(at.id, "place", text, detail=where, site=at.site, names={where}, **told_of(codes))
        for finding, causes, effects in self.pointed.ends:
            left, right = self.ids(causes), self.ids(effects)
            lone = self._lone_parameters(finding)
            self._tie(finding, left, lone, "")
            without = [leaf for leaf in lone if not self.graph.nodes[leaf]["got_gradient"]]
            self._tie(finding, without, right, "never reached" if finding.code == "GS302" else "no gradient")
            self._tie(finding, lone, right, "")  # what the finding says of the others is something else
            self._tie(finding, left, self._made_at(finding), "")
            apart = any(id.startswith("place:") for id in (*left, *right))
            if apart and not lone:
                self._tie(finding, left, right, "")
            if (right or left) and all(id.startswith("place:") for id in (*left, *right)):
                self._tie(finding, (right or left)[-1:], self._holders(finding), "")
            for id in (*left, *right):
                self._tie(finding, [id], self.ids(self.pointed.called.get(id, ())[-1:]), "")

    def _holders(self, finding: Finding) -> list[str]:
        """The boxes that alone use parameters of a finding."""
        own = {s[1] for s in finding.subjects if s[0] == "parameter"}
        leaves = {
            self.leaf_node[v] for v, id in self.flow.parameter_of.items() if id in own and v in self.leaf_node
        }
        users = [
            {b for _, b, e in self.graph.edges_from(leaf) if e["kind"] == "flow"} for leaf in sorted(leaves)
        ]
        return list(dict.fromkeys(user for found in users if len(found) == 1 for user in found))[:MAX_ENDS]

    def ids(self, found: Sequence[str | Key]) -> list[str]:
        """The nodes of boxes, of those that the graph has."""
        ids = (end if isinstance(end, str) else self._id(end) for end in found)
        return [id for id in dict.fromkeys(ids) if id in self.graph]

    def _lone_parameters(self, finding: Finding) -> list[str]:
        """The parameters of a finding that stand alone in the picture."""
        known = {p.id: p for p in self.flow.trace.parameters}
        ids = sorted(s[1] for s in finding.subjects if s[0] == "parameter" and s[1] in known)
        drawn = {known[id].site for id in ids if self._leaf_of(id) is not None}
        # Of those that a line makes anew at each call the one of this step stands for all.
        ids = [id for id in ids if self._leaf_of(id) is not None or known[id].site not in drawn - {None}]
        return [leaf for id in ids if self.graph.lone(leaf := self._parameter(id))]

    def _made_at(self, finding: Finding) -> list[str]:
        """The leaves in the picture that a finding is about and its cause makes."""
        if finding.cause is None:
            return []
        at = finding.cause.user.span()
        own = [p for p in self.flow.trace.parameters if ("parameter", p.id) in finding.subjects]
        leaves = [self._leaf_of(p.id) for p in own if p.site is not None and p.site.user.span() == at]
        return list(dict.fromkeys(leaf for leaf in leaves if leaf is not None))

    def _tie(self, finding: Finding, tails: list[str], heads: list[str], label: str) -> None:
        for tail in tails[:MAX_ENDS] if len(heads) > 1 else tails:
            for head in heads:
                if tail != head and not any(
                    e["kind"] == "finding" for e in self.graph.edges_between(tail, head)
                ):
                    self.edge(tail, head, "finding", label=label or finding.code, severed=True)

    # -- gradients -------------------------------------------------------------------

    def _grad_nodes(self) -> None:
        flow = self.flow
        where: dict[int, str] = {}
        counts: dict[str, int] = {}
        for index, node in enumerate(flow.nodes):
            op = flow.node_op[index]
            if index in flow.leaf_of:
                leaf = flow.leaf_of[index]
                if (id := self.source(leaf)) is not None and (flow.maker[leaf] is None or id in self.graph):
                    where[index] = id
                continue
            if op is None:
                continue
            place_in_op = (
                index - flow.joined_nodes[node.graph, flow.ops[op].nodes[0]] if flow.ops[op].nodes else 0
            )
            id = f"grad:{self.group_first[op]}:{place_in_op}"
            where[index] = id
            counts[id] = counts.get(id, 0) + 1
            if id not in self.graph:
                self.node(
                    id, "grad_fn", node.name, site=node.site, region=flow.ops[op].region, trainable=True,
                    got_gradient=index in flow.reached, names={node.name},
                )  # fmt: skip
                self.edge(self._id(self.boxes.keys[op]), id, "made")
            self.graph.nodes[id]["count"] = counts[id]
        self._between(where)

    def _grad_edges(self) -> None:
        """Ways of gradients between the boxes themselves."""
        flow = self.flow
        where: dict[int, str] = {}
        for index in range(len(flow.nodes)):
            op = flow.node_op[index]
            if index in flow.leaf_of:
                if (id := self.source(flow.leaf_of[index])) is not None:
                    where[index] = id
            elif op is not None:
                where[index] = self._id(self.boxes.keys[op])
        self._between(where)

    def _between(self, where: dict[int, str]) -> None:
        flow = self.flow
        found: dict[tuple[str, str], list[int]] = {}
        for node, targets in enumerate(flow.edges):
            for target in targets:
                a, b = where.get(node), where.get(target)
                if a is not None and b is not None and (a != b or self.level == "op"):
                    found.setdefault((a, b), []).append(node)
        for (a, b), sources in found.items():
            self.edge(a, b, "grad", count=len(sources), trainable=any(n in flow.reached for n in sources))

    def _alias_edges(self) -> None:
        """A write through shared memory also changes the value it is shared with."""
        flow = self.flow
        for index, op in enumerate(flow.ops):
            for value in op.writes:
                written = flow.joined[op.graph, value]
                base = flow.base(written)
                source = self.source(base)
                if base != written and source is not None and source != self._id(self.boxes.keys[index]):
                    self.edge(self._id(self.boxes.keys[index]), source, "alias", label=flow.name(base) or "")

    def _backwards(self) -> None:
        """Where backward passes start."""
        flow = self.flow
        passes: dict[tuple[str, int], list[int]] = {}
        sites: dict[tuple[str, int], Site] = {}
        for value, event in flow.roots.items():
            key = event.site.user.location()
            passes.setdefault(key, []).append(value)
            sites.setdefault(key, event.site)
        failed = {e.site.user.location() for e in flow.backwards if isinstance(e, ErrorRaised)}
        for key, values in passes.items():
            site = sites[key]
            text, where = self.names.text(site.user) or "backward()", self.names.place(site.user)
            id = self.node(
                backward_id(key), "backward", text, site=site, detail=where, names={where},
                severed=key in failed, count=self._passes_from(key), **told_of(self.pointed.passes.get(key)),
            )  # fmt: skip
            sources = dict.fromkeys(s for v in values if (s := self.source(v)) is not None)
            for source in sources:
                shown = flow.values[values[0]]
                self.edge(
                    source, id, "flow", trainable=shown.requires_grad, shape=shown.shape, dtype=shown.dtype
                )

    def _passes_from(self, line: tuple[str, int]) -> int:
        """How many passes the line made in what is shown."""
        own = [event for event in self.flow.backwards if event.site.user.location() == line]
        found: dict[int, int] = {}
        # Of one graph there may be the events of several steps.
        for (graph, _), count in Counter((event.graph, event.segment) for event in own).items():
            found[graph] = max(found.get(graph, 0), count)
        return sum(count * self.counts.of_graph(graph) for graph, count in found.items())


def _closing(back: set[tuple[str, str]], ways: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of the ways back to a box above that close a circle: of others what they come from was only made later."""
    after: dict[str, set[str]] = {}
    for tail, head in ways:
        after.setdefault(tail, set()).add(head)
    found: set[tuple[str, str]] = set()
    for target in {head for _, head in back}:
        seen = {target}
        todo = [target]
        while todo:
            for head in after.get(todo.pop(), set()) - seen:
                seen.add(head)
                todo.append(head)
        found |= {(tail, head) for tail, head in back if head == target and tail in seen}
    return found


def _call(op: Op) -> Hashable:
    return op.site.id, op.name, op.module, op.cut


def _function(site: Site) -> str:
    """The function that a line stands in; of a generator or a comprehension the one around it."""
    around = site.function
    while around.rpartition(".")[2] in (*COMPREHENDED, "<locals>"):
        around = around.rpartition(".")[0]
    return "" if around == "<module>" else around


def _made(value: Value, site: Site | None = None) -> Hashable:
    """Where a value was made, and what it is like."""
    at = site or value.site
    return at and at.id, value.shape, value.dtype, value.requires_grad


def told_of(*known: Codes | None) -> dict[str, Any]:
    """The attributes of a node that findings point at."""
    causes = list(dict.fromkeys(code for codes in known if codes for code in codes.causes))
    effects = list(dict.fromkeys(code for codes in known if codes for code in codes.effects))
    return {"findings": list(dict.fromkeys([*causes, *effects])), "causes": causes, "effects": effects}
