"""Where the source of a dataset takes a view of what it keeps, and where it writes through that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.text import classes_named, own_nodes, site_of
from gradscope.model import Site
from gradscope.source import arguments, called_name
from gradscope.store import Trace

VIEWS = {
    "reshape", "view", "ravel", "squeeze", "unsqueeze", "transpose", "permute", "swapaxes", "t", "from_numpy",
    "asarray", "as_tensor", "numpy", "detach", "narrow", "select",
}  # fmt: skip
ATTRIBUTES = {"T", "mT", "data"}
DEEP = 3  # functions that call each other


class Written(NamedTuple):
    """What the text of a `__getitem__` says: what takes a sample out of what the dataset keeps, and the statements
    that write through that, there or in functions that it calls."""

    head: Site
    path: str
    views: list[ast.Subscript]
    writes: list[Site]


def written(trace: Trace, cls: str, line: int, name: str) -> Written | None:
    """Of the class whose `__getitem__` begins at `line`, and whose attribute `name` keeps the samples."""
    for path, node in classes_named(trace, cls):
        for part in node.body:
            if isinstance(part, ast.FunctionDef) and part.name == "__getitem__":
                first = min([part.lineno, *(one.lineno for one in part.decorator_list)])
                if first == line:
                    return _read(trace, path, node, part, name)
    return None


def _read(trace: Trace, path: str, cls: ast.ClassDef, method: ast.FunctionDef, name: str) -> Written:
    own = method.args.args[0].arg if method.args.args else ""
    views = [
        node
        for node in own_nodes(method)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Attribute)
        and (node.value.attr, ast.unparse(node.value.value)) == (name, own)
    ]
    functions = {
        part.name: part for part in trace.source_file(path).nodes if isinstance(part, ast.FunctionDef)
    } | {part.name: part for part in cls.body if isinstance(part, ast.FunctionDef)}
    writes = [
        site_of(path, function.name, node)
        for function, node in _writes(method, set(), views, functions, DEEP)
    ]
    line = trace.source_file(path).lines[method.lineno - 1]
    head = Site(
        -1, path, method.lineno, method.col_offset + 1, method.lineno, len(line) + 1, method.name, "user"
    )
    return Written(head, path, views, sorted(set(writes), key=lambda site: (site.line, site.column)))


def _writes(
    function: ast.FunctionDef,
    names: set[str],
    views: list[ast.Subscript],
    functions: dict[str, ast.FunctionDef],
    deep: int,
) -> Iterator[tuple[ast.FunctionDef, ast.stmt | ast.expr]]:
    """The statements and calls that write to what the names have, or to the views themselves."""
    nodes = sorted(
        (n for n in own_nodes(function) if isinstance(n, (ast.stmt, ast.expr))), key=lambda n: n.lineno
    )
    known = set(names)

    def kept(node: ast.AST | None) -> bool:
        while True:
            if isinstance(node, ast.Name):
                return node.id in known
            if node in views:
                return True
            if isinstance(node, ast.Call) and called_name(node) in VIEWS:
                if any(kept(given) for given in node.args):
                    return True
                node = node.func.value if isinstance(node.func, ast.Attribute) else None
            elif isinstance(node, ast.Subscript) or (
                isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES
            ):
                node = node.value
            else:
                return False

    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and kept(target):
                    yield function, node
                elif isinstance(target, ast.Name) and kept(node.value):
                    known.add(target.id)
        elif isinstance(node, ast.AugAssign) and kept(node.target):
            yield function, node
        elif isinstance(node, ast.Call):
            called = called_name(node)
            method = node.func.value if isinstance(node.func, ast.Attribute) else None
            outs = [keyword.value for keyword in node.keywords if keyword.arg == "out"]
            if any(kept(out) for out in outs):
                yield function, node
            elif called.endswith("_") and not called.endswith("__") and kept(method):
                yield function, node
            elif called in functions and deep and not kept(method):
                inner = functions[called]
                taken = [one.arg for one in arguments(inner)]
                taken = taken[1:] if taken[:1] == ["self"] and method is not None else taken
                given = {name for name, value in zip(taken, node.args, strict=False) if kept(value)}
                given |= {k.arg for k in node.keywords if k.arg is not None and kept(k.value)}
                if given and inner is not function:
                    yield from _writes(inner, given, [], functions, deep - 1)
