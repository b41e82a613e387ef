"""Calls that make one array of what each batch gave, which batches of two sizes do not fit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.text import own_nodes, site_of
from gradscope.model import Op, Site
from gradscope.source import SourceFile, called_name, names_in
from gradscope.store import Trace

_ARRAYS = {
    "array": "concatenate",
    "asarray": "concatenate",
    "stack": "concatenate",
}  # numpy's, and what joins


class WholeBatches(NamedTuple):
    """`np.array(preds)`, of a list that each turn of a loop adds to."""

    site: Site
    joined: str  # `np.concatenate(preds)`
    others: int  # calls beside it that do the same


def of_whole_batches(trace: Trace, loop: Site, batch: int) -> WholeBatches | None:
    """The call behind a loop over batches that takes a list of what has one row for each of their samples."""
    file = trace.source_file(loop.path)
    node = next((n for n in file.around(loop) if isinstance(n, ast.For)), None)
    if node is None:
        return None
    kept = {name: given for name, given in _kept(node) if _rows(trace, loop, node, given) == batch}
    behind = node.end_lineno or node.lineno
    found = [
        (call.lineno, call.col_offset, call, call.func, taken.id)
        for call in own_nodes(file.scope(loop))
        if isinstance(call, ast.Call) and called_name(call) in _ARRAYS and call.lineno > behind
        for taken in call.args[:1]
        if isinstance(taken, ast.Name) and taken.id in kept and isinstance(call.func, ast.Attribute)
    ]
    if not found:
        return None
    *_, first, made, name = min(found, key=lambda one: one[:2])
    site = site_of(loop.path, loop.function, first)
    return WholeBatches(site, _joined(trace, file, made, name, site), len(found) - 1)


def _joined(trace: Trace, file: SourceFile, made: ast.Attribute, name: str, site: Site) -> str:
    torchs = any(op.name == "stack" and op.site.user.span() == site.span() for op in trace.ops)
    return f"{file.text(made.value)}.{'cat' if torchs else _ARRAYS[made.attr]}({name})"


def _kept(loop: ast.For) -> Iterator[tuple[str, ast.expr]]:
    """The lists that a loop adds to, each with what it adds."""
    for node in ast.walk(loop):
        if called_name(node) == "append" and isinstance(node, ast.Call) and len(node.args) == 1:
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                yield node.func.value.id, node.args[0]


def _rows(trace: Trace, loop: Site, node: ast.For, given: ast.expr) -> int | None:
    """The size of the first axis of what an expression gave, or the assignment of its name in the loop."""
    places: list[ast.AST] = [given]
    if isinstance(given, ast.Name):
        places = [n for n in ast.walk(node) if isinstance(n, ast.Assign) and _binds(n, given.id)]
    lines = {line for place in places for line in _lines(place)}
    last: Op | None = None
    for op in trace.ops:
        if any(frame.path == loop.path and frame.line in lines for frame in op.site.stack):
            last = op if last is None or (op.graph, op.index) > (last.graph, last.index) else last
    values = trace.graph(last.graph).values if last is not None else []
    shapes = [values[i].shape for i in (last.outputs or last.inputs)] if last is not None else []
    return shapes[0][0] if shapes and shapes[0] else None


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(name in names_in(target, ast.Store) for target in statement.targets)


def _lines(node: ast.AST) -> range:
    first = getattr(node, "lineno", 0)
    return range(first, (getattr(node, "end_lineno", None) or first) + 1)
