"""The one call in place of a logarithm and of what it is taken of: `log_softmax`, `logsumexp`.

Each gives no edits where the source is not plain enough for it.
"""

from __future__ import annotations

import ast

from gradscope.fixes.calls import renamed, unwrapped
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Site
from gradscope.store import Trace


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
