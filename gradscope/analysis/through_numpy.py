"""Losses that are made of what numpy has computed from tensors, which should train as the program's text says: it reads
their `.grad`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradscope.analysis.names import names_of
from gradscope.analysis.numbers import without_past
from gradscope.analysis.ops import MAKERS
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.text import nodes_of_functions, site_of
from gradscope.analysis.words import holds
from gradscope.model import Graph, Op, Site

HANDED_OUT = ("numpy", "__array__")


@dataclass
class Leaf:
    """What should train, and does not require a gradient."""

    name: str
    made: Site
    read: Site  # where its `.grad` is read


@dataclass
class ThroughNumpy:
    """A new tensor of numbers that numpy has computed from such tensors."""

    made: Op
    leaves: list[Leaf]


def through_numpy(known: Paths, root: Key) -> ThroughNumpy | None:
    """The nearest one before a loss that has no graph."""
    for number, index in known.flow([root]).order:
        graph = known.graph(number)
        made = graph.maker(index)
        if made is None or made.name not in MAKERS or not without_past(graph, index):
            continue
        given = [
            value
            for op in graph.ops[: made.index]
            if op.name in HANDED_OUT and holds(made.site.user, op.site.user)
            for value in op.inputs
        ]
        leaves = [leaf for value in dict.fromkeys(given) if (leaf := _leaf(known, graph, value)) is not None]
        if leaves:
            return ThroughNumpy(made, leaves)
    return None


def _leaf(known: Paths, graph: Graph, index: int) -> Leaf | None:
    value = graph.values[index]
    name, made = names_of(known.trace).name(graph, index), value.site
    if not name or made is None or value.requires_grad or value.parameter is not None:
        return None
    read = [
        site_of(path, function, node)
        for path, function, node in nodes_of_functions(known.trace, ast.Attribute)
        if node.attr == "grad" and ast.unparse(node.value) == name
    ]
    return Leaf(name, made.user, min(read, key=lambda site: site.line)) if read else None
