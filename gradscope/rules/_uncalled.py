"""Methods that the program names and does not call: `opt.zero_grad` without its parentheses."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from gradscope.model import Edit, Site
from gradscope.store import Trace


def uncalled(trace: Trace, methods: Collection[str]) -> Iterator[tuple[str, str, ast.Attribute]]:
    """(file, function, expression) of each statement that only names one of these methods, in
    functions that ran."""
    for path, function, node in nodes_that_ran(trace):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute):
            if node.value.attr in methods:
                yield path, function, node.value


def nodes_that_ran(trace: Trace) -> Iterator[tuple[str, str, ast.AST]]:
    """(file, function, node) of all that stands in functions of the program that ran."""
    ran = {(site.path, site.function.split(".")[-1]) for site in trace.sites if site.kind == "user"}
    for path in trace.sources:
        for function, node in _nodes(trace.source_file(path).tree):
            if (path, function) in ran:
                yield path, function, node


def not_called(trace: Trace, method: str) -> Site | None:
    """The first place that names this method without calling it."""
    return next((site_of(*found) for found in uncalled(trace, {method})), None)


def site_of(path: str, function: str, node: ast.expr) -> Site:
    """The place of an expression as the program's text has it."""
    return Site(
        -1, path, node.lineno, node.col_offset + 1, node.end_lineno or node.lineno, (node.end_col_offset or 0) + 1,
        function, "user",
    )  # fmt: skip


def named_subject(site: Site) -> tuple[str, tuple[str, int]]:
    """Names such a statement, for what several rules say about it."""
    return "named", site.location()


def parentheses(site: Site) -> tuple[Edit, ...]:
    """The edit that makes a call of a named method."""
    return (Edit(site.path, site.end_line, site.end_column, site.end_line, site.end_column, "()"),)


def _nodes(tree: ast.AST | None) -> Iterator[tuple[str, ast.AST]]:
    """(name of the function it stands in, node) of a whole file."""
    todo: list[tuple[str, ast.AST]] = [("<module>", tree)] if tree is not None else []
    while todo:
        function, node = todo.pop()
        yield function, node
        inner = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        todo += [(inner, child) for child in ast.iter_child_nodes(node)]
