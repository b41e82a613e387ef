"""What the parts share that make the graph of one level: the flow, its boxes, and the graph as far as it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gradscope.analysis.flow import Flow
from gradscope.analysis.names import module_title, names_of
from gradscope.graph._counts import Counts
from gradscope.graph._marks import Mark
from gradscope.graph._owners import Boxes
from gradscope.graph._places import Key
from gradscope.graph._pointed import Pointed
from gradscope.graph.arrows import Graph
from gradscope.graph.attributes import add_edge, add_node
from gradscope.model import Finding


@dataclass
class Making:
    """A graph in the making; `node` and `edge` set every documented attribute."""

    flow: Flow
    boxes: Boxes
    level: str
    marks: dict[int, Mark]  # by op of the flow
    findings: list[Finding]
    graph: Graph = field(default_factory=Graph)
    leaf_node: dict[int, str] = field(default_factory=dict)  # value from outside → its node

    def __post_init__(self) -> None:
        self.names = names_of(self.flow.trace)
        self.counts = Counts(self.flow, self.flow.times)
        self.severed = {v for mark in self.marks.values() for v in mark.values}
        self._ids: dict[Key, str] = {}
        self.members: dict[Key, list[int]] = {}
        for op, key in enumerate(self.boxes.keys):
            self.members.setdefault(key, []).append(op)
        self.pointed = Pointed(
            self.flow, self.boxes.keys, self.findings, self.boxes.cluster, self.boxes.callers
        )
        self.group_first = {i: group[0] for group in self.boxes.groups for i in group}

    def node(self, id: str, kind: str, label: str, **more: Any) -> str:
        return add_node(self.graph, id, kind, label, **more)

    def edge(self, a: str, b: str, kind: str, **more: Any) -> None:
        add_edge(self.graph, a, b, kind, **more)

    def id(self, key: Key) -> str:
        id = self._ids.get(key)
        if id is None:
            id = self._ids[key] = ":".join(map(str, key))
        return id

    def ids(self, found: Sequence[str | Key]) -> list[str]:
        """The nodes of boxes, of those that the graph has."""
        ids = (end if isinstance(end, str) else self.id(end) for end in found)
        return [id for id in dict.fromkeys(ids) if id in self.graph]

    def source(self, value: int) -> str | None:
        """The node a value comes out of."""
        maker = self.flow.maker[value]
        return self.leaf_node.get(value) if maker is None else self.id(self.boxes.keys[maker])

    def trains(self, index: int) -> bool:
        """requires_grad; a parameter that is frozen right after its initialisation has none."""
        parameter = self.flow.parameter(index)
        frozen = parameter is not None and not parameter.requires_grad and not parameter.passes
        return self.flow.values[index].requires_grad and not frozen

    def module(self, id: int | None) -> str | None:
        module = self.flow.trace.modules.get(id) if id is not None else None
        return None if module is None else module_title(self.flow.trace, module)
