"""Losses that are given two tensors of different shapes, where another line gives the same function two of one shape,
and a name of that line is here, too, and never read."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gradscope.analysis.ops import LOSSES
from gradscope.analysis.text import own_nodes
from gradscope.analysis.words import where
from gradscope.crashes import Crash, Place, explain
from gradscope.model import Site
from gradscope.source import names_in


class _Other(NamedTuple):
    site: Site
    call: str  # as it is written there
    shape: tuple[int, ...]  # that both of its operands had
    unread: str  # the name that nothing reads here


def _other(crash: Crash) -> _Other | None:
    file = crash.trace.source_file(crash.site.path)
    call = file.at(crash.site)
    if not isinstance(call, ast.Call):
        return None
    given = {name for one in call.args for name in names_in(one)}
    scope = file.scope(crash.site)
    bound = names_in(scope, ast.Store)
    for graph in reversed(crash.trace.graphs):
        for op in graph.called(LOSSES):
            there = crash.trace.source_file(op.site.user.path).at(op.site.user)
            if not isinstance(there, ast.Call) or ast.unparse(there.func) != ast.unparse(call.func):
                continue
            shapes = {tuple(graph.values[value].shape) for value in op.inputs[:2]}
            named = [one.id for one in there.args if isinstance(one, ast.Name)]
            unread = [name for name in named if name not in given and not _is_read(scope, name)]
            fits = len(named) == 2 == len(call.args) and bound.issuperset(named)
            if len(shapes) == 1 and len(op.inputs) > 1 and fits and len(unread) == 1:
                return _Other(op.site.user, ast.unparse(there), shapes.pop(), unread[0])
    return None


def _is_read(scope: ast.AST, name: str) -> bool:
    """Whether a function reads a name for anything but to give it a value anew (`x = x.to(device)`)."""
    anew = {
        id(part)
        for node in own_nodes(scope)
        if isinstance(node, ast.Assign) and name in names_in(node, ast.Store)
        for part in ast.walk(node)
    }
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and id(node) not in anew
        for node in ast.walk(scope)
    )


def _words(crash: Crash) -> dict[str, str]:
    other = _other(crash)
    if other is None:
        return {}
    call = crash.trace.source_file(crash.site.path).at(crash.site)
    return {
        "written": ast.unparse(call) if isinstance(call, ast.Call) else "",
        "call": other.call,
        "unread": other.unread,
        "place": where(other.site),
    }


def _seen(crash: Crash) -> list[str]:
    other = _other(crash)
    if other is None:
        return []
    shapes = [f"`{t['name']}` {list(t['shape'])}" for t in crash.tensors[:2]]
    return [
        *([f"here: {', '.join(shapes)}"] if shapes else []),
        f"there: both {list(other.shape)}",
        f"nothing in this function reads `{other.unread}`",
    ]


def _related(crash: Crash) -> list[Place]:
    other = _other(crash)
    return [(other.site, "gives the same loss two tensors of one shape")] if other is not None else []


explain(
    "other-operands",
    r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)",
    "`{written}` was given other tensors than at {place}: `{unread}` is never read here",
    why="there it is `{call}`, of two tensors of one shape; here the two differ, and what is left over has a name"
    " of that call",
    fix="write `{call}` in place of `{written}`, as {place} does",
    when=lambda crash: _other(crash) is not None,
    cause=lambda crash: None,
    words=_words,
    seen=_seen,
    related=_related,
)
