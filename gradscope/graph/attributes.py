"""Adds nodes and edges that have every attribute that `gradscope.graph` documents."""

from __future__ import annotations

from typing import Any

from gradscope.graph.arrows import Graph


def node_data(**known: Any) -> dict[str, Any]:
    """The attributes of a node; `known` is what differs from nothing known."""
    base: dict[str, Any] = {
        "detail": "", "shape": None, "dtype": None, "site": None, "region": None,
        "module": None, "cluster": (), "findings": [], "trainable": None, "got_gradient": None, "writes": [],
        "count": 1, "cut": None, "form": "", "mild": False, "severs": (), "severed": False, "names": set(), "numel": 0,
        "causes": [], "effects": [], "earlier": False, "kept_from": (),
    }  # fmt: skip
    return {**base, **known}


def add_node(graph: Graph, id: str, kind: str, label: str, **more: Any) -> str:
    """Adds a node. Returns `id`."""
    graph.add_node(id, node_data(kind=kind, label=label, **more))
    return id


def add_edge(graph: Graph, tail: str, head: str, kind: str, **more: Any) -> None:
    """Adds an edge; `more` is what differs from nothing known."""
    base: dict[str, Any] = {
        "kind": kind, "label": "", "shape": None, "dtype": None, "trainable": None, "count": 1,
        "severed": False, "loop": False, "mild": False,
    }  # fmt: skip
    graph.add_edge(tail, head, {**base, **more})
