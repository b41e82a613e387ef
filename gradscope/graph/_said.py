"""What a box says of the ops that it stands for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from gradscope.analysis.names import op_name
from gradscope.events import ModuleCall
from gradscope.graph._counts import COMPREHENDED
from gradscope.graph._making import Making
from gradscope.graph._marks import stopped
from gradscope.graph._often import Often
from gradscope.graph._owners import code_of, frame_at, part_title
from gradscope.graph._places import Key
from gradscope.graph._pointed import told_of
from gradscope.graph.attributes import node_data
from gradscope.model import Site

NAMELESS = "a value without a name"
FACTORIES_OF_DATA = {"rand", "randn", "randint", "stack", "from_numpy", "default_collate"}


class Sayings:
    """The words and attributes of one graph's boxes."""

    def __init__(self, making: Making, often: Often):
        self._making, self.flow, self.names, self.boxes = making, making.flow, making.names, making.boxes
        self._often = often

    def told(self, key: Key, ops: list[int]) -> dict[str, Any]:
        """The attributes of a box that these ops belong to."""
        flow = self.flow
        first = flow.ops[ops[0]]
        cuts = [cut for i in ops if (cut := self._making.marks.get(i)) is not None]
        severs = tuple(dict.fromkeys(name for cut in cuts for name in cut.severs))
        worst = next((cut for cut in cuts if cut.severs), cuts[0] if cuts else None)
        outputs = [v for i in ops for v in flow.outputs[i]]
        inside = set(ops)
        written = list(dict.fromkeys(name for i in ops for name in self._writes(i, inside)))
        writes = [name for name in written if name != NAMELESS] or written
        count = self._often.times(key, ops)
        last = flow.values[outputs[-1]] if outputs else None
        shape = None if last is None or (count > 1 and self._varies(ops)) else last.shape
        site = worst.site if worst else first.site
        stops, kept = stopped(flow, self._making.marks, ops) if worst is not None else (False, [])
        form, label, detail = self._describe(key, ops)
        names = {name for v in outputs if (name := flow.name(v)) is not None}
        return node_data(
            kind="cut" if stops and key[0] != "data" else form, form=form, label=label, detail=detail, site=site,
            region=first.region, module=self._making.module(first.module),
            shape=shape, dtype=last.dtype if last else None,
            trainable=any(flow.values[v].requires_grad for v in outputs), cluster=self.boxes.cluster.get(key, ()),
            writes=writes, count=count,
            earlier=flow.earlier.issuperset(ops),
            **told_of(self._making.pointed.boxes.get(key), *(self._making.pointed.values.get(v) for v in outputs)),
            cut=worst.reason if worst else None, severs=severs,
            kept_from=tuple(dict.fromkeys(name for v in kept if (name := flow.name(v)) is not None)),
            names=names | {self.names.place(first.site.user), op_name(first.name)},
        )  # fmt: skip

    def _varies(self, ops: list[int]) -> bool:
        """Whether what ends a round of these ops gave another shape in another round."""
        flow = self.flow
        calls = [(flow.ops[i].site.id, flow.ops[i].name, flow.outputs[i][-1]) for i in ops if flow.outputs[i]]
        *end, _ = calls[-1]
        return len({flow.values[value].shape for *call, value in calls if call == end}) > 1

    def _describe(self, key: Key, ops: list[int]) -> tuple[str, str, str]:
        """(form, label, second line) of a box."""
        flow = self.flow
        op = flow.ops[ops[0]]
        site = op.site.user
        if key[0] == "op":
            return self._made(ops[0]), self._op_label(ops[0]), self.names.place(site)
        if key[0] == "data":
            return (
                "input",
                self._data_title(ops),
                f"{part_title(flow, ops)} · {self.names.place(site)}",
            )
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
            return "module", self.boxes.some.get(key) or self.boxes.titles[id], module.cls  # type: ignore[index]
        if self.boxes.lines and op.module is None and len(self._whole_lines.get(site.location(), ())) == 1:
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
        data = self.flow.values[value].requires_grad or value in self._model_inputs
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
    def _whole_lines(self) -> dict[tuple[str, int], set[Key]]:
        """Line → the boxes that hold something of what it did or called."""
        found: dict[tuple[str, int], set[Key]] = {}
        for op, key in zip(self.flow.ops, self.boxes.keys, strict=True):
            for frame in (op.site.user, *(f for f in op.site.stack if f.kind == "user")):
                found.setdefault(frame.location(), set()).add(key)
        return found

    @cached_property
    def _model_inputs(self) -> set[int]:
        flow = self.flow
        calls = [event for event in flow.events if isinstance(event, ModuleCall)]
        taken = ((event.graph, value) for event in calls for value in event.inputs)
        return {flow.joined[key] for key in taken if key in flow.joined}


def _function(site: Site) -> str:
    """The function that a line stands in; of a generator or a comprehension the one around it."""
    around = site.function
    while around.rpartition(".")[2] in (*COMPREHENDED, "<locals>"):
        around = around.rpartition(".")[0]
    return "" if around == "<module>" else around
