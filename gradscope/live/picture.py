"""The picture of a walk: the nodes of `grad_fn`, and the leaves that they end in."""

from __future__ import annotations

from typing import Any

from gradscope.graph import READABLE, View
from gradscope.graph.arrows import Graph
from gradscope.graph.attributes import add_edge, add_node
from gradscope.hooks._torch import Parameter, Tensor, dtype_of
from gradscope.live.saved import places_of
from gradscope.live.walk import GradNode, Names, Walk

CUTS = "what was cut off is in the graph of the watch: `scope.graph()`, `gradscope graph`"
UNKNOWN = "lines, and what was cut off, are known to `gradscope run` and `gradscope.watch()` only"


def view_of(walk: Walk, tensors: list[Tensor], names: Names) -> View:
    """The nodes behind `tensors`, the nearest where they are too many to read. Parameters of `names` that
    they do not reach stand beside them."""
    graph = Graph()
    shown = min(len(walk.nodes), READABLE)  # a walk begins with the nearest
    places = places_of(node.number for node in walk.nodes[:shown])
    for number, node in enumerate(walk.nodes[:shown]):
        _node(graph, f"n{number}", node, names, places.get(node.number, ""))
    for number, node in enumerate(walk.nodes[:shown]):
        for below in node.below:
            if below < shown:
                _edge(graph, f"n{below}", f"n{number}")
    for number, (root, tensor) in enumerate(zip(walk.roots, tensors, strict=True)):
        _root(graph, f"root{number}", root, tensor, names)
    if walk.whole:
        reached = {id(leaf) for leaf in walk.leaves()}
        for number, tensor in enumerate(names.parameters.values()):
            if id(tensor) not in reached:
                _leaf(graph, f"unreached{number}", tensor, names, reached=False)
    notes = [CUTS if places else UNKNOWN]
    if not walk.whole:
        notes.insert(
            0, f"the nearest {shown} nodes of more than {len(walk.nodes):,}: the others are left out"
        )
    elif left := len(walk.nodes) - shown:
        notes.insert(0, f"the nearest {shown} nodes of {len(walk.nodes):,}: {left:,} are left out")
    title = ", ".join(names(tensor) or "a tensor" for tensor in tensors)
    return View(graph, "grad_fn", notes, title)


def _add(graph: Graph, id: str, kind: str, label: str, **more: Any) -> None:
    add_node(graph, id, kind, label, **{"trainable": True, "got_gradient": True, "names": {label}, **more})


def _node(graph: Graph, id: str, node: GradNode, names: Names, place: str) -> None:
    if node.leaf is not None:
        _leaf(graph, id, node.leaf, names)
    else:
        _add(graph, id, "grad_fn", node.name, shape=node.shape, dtype=node.dtype, detail=place)


def _leaf(graph: Graph, id: str, leaf: Tensor, names: Names, reached: bool = True) -> None:
    kind = "parameter" if isinstance(leaf, Parameter) else "input"
    _add(
        graph, id, kind, names(leaf) or ("parameter" if kind == "parameter" else "leaf"), shape=tuple(leaf.shape),
        dtype=dtype_of(leaf), trainable=bool(leaf.requires_grad), got_gradient=reached, numel=leaf.numel(),
    )  # fmt: skip


def _root(graph: Graph, id: str, root: int | None, tensor: Tensor, names: Names) -> None:
    label, shape = names(tensor) or "the tensor", tuple(tensor.shape)
    if root is None:
        _add(graph, id, "constant", label, detail="no grad_fn", shape=shape, trainable=False)
    else:
        _add(graph, id, "backward", label, shape=shape)
        _edge(graph, f"n{root}", id)


def _edge(graph: Graph, tail: str, head: str) -> None:
    """Along the data, as in the other pictures: gradients go the other way."""
    made = graph.nodes[tail]
    add_edge(graph, tail, head, "flow", shape=made["shape"], dtype=made["dtype"], trainable=True)
