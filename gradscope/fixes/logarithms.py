"""The one call in place of a logarithm and of what it is taken of: `log_softmax`, `logsumexp`.

Each gives no edits where the source is not plain enough for it.
"""

from __future__ import annotations

import ast

from gradscope.fixes.calls import renamed, unwrapped
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Site
from gradscope.store import Trace

MOST = 8  # names on the way from a softmax to its logarithm


def with_softmax(trace: Trace, softmax: Site, log: Site) -> Edits:
    """The softmax's call as one of `log_softmax`, and what the logarithm was taken of in its place."""
    here = Source(trace, softmax.path)
    inner, outer = here.file.at(softmax), here.file.at(log) if log.path == softmax.path else None
    if isinstance(inner, ast.Call) and isinstance(outer, ast.Call) and inner in ast.walk(outer):
        if inner not in (*outer.args, getattr(outer.func, "value", None)):
            return ()
        edits = renamed(trace, softmax, "softmax", "log_softmax")
        return here.replace(outer, here.text_after(inner, edits)) if edits else ()
    one, other = renamed(trace, softmax, "softmax", "log_softmax"), unwrapped(trace, log)
    return (*one, *other) if one and other else ()


def with_others(trace: Trace, softmax: Site, log: Site) -> tuple[str, Edits]:
    """The same where the names that the probabilities have on their way to the logarithm are read by others, too, or
    some of them are picked there: each other reader gets the exponential. What one of them is given, and the edits."""
    here = Source(trace, softmax.path)
    inner, outer = here.file.at(softmax), here.file.at(log) if log.path == softmax.path else None
    if not isinstance(inner, ast.Call) or not isinstance(outer, ast.Call):
        return "", ()
    scope = here.file.scope_of(outer)
    one, other = renamed(trace, softmax, "softmax", "log_softmax"), unwrapped(trace, log)
    if scope is None or scope is not here.file.scope_of(inner) or not one or not other:
        return "", ()
    way: list[ast.Name] = []  # from the logarithm back
    node = _picked_from(here, outer, inner)
    while isinstance(node, ast.Name):
        way.append(node)
        bound = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == node.id]
        stores = [n for n in bound if not isinstance(n.ctx, ast.Load)]
        statement = here.file.parent.get(id(stores[0])) if len(stores) == 1 else None
        if not isinstance(statement, ast.Assign) or len(way) > MOST:
            return "", ()
        node = statement.value if statement.value is inner else _picked_from(here, statement.value, inner)
    if node is not inner:
        return "", ()
    names = {name.id for name in way}
    others = [
        name
        for name in ast.walk(scope)
        if isinstance(name, ast.Name) and name.id in names and isinstance(name.ctx, ast.Load)
        if all(name is not own for own in way)
    ]
    above = [here.file.parent.get(id(name)) for name in others]
    if any(isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load) for one in above):
        return "", ()
    changed = [here.behind(name, ".exp()") for name in others]
    return way[0].id if way else "", (*one, *other, *(edit for edits in changed for edit in edits))


def _picked_from(here: Source, node: ast.expr | None, inner: ast.Call) -> ast.expr | None:
    """The name, or the call itself, that calls of methods and of torch's functions, and indices, begin with."""
    while node is not None and node is not inner and not isinstance(node, ast.Name):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            imported = here.file.is_imported(node.func)
            node = (node.args[0] if node.args else None) if imported else node.func.value
        else:
            return None
    return node


def with_sum(trace: Trace, log: Site) -> tuple[str, Edits]:
    """`torch.logsumexp(x, -1)` for `torch.log(torch.exp(x).sum(-1))` at `log`, however it is written, and the edit;
    "" where it is not written in one."""
    here = Source(trace, log.path)
    node = here.file.at(log)
    text = _in_one(here, node)
    plain = text and "torch" in here.file.imported and isinstance(node, ast.Call)
    return text, here.replace(node, text) if plain and isinstance(node, ast.Call) else ()


def _in_one(here: Source, log: ast.AST | None) -> str:
    total, more = _taken_of(here, log, "log")
    added, how = _taken_of(here, total, "sum")
    exponent, other = _taken_of(here, added, "exp")
    if exponent is None or more or other or not how or how[0].arg not in (None, "dim"):
        return ""
    if any(keyword.arg not in (None, "dim", "keepdim") for keyword in how):
        return ""
    given = ", ".join(f"{f'{one.arg}=' if one.arg else ''}{here.part(one.value, Binds.WHOLE)}" for one in how)
    return f"torch.logsumexp({here.part(exponent, Binds.WHOLE)}, {given})"


def _taken_of(here: Source, node: ast.AST | None, name: str) -> tuple[ast.expr | None, list[ast.keyword]]:
    """What `torch.name(x, …)` or `x.name(…)` is taken of, and its other arguments."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != name:
        return None, []
    args = [ast.keyword(None, arg) for arg in node.args]
    if not here.file.is_imported(node.func):
        return node.func.value, [*args, *node.keywords]
    return (node.args[0], [*args[1:], *node.keywords]) if node.args else (None, [])
