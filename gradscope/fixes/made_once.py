"""Layers and parameters that a method makes anew at every call, made once in `__init__`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain, count
from typing import NamedTuple

from gradscope.analysis.text import site_of
from gradscope.fixes.source import Edits, Source
from gradscope.model import Site
from gradscope.source import FUNCTIONS, PRIMARIES, bound_in, called_name, names_in, own_name
from gradscope.store import Trace


class Once(NamedTuple):
    """attributes: as what they are set. at: what stands for them, in the method. Without edits all of it is empty."""

    attributes: list[str]
    at: Site | None
    edits: Edits


NOWHERE = Once([], None, ())


def made_once(trace: Trace, sites: list[Site]) -> Once:
    """The layers or parameters that the calls at `sites`, in one method, make: as attributes that `__init__` sets, or
    as one of all where they stand in one list. `NOWHERE` where they need what only the method knows."""
    here = Source(trace, sites[0].path)
    calls = [node for site in sites if isinstance(node := here.file.at(site), ast.Call)]
    method = here.file.scope_of(calls[0]) if calls else None
    if len(calls) != len(sites) or not isinstance(method, FUNCTIONS) or not method.args.args:
        return NOWHERE
    init = _init(here, method)
    if init is None:
        return NOWHERE
    own = method.args.args[0].arg
    known = bound_in(method) - {own}
    parts = _whole(here, calls, method) or [(call, here.file.text(call)) for call in calls]
    taken = {n.attr for n in ast.walk(init[1]) if isinstance(n, ast.Attribute)}
    edits: Edits = ()
    names, lines = [], []
    for node, text in parts:
        needed = _written_out(here, method, node, known)
        if needed is None:
            return NOWHERE
        statement = _sets(here, node, own)
        name = _free(_named(here, node), taken - ({_named(here, node)} if statement is not None else set()))
        taken.add(name)
        names.append(f"{own}.{name}")
        plain = here.file.text(node)  # which a `ModuleList` may stand around
        lines.append(
            f"{own}.{name} = {text.replace(plain, here.text_after(node, needed)) if needed else text}"
        )
        edits += here.remove(statement) if statement is not None else here.replace(node, f"{own}.{name}")
    indent = " " * init[0].body[-1].col_offset
    begun = here.after(init[0].body[-1], f"\n{indent}".join(lines))
    if not begun:
        return NOWHERE
    return Once(names, site_of(here.path, sites[0].function, parts[0][0]), begun + edits)


def _init(here: Source, method: ast.AST) -> tuple[ast.FunctionDef, ast.ClassDef] | None:
    holder = here.file.parent.get(id(method))
    if not isinstance(holder, ast.ClassDef):
        return None
    found = [s for s in holder.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"]
    return (found[0], holder) if found else None


def _whole(here: Source, calls: list[ast.Call], method: ast.AST) -> list[tuple[ast.expr, str]]:
    """The list that all of them stand in, of calls only, as a `ModuleList`; or the `Sequential` that they are given."""
    for node in here.file.above(calls[0]):
        if node is method:
            break
        if isinstance(node, ast.List) and _holds(node.elts, calls):
            prefix, dot, _ = ast.unparse(calls[0].func).rpartition(".")
            return [(node, f"{prefix}.ModuleList({here.file.text(node)})")] if dot else []
        if isinstance(node, ast.Call) and _holds(node.args, calls):
            if ast.unparse(node.func).endswith("Sequential"):
                return [(node, here.file.text(node))]
    return []


def _sets(here: Source, node: ast.expr, own: str) -> ast.Assign | None:
    """The statement that makes an attribute of the object's of it."""
    statement = here.file.parent.get(id(node))
    if not isinstance(statement, ast.Assign) or statement.value is not node or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    held = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == own
    return statement if held else None


def _written_out(here: Source, method: ast.AST, node: ast.expr, known: set[str]) -> Edits | None:
    """What stands in place of the names in it that the method binds: of each the one value that it gives it, where
    that needs none of them. None where a name has another value."""
    edits: Edits = ()
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one.id in known:
            values = [value for name, value in _values(method) if name == one.id]
            if len(values) != 1 or values[0] is None or known & names_in(values[0]):
                return None
            text = here.file.text(values[0])
            edits += here.replace(one, text if isinstance(values[0], PRIMARIES) else f"({text})")
    return edits


def _values(method: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Each name that a method binds, with the expression that it gives it, where that is plain."""
    plain: dict[int, ast.expr] = {}  # id of a name → its value
    for node in ast.walk(method):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target.elts, value.elts, strict=False) if both else [(target, value)]  # type: ignore[attr-defined]
            plain |= {id(name): given for name, given in pairs if isinstance(name, ast.Name)}
    for node in ast.walk(method):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, plain.get(id(node))
        elif isinstance(node, ast.arg):
            yield node.arg, None


def _holds(elements: list[ast.expr], calls: list[ast.Call]) -> bool:
    """Whether these are several calls, and nothing else, and all of `calls` are among them."""
    several = len(elements) > 1 and all(isinstance(one, ast.Call) for one in elements)
    return several and all(any(call is one for one in elements) for call in calls)


def _named(here: Source, node: ast.expr) -> str:
    """What it is assigned to, else its class in small letters."""
    statement = here.file.statement_of(node)
    if isinstance(statement, ast.Assign) and statement.value is node and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, (ast.Name, ast.Attribute)):
            return own_name(target)
    return called_name(node).lower() if isinstance(node, ast.Call) else "layers"


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where it is taken."""
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(one for one in names if one not in taken)
