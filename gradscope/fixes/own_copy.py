"""A copy for a function that writes in place to a tensor which its caller gave it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from gradscope.analysis.text import own_nodes
from gradscope.analysis.words import located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Site
from gradscope.source import FUNCTIONS, arguments, method_name, names_in
from gradscope.store import Trace


class OwnCopy(NamedTuple):
    """Where the function takes the caller's tensor without a copy (None: it writes to its argument as it is)."""

    alias: Site | None
    name: str  # of the variable written
    argument: str
    fix: str
    edits: Edits


def own_copy(trace: Trace, write: Site, name: str, saved: Iterable[Site]) -> OwnCopy | None:
    """The copy with which a function leaves its argument alone: where it writes, at `write`, to that argument by
    its own `name` or one that `out = x` gave it, and reads what it wrote. It mends all of the calls `saved` that
    have saved the tensor before; None where one of them is the function's own, on what it writes."""
    here = Source(trace, write.user.path)
    statement, function = here.file.statement(write.user), here.file.scope(write.user)
    if statement is None or not isinstance(function, FUNCTIONS) or not name.isidentifier():
        return None
    if function.name.endswith("_") or _result_is_dropped(trace, write):
        return None  # the caller wants its own tensor written
    loop, end = here.file.loop_of(statement), statement.end_lineno or statement.lineno
    last = max(end, (loop.end_lineno or 0) if loop is not None else 0)
    bound: dict[str, list[ast.Name]] = {name: []}
    for node in own_nodes(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno <= last:
            if not isinstance(here.file.parent.get(id(node)), ast.AugAssign):
                bound.setdefault(node.id, []).append(node)
    given = {one.arg for one in arguments(function)} - {"self", "cls"}
    if name in given and not bound[name]:
        begin = _first_write(here, function, name)
        if begin is None or not _is_read(here, function, name, end):
            return None
        found = OwnCopy(
            None,
            name,
            name,
            f"put `{name} = {name}.clone()` before {located(trace, _site(here, begin, function.name))}: the function"
            f" writes to the tensor that its caller gave it",
            here.before(begin, f"{name} = {name}.clone()"),
        )
    else:
        alias = here.file.parent.get(id(bound[name][0])) if len(bound[name]) == 1 else None
        if (
            not isinstance(alias, ast.Assign)
            or len(alias.targets) != 1
            or not isinstance(alias.value, ast.Name)
        ):
            return None
        argument, begin = alias.value.id, alias
        if argument not in given or bound.get(argument) or not _is_read(here, function, name, end):
            return None
        if loop is not None and here.file.loop_of(alias) is loop:
            return None
        site = _site(here, alias, function.name)
        found = OwnCopy(
            site,
            name,
            argument,
            f"write `{name} = {argument}.clone()` in place of {located(trace, site)}: that line makes no copy of what"
            f" the function was given",
            here.append(alias.value, ".clone()"),
        )
    for one in saved:
        for frame in one.stack:
            own = here.file.statement(frame) if frame.path == here.path else None
            inside = own is not None and here.file.scope(frame) is function
            if inside and own is not None and own.lineno >= begin.lineno and name in names_in(own):
                return None
    return found


def _result_is_dropped(trace: Trace, write: Site) -> bool:
    """Whether the function is called as a statement of its own: for what it writes."""
    frames = [frame for frame in write.stack if frame.kind == "user"]
    inner = write.user
    place = next((n for n, frame in enumerate(frames) if frame is inner), 0)
    if not place:
        return False
    caller = frames[place - 1]
    file = trace.source_file(caller.path)
    node = file.at(caller)
    return node is None or isinstance(file.parent.get(id(node)), ast.Expr)


def _first_write(here: Source, function: ast.AST, name: str) -> ast.stmt | None:
    """The statement of the function's own block with the first write to this variable."""
    writes: list[int] = []
    for node in own_nodes(function):
        target: ast.AST | None = None
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            target = node.value
        elif isinstance(node, ast.AugAssign):
            target = node.target
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and method_name(node).endswith("_")
        ):
            target = node.func.value
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Name) and target.id == name:
            writes.append(target.lineno)
    block = getattr(function, "body", [])
    return next(
        (s for s in block if writes and s.lineno <= min(writes) <= (s.end_lineno or s.lineno)),
        None,
    )


def _is_read(here: Source, function: ast.AST, name: str, after: int) -> bool:
    """Whether the function itself goes on with what it wrote: it returns it, or gives it to a call."""
    for node in own_nodes(function):
        if (
            isinstance(node, ast.Name)
            and node.id == name
            and isinstance(node.ctx, ast.Load)
            and node.lineno > after
        ):
            above = here.file.parent.get(id(node))
            part = (
                isinstance(above, ast.Subscript)
                and above.value is node
                and not isinstance(above.ctx, ast.Load)
            )
            if not part:
                return True
    return False


def _site(here: Source, node: ast.stmt, function: str) -> Site:
    return Site(-1, here.path, *here.file.span(node), function, "user")
