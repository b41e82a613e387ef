"""A layer that is called twice on one input, where another one of its kind is never called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.model import Graph, Module, Op, Parameter, Site
from gradscope.store import Trace


class CalledTwice(NamedTuple):
    """Two calls of one layer that gave the same numbers."""

    layer: Module
    first: Site
    second: Site
    function: ast.Attribute  # what the second one calls


def called_twice(trace: Trace, parameter: Parameter) -> CalledTwice | None:
    """The layer beside the one of this parameter, of the same class and form, of which two calls in one function take
    the same input, and both results are read; None where there are several such."""
    unused = trace.modules.get(parameter.module) if parameter.module is not None else None
    if unused is None or unused.parent is None or not unused.path:
        return None
    form = _form(trace, unused)
    beside = [
        m
        for m in trace.modules.values()
        if m.parent == unused.parent and m.id != unused.id and m.cls == unused.cls and _form(trace, m) == form
    ]
    found = [one for layer in beside if (one := _twice(trace, layer)) is not None]
    return found[0] if len(found) == 1 else None


def _form(trace: Trace, module: Module) -> list[tuple[str, tuple[int, ...]]]:
    own = [p for p in trace.parameters if p.module == module.id]
    return sorted((p.name.rpartition(".")[2], tuple(p.shape)) for p in own)


def _twice(trace: Trace, layer: Module) -> CalledTwice | None:
    found: dict[object, list[tuple[Site, Site]]] = {}
    for graph in trace.graphs:
        for first, second in _pairs(graph, layer):
            places = first.site.user, second.site.user
            found.setdefault(tuple(place.span() for place in places), []).append(places)
    if len(found) != 1:
        return None
    ((first_at, second_at),) = next(iter(found.values()))[:1]
    call = trace.source_file(second_at.path).at(second_at)
    function = call.func if isinstance(call, ast.Call) else None
    if not isinstance(function, ast.Attribute) or function.attr != layer.path.rpartition(".")[2]:
        return None
    return CalledTwice(layer, first_at, second_at, function)


def _pairs(graph: Graph, layer: Module) -> Iterator[tuple[Op, Op]]:
    ran = [op for op in graph.ops if op.module == layer.id]
    for i, first in enumerate(ran):
        for second in ran[i + 1 :]:
            one, other = first.site.user, second.site.user
            same = (one.path, one.function) == (other.path, other.function) and one.span() != other.span()
            if same and first.name == second.name and first.inputs == second.inputs:
                if all(graph.consumers.get(op.outputs[0]) for op in (first, second) if op.outputs):
                    yield first, second
