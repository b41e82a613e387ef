"""Iterators that an earlier statement has gone through: whoever asks them again gets nothing."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gradscope.analysis.text import own_nodes, site_of
from gradscope.model import Site
from gradscope.source import called_name, names_in
from gradscope.store import Trace

GIVING = {
    "filter", "map", "zip", "iter", "chain", "parameters", "named_parameters", "buffers", "children", "modules",
    "named_modules", "named_children", "enumerate", "reversed",
}  # fmt: skip


class UsedUp(NamedTuple):
    name: str
    made: Site  # the expression that gave the iterator
    read: Site  # the statement that has gone through it
    value: ast.expr


def used_up(trace: Trace, place: Site) -> UsedUp | None:
    """The iterator that the call at `place` is given under a name, where an earlier line of its function reads it."""
    file = trace.source_file(place.path)
    call = file.at(place)
    if not isinstance(call, ast.expr):
        return None
    nodes = list(own_nodes(file.scope(place)))
    for name in sorted(names_in(call, ast.Load)):
        given = [v for n in nodes if isinstance(n, ast.Assign) for v in _given(n, name)]
        if len(given) != 1 or not _is_iterator(given[0]) or given[0].lineno >= call.lineno:
            continue
        reads = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
        before = [n for n in reads if given[0].lineno < n.lineno < call.lineno]
        if before:
            first = min(before, key=lambda n: n.lineno)
            made, read = (site_of(place.path, place.function, node) for node in (given[0], first))
            return UsedUp(name, made, read, given[0])
    return None


def _given(line: ast.Assign, name: str) -> list[ast.expr]:
    """What an assignment gives to a name: of `a, b = one, other` its own part."""
    found = []
    for target in line.targets:
        pairs = [(target, line.value)]
        if isinstance(target, ast.Tuple) and isinstance(line.value, ast.Tuple):
            pairs = list(zip(target.elts, line.value.elts, strict=False))
        found += [value for to, value in pairs if name in names_in(to, ast.Store)]
    return found


def _is_iterator(value: ast.expr) -> bool:
    return isinstance(value, ast.GeneratorExp) or (
        isinstance(value, ast.Call) and called_name(value) in GIVING
    )
