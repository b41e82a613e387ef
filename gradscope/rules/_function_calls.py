"""Calls of the user's own autograd Functions: the op, the arguments and the class, by their event."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.model import Event, Graph, Op, Site
from gradscope.store import Trace


def applied(trace: Trace, event: Event) -> tuple[Graph, Op] | None:
    for graph in trace.graphs:
        for op in graph.ops:
            if op.name == event.data["function"] and op.site.id == event.site.id:
                return graph, op
    return None


def call_of(trace: Trace, event: Event) -> ast.Call | None:
    node = trace.source_file(event.site.user.path).at(event.site.user)
    plain = isinstance(node, ast.Call) and not any(isinstance(a, ast.Starred) for a in node.args)
    return node if isinstance(node, ast.Call) and plain else None


def argument_of(graph: Graph, op: Op, event: Event, position: int) -> int | None:
    """The value that was passed at this position."""
    order = event.data["tensors"].index(position)
    index = op.inputs[order] if order < len(op.inputs) else None
    return index if index is not None and graph.values[index].requires_grad else None


def definition_of(trace: Trace, cls: str, line: int) -> Site | None:
    """The line of `backward` in the user's class."""
    for path, part in _backward(trace, cls, line):
        start = part.col_offset + 1
        end = start + len(f"def {part.name}")
        return Site(-1, path, part.lineno, start, part.lineno, end, part.name, "user")
    return None


def returned(trace: Trace, cls: str, line: int, position: int) -> Site | None:
    """What the `backward` of the user's class returns for an argument, where it returns at one place."""
    for path, part in _backward(trace, cls, line):
        ends = [node for node in ast.walk(part) if isinstance(node, ast.Return) and node.value is not None]
        if len(ends) != 1:
            return None
        value = ends[0].value
        elements = value.elts if isinstance(value, ast.Tuple) else []
        shown = elements[position] if position < len(elements) else ends[0]
        if any(isinstance(element, ast.Starred) for element in elements):
            shown = ends[0]
        return Site(-1, path, *trace.source_file(path).span(shown), part.name, "user")
    return None


def _backward(trace: Trace, cls: str, line: int) -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in trace.sources:
        tree = trace.source_file(path).tree
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.ClassDef) and node.name == cls and _spans(node, line):
                for part in node.body:
                    if isinstance(part, ast.FunctionDef) and part.name in ("backward", "vjp"):
                        yield path, part


def _spans(node: ast.ClassDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def shown_argument(trace: Trace, event: Event, position: int) -> tuple[str, str]:
    """The text of an argument, and the words for it."""
    call = call_of(trace, event)
    text = ast.unparse(call.args[position]) if call is not None and position < len(call.args) else ""
    return text, f"argument {position + 1}{f', `{text}`' if text and len(text) < 40 else ''}"


def measured_calls(event: Event, what: str) -> str:
    calls = event.data["calls"]
    return (
        f"{what} in {'the one call' if calls == 1 else f'all {calls} calls'} that were looked at, with a"
        " gradient that was not zero arriving"
    )
