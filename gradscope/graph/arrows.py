"""Nodes and arrows with attributes: as much of a directed multigraph as pictures need.

networkx has all of it, but to import it takes longer than to check and draw a small trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Data = dict[str, Any]


class Graph:
    """A directed multigraph. `nodes`: id → attributes, in the order in which they were added; arrows come in the order
    of their tails."""

    def __init__(self) -> None:
        self.nodes: dict[str, Data] = {}
        self._out: dict[str, dict[str, list[Data]]] = {}
        self._in: dict[str, dict[str, list[Data]]] = {}

    def __contains__(self, id: str) -> bool:
        return id in self.nodes

    def __iter__(self) -> Iterator[str]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def add_node(self, id: str, data: Data) -> None:
        """A node that is there already keeps its place and its arrows."""
        self.nodes[id] = data
        self._out.setdefault(id, {})
        self._in.setdefault(id, {})

    def add_edge(self, tail: str, head: str, data: Data) -> None:
        """One more arrow. Raises KeyError where an end is no node."""
        self._out[tail].setdefault(head, []).append(data)
        self._in[head].setdefault(tail, []).append(data)

    def successors(self, id: str) -> Iterable[str]:
        return self._out[id].keys()

    def predecessors(self, id: str) -> Iterable[str]:
        return self._in[id].keys()

    def lone(self, id: str) -> bool:
        """Whether no arrow ends at the node."""
        return not self._out[id] and not self._in[id]

    def edges(self) -> Iterator[tuple[str, str, Data]]:
        """All arrows: tail, head, attributes."""
        for id in self.nodes:
            yield from self.edges_from(id)

    def edges_from(self, id: str) -> Iterator[tuple[str, str, Data]]:
        return ((id, head, data) for head, some in self._out[id].items() for data in some)

    def edges_to(self, id: str) -> Iterator[tuple[str, str, Data]]:
        return ((tail, id, data) for tail, some in self._in[id].items() for data in some)

    def edges_between(self, tail: str, head: str) -> list[Data]:
        return self._out.get(tail, {}).get(head, [])

    def part(self, kept: set[str]) -> Graph:
        """The nodes of `kept`, and the arrows between them."""
        found = Graph()
        for id, data in self.nodes.items():
            if id in kept:
                found.add_node(id, data)
        for tail, head, data in self.edges():
            if tail in kept and head in kept:
                found.add_edge(tail, head, data)
        return found

    def networkx(self) -> Any:
        """The same as a networkx.MultiDiGraph."""
        import networkx as nx

        graph = nx.MultiDiGraph()
        graph.add_nodes_from((id, dict(data)) for id, data in self.nodes.items())
        graph.add_edges_from((tail, head, dict(data)) for tail, head, data in self.edges())
        return graph
