"""Functions of the program that put what they are given into a list, and the calls that give it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.memo import once
from gradscope.rules._common import nodes_of_program
from gradscope.store import Trace

Keepers = frozenset[tuple[str, int | str]]  # (function, position or name of the argument; "**" for any other)


@once
def keepers(trace: Trace) -> Keepers:
    """The arguments that the program's functions put into a list as they are."""
    nodes = list(nodes_of_program(trace))
    methods = {id(f) for c in nodes if isinstance(c, ast.ClassDef) for f in c.body if not _static(f)}
    found: set[tuple[str, int | str]] = set()
    for function in (node for node in nodes if isinstance(node, ast.FunctionDef)):
        found |= _kept(function, bound=id(function) in methods)
    return frozenset(found)


def _static(node: ast.AST) -> bool:
    return any(getattr(d, "id", "") == "staticmethod" for d in getattr(node, "decorator_list", ()))


def _kept(function: ast.FunctionDef, *, bound: bool) -> set[tuple[str, int | str]]:
    names = [arg.arg for arg in function.args.args[bound:]]
    only = [arg.arg for arg in function.args.kwonlyargs]
    others = function.args.kwarg.arg if function.args.kwarg is not None else None
    nodes = list(own_nodes(function))
    held = {getattr(k, "id", "") for n in nodes for k in kept_by_append(n)}
    held |= {of for name, of in _items(nodes) if name in held}
    found: set[tuple[str, int | str]] = set()
    for i, name in enumerate(names):
        found |= {(function.name, i), (function.name, name)} if name in held else set()
    found |= {(function.name, name) for name in only if name in held}
    return found | ({(function.name, "**")} if others in held else set())


def _items(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """(value, dictionary) of every `for key, value in dictionary.items()`."""
    for node in nodes:
        if (
            isinstance(node, ast.For)
            and isinstance(node.target, ast.Tuple)
            and isinstance(node.iter, ast.Call)
        ):
            function, value = node.iter.func, node.target.elts[-1]
            if isinstance(function, ast.Attribute) and function.attr == "items":
                yield getattr(value, "id", ""), getattr(function.value, "id", "")


def kept_by_append(node: ast.AST) -> list[ast.expr]:
    """What `….append(x)`, `….append((step, x))` or `… += [x]` puts into a list."""
    if isinstance(node, ast.AugAssign):
        return node.value.elts if isinstance(node.value, ast.List) else []
    if not isinstance(node, ast.Call):
        return []
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "append" or len(node.args) != 1:
        return []
    return _parts(node.args[0])


def given_to(node: ast.AST, keepers: Keepers) -> list[ast.expr]:
    """What a call gives to a function that keeps it."""
    if not isinstance(node, ast.Call):
        return []
    name = method(node) or getattr(node.func, "id", "")
    given = [arg for i, arg in enumerate(node.args) if (name, i) in keepers]
    given += [k.value for k in node.keywords if (name, k.arg or "**") in keepers or (name, "**") in keepers]
    return [part for arg in given for part in _parts(arg)]


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, (ast.Tuple, ast.List)):
        return node.elts
    return node.values if isinstance(node, ast.Dict) else [node]


def method(node: ast.Call) -> str:
    """The name of the method that is called; "" for anything else."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or module without those of the functions in it."""
    todo = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo += ast.iter_child_nodes(node)
