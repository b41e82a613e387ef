"""The user's own `autograd.Function`s in the text of the program: their methods, and what a backward returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.keeping import assigned
from gradscope.analysis.ops import EXPONENTIALS, LOGARITHMS, QUOTIENTS, ROOTS
from gradscope.analysis.text import head_of
from gradscope.model import Site
from gradscope.source import called_name, names_in
from gradscope.store import Trace

BACKWARD = ("backward", "vjp")


def methods(
    trace: Trace, cls: str, line: int, names: tuple[str, ...] = BACKWARD
) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Those of these names, each with its file, in the class of that name that this line lies in."""
    for path in trace.sources:
        for _, node in trace.source_file(path).of(ast.ClassDef):
            if node.name == cls and node.lineno <= line <= (node.end_lineno or node.lineno):
                yield from (
                    (path, part)
                    for part in node.body
                    if isinstance(part, ast.FunctionDef) and part.name in names
                )


def arguments(method: ast.FunctionDef) -> list[str]:
    """What it calls its arguments, without the context."""
    return [a.arg for a in method.args.args if a.arg not in ("ctx", "self")]


def results(method: ast.FunctionDef) -> list[ast.expr]:
    """What its `return`s give."""
    return [n.value for n in ast.walk(method) if isinstance(n, ast.Return) and n.value is not None]


def definition_of(trace: Trace, cls: str, line: int) -> Site | None:
    """The line of `backward` in the user's class."""
    return next((head_of(path, part) for path, part in methods(trace, cls, line)), None)


def returned(trace: Trace, cls: str, line: int, position: int) -> Site | None:
    """What the `backward` of the user's class returns for an argument, where it returns at one place."""
    for path, part in methods(trace, cls, line):
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


def gradient_at(trace: Trace, cls: str, line: int, position: int) -> Site | None:
    """What its `backward` returns for an argument, or where it begins if it returns at several places."""
    return returned(trace, cls, line, position) or definition_of(trace, cls, line)


DELICATE = EXPONENTIALS | LOGARITHMS | QUOTIENTS | (ROOTS - {"var"})


def delicate_in(trace: Trace, cls: str, line: int) -> list[tuple[Site, str]]:
    """The calls and quotients of which its `backward` makes what it returns and that can give infinity or NaN, each
    with the name of what it does: calls before quotients, in the order of the text."""
    found = []
    for path, method in methods(trace, cls, line):
        file = trace.source_file(path)
        for value in _returned_values(method):
            for node in ast.walk(value):
                name = (
                    "div"
                    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
                    else called_name(node)
                )
                if isinstance(node, ast.expr) and name in DELICATE:
                    found.append((Site(-1, path, *file.span(node), method.name, "user"), name))
    return sorted(found, key=lambda one: (one[1] in QUOTIENTS, one[0].line, one[0].column))


def _returned_values(method: ast.FunctionDef) -> list[ast.expr]:
    """What its `return`s give, and what the names in that were given."""
    values = results(method)
    given = [n for n in ast.walk(method) if isinstance(n, ast.Assign | ast.AugAssign | ast.AnnAssign)]
    names = {name for value in values for name in names_in(value, ast.Load)}
    for statement in sorted(given, key=lambda n: -n.lineno):
        if statement.value is not None and assigned(statement) & names:
            values.append(statement.value)
            names |= names_in(statement.value, ast.Load)
    return values
