"""The nodes of values from outside: parameters, buffers, inputs, and what earlier passes made."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any

from gradscope.analysis.flow import made_at
from gradscope.analysis.names import buffer_name, op_name
from gradscope.analysis.reach import paths
from gradscope.analysis.words import parameter_name
from gradscope.graph._earlier import source_of
from gradscope.graph._making import Making
from gradscope.graph._marks import got_gradient
from gradscope.graph._owners import code_of, joined_name
from gradscope.graph._places import Key
from gradscope.graph._pointed import Codes, told_of
from gradscope.model import Op, Site, Value

# Buffers among the arguments of torch's functions, by place.
BUFFERS = {
    "batch_norm": ("", "running_mean", "running_var"),
    "instance_norm": ("", "running_mean", "running_var"),
}


class Leaves:
    """The leaves of one graph."""

    def __init__(self, making: Making):
        self._making, self.flow, self.graph = making, making.flow, making.graph
        self.names, self.boxes = making.names, making.boxes
        # Node of a value from an earlier pass → parameters behind it.
        self._before: dict[str, tuple[int, ...]] = {}

    def add(self) -> None:
        """Values from outside, equal ones of folded ops as one node."""
        flow = self.flow
        by_use: dict[tuple[Any, ...], list[int]] = {}
        for index, value in enumerate(flow.values):
            if flow.maker[index] is not None:
                continue
            users = flow.consumers.get(index, ())
            if not users and index not in flow.roots:
                continue
            if (source := self._drawn(index)) is not None:
                self._making.leaf_node[index] = source
                continue
            boxes = {self.boxes.keys[op] for op in users}
            if len(boxes) == 1 and (box := next(iter(boxes)))[0] == "data" and index not in flow.roots:
                self._making.leaf_node[index] = self._making.id(box)
                continue
            key = (
                self._uses(index, users),
                value.shape,
                value.dtype,
                value.kind,
                value.requires_grad,
                got_gradient(self.flow, index),
                index in self._making.severed,
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
        if self._making.level == "op" or value.kind != "input" or value.site is None:
            return None
        known = self._makers.get(_made(value), {})
        if len(known) != 1 or value.site.id in self._read_at(index):
            return None
        ((key, name),) = known.items()
        return self._making.id(key) if self.flow.name(index) in (None, name) else None

    @cached_property
    def _makers(self) -> dict[Hashable, dict[Key, str | None]]:
        """Call and what it gives → its boxes, and what that is called. Of boxes that build no graph."""
        flow = self.flow
        found: dict[Hashable, dict[Key, str | None]] = {}
        for key, ops in self._making.members.items():
            if not flow.earlier.issuperset(ops) and not any(flow.ops[op].nodes for op in ops):
                for op in ops:
                    for value in flow.outputs[op]:
                        made = _made(flow.values[value], flow.ops[op].site)
                        found.setdefault(made, {})[key] = flow.name(value)
        return found

    def _uses(self, index: int, users: Sequence[int]) -> Hashable:
        """What must agree for two leaves to be one in the picture: the same folded ops take them
        at the same place; data, if it has one name and goes into the same boxes."""
        flow = self.flow
        data = flow.parameter(index) is None and flow.values[index].kind in ("input", "intermediate")
        if data and self._holder(index) is None and (self._making.level != "op" or flow.name(index) is None):
            return frozenset(self.boxes.keys[op] for op in users), flow.name(index), index in flow.roots
        return frozenset((self._making.group_first[op], flow.inputs[op].index(index)) for op in users)

    def _codes_of(self, index: int) -> Codes:
        """Findings about a value, or about the parameter that it is."""
        known = self._making.pointed.parameters.get(self.flow.parameter_of.get(index, -1))
        return known or self._making.pointed.values.get(index) or Codes()

    def _leaf(self, members: list[int]) -> None:
        flow = self.flow
        first = members[0]
        value = flow.values[first]
        names = [name for v in members if (name := self._buffer_name(v) or flow.name(v)) is not None]
        parameter = flow.parameter(first)
        holder = self._holder(first)
        known = value.kind if value.kind in ("parameter", "buffer") else "input"
        kind = "buffer" if holder is not None else known
        if parameter is not None and (parameter.registered or parameter.declared or parameter.optimizers):
            kind = "parameter"
        label = joined_name(names) if names else self._unnamed(members)
        if kind == "input" and len(members) == 1 and self._from_before(first, label):
            return
        id = f"{kind}:{parameter.id if parameter else f'{flow.graph_of[first].id}:{value.index}'}"
        self._making.node(
            id, kind, label, shape=value.shape, dtype=value.dtype, site=value.site,
            trainable=self._making.trains(first), got_gradient=got_gradient(flow, first),
            severed=first in self._making.severed,
            count=self._making.counts.of_values(members) if kind == "input" else len(members),
            numel=sum(prod(flow.values[v].shape) for v in members), names=set(names),
            module=self._making.module(parameter.module if parameter else holder), **told_of(self._codes_of(first)),
        )  # fmt: skip
        for member in members:
            self._making.leaf_node[member] = id

    def _from_before(self, index: int, label: str) -> bool:
        """Draws a value that an earlier pass made as what made it, with the parameters behind it; False
        where that is not known."""
        value = self.flow.values[index]
        key = (self.flow.graph_of[index].id, value.index)
        source = source_of(self.flow.trace, key, self.flow.origins)
        if source is None:
            return False
        site = source.op.site.user
        text = code_of(self.names.line(site)) if self._making.level == "line" else ""
        id = f"earlier:{source.op.graph}:{source.op.index}"
        if text and id in self.graph:  # another result of the same call
            self.graph.nodes[id]["names"].add(label)
            self._making.leaf_node[index] = id
            return True
        id = self._making.node(
            id if text else f"earlier:{key[0]}:{key[1]}", self._making.level,
            text or f"{label} = {op_name(source.op.name)}", detail=self.names.place(site), site=source.op.site,
            shape=value.shape, dtype=value.dtype,
            trainable=value.requires_grad, names={label, self.names.place(site)}, earlier=True,
        )  # fmt: skip
        self._making.leaf_node[index] = id
        self._before[id] = source.parameters
        return True

    def leaf_of(self, id: int) -> str | None:
        """The node of a parameter that something in the picture uses."""
        values = (value for value, known in self.flow.parameter_of.items() if known == id)
        return next(
            (self._making.leaf_node[value] for value in values if value in self._making.leaf_node), None
        )

    def parameter(self, id: int) -> str:
        """The node of a parameter, also of one that nothing in the picture uses."""
        if (leaf := self.leaf_of(id)) is not None:
            return leaf
        parameter = self.flow.trace.parameter(id)
        name = parameter_name(self.flow.trace, id)
        return self._making.node(
            f"parameter:{id}", "parameter", name, shape=parameter.shape, dtype=parameter.dtype,
            trainable=parameter.requires_grad or parameter.passes > 0,
            got_gradient=paths(self.flow.trace).has_gradient(parameter),
            site=parameter.site, numel=prod(parameter.shape), names={name},
            module=self._making.module(parameter.module), **told_of(self._making.pointed.parameters.get(id)),
        )  # fmt: skip

    def _behind(self) -> None:
        """What went into the values of earlier passes."""
        for id, parameters in self._before.items():
            for parameter in parameters:
                if (leaf := self.parameter(parameter)) not in self.graph.predecessors(id):
                    shown = self.graph.nodes[leaf]
                    self._making.edge(leaf, id, "flow", shape=shown["shape"], dtype=shown["dtype"],
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


def _made(value: Value, site: Site | None = None) -> Hashable:
    """Where a value was made, and what it is like."""
    at = site or value.site
    return at and at.id, value.shape, value.dtype, value.requires_grad
