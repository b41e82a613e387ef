"""The mechanical fixes that are one change of one call or statement, by the sites of a finding.

Like those of `_edits.py`, each gives no edits where the source is not plain enough for it.
"""

from __future__ import annotations

import ast

from gradscope.model import Edit, Site
from gradscope.rules._edits import Edits, Source
from gradscope.store import Trace

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def line_before(trace: Trace, site: Site | None, text: str) -> Edits:
    """The statement `text` on a line of its own before the one at `site`."""
    return (here := Source(trace, site.path)).before(here.file.statement(site), text) if site else ()


def line_after(trace: Trace, site: Site | None, text: str) -> Edits:
    """The statement `text` on a line of its own after the one at `site`."""
    return (here := Source(trace, site.path)).after(here.file.statement(site), text) if site else ()


def beside(trace: Trace, site: Site | None, other: Site | None) -> bool:
    """Whether both stand in the same function, so that the names of one are known at the other."""
    if site is None or other is None or site.path != other.path:
        return False
    file = trace.source_file(site.path)
    scopes = [[node for node in file.around(s) if isinstance(node, _SCOPES)][:1] for s in (site, other)]
    return file.tree is not None and scopes[0] == scopes[1]


def under_no_grad(trace: Trace, site: Site | None) -> Edits:
    """The statement at `site`, which gives names their values, under `with torch.no_grad():`."""
    if site is None:
        return ()
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    plain = isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr))
    return here.under(statement, "with torch.no_grad():") if plain and "torch" in here.file.imported else ()


def moved(trace: Trace, site: Site | None, target: Site | None, *, after: bool = False) -> Edits:
    """The call at `site`, which is a statement, to the line right before or after that of `target`.

    Not where a loop stands around one of them alone: it would run more often, or less."""
    if site is None or target is None or not beside(trace, site, target):
        return ()
    here = Source(trace, site.path)
    statement, to = here.file.statement(site), here.file.statement(target)
    if statement is None or to is None or not _as_often(here, statement, to):
        return ()
    return _to(here, statement, to, after=after)


def moved_behind(trace: Trace, site: Site | None, target: Site | None) -> Edits:
    """The call at `site`, which is a statement, behind that of `target`, and behind the loop or
    condition that `target` stands in and `site` does not."""
    if site is None or target is None or not beside(trace, site, target):
        return ()
    here = Source(trace, site.path)
    statement, to = here.file.statement(site), here.file.statement(target)
    if statement is None or to is None:
        return ()
    around = next((s for s in here.siblings(statement) if _holds(s, to)), None)
    return _to(here, statement, around, after=True) if around is not None else ()


def _to(here: Source, statement: ast.stmt, to: ast.stmt, *, after: bool) -> Edits:
    text = here.text_of(statement)
    if not isinstance(statement, ast.Expr) or statement is to or not text:
        return ()
    placed = (here.after if after else here.before)(to, text)
    removed = here.remove(statement)
    return removed + placed if placed and removed else ()


def _holds(statement: ast.stmt, other: ast.stmt) -> bool:
    return any(node is other for node in ast.walk(statement))


def _as_often(here: Source, statement: ast.stmt, to: ast.stmt) -> bool:
    """Whether the same loops stand around both."""
    loops: list[list[int]] = []
    for node in (statement, to):
        found: list[int] = []
        above: ast.AST | None = here.file.parent.get(id(node))
        while above is not None and not isinstance(above, _SCOPES):
            found += [id(above)] if isinstance(above, _LOOPS) else []
            above = here.file.parent.get(id(above))
        loops.append(found)
    return loops[0] == loops[1]


def assigned_back(trace: Trace, site: Site | None) -> Edits:
    """`x.detach()` as a statement: `x = x.detach()`."""
    node = _call(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute):
        return ()
    here, target = Source(trace, site.path), node.func.value
    named = isinstance(target, (ast.Name, ast.Attribute, ast.Subscript))
    alone = isinstance(here.file.parent.get(id(node)), ast.Expr)
    return here.insert(node, f"{here.file.text(target)} = ") if named and alone else ()


def without_argument(trace: Trace, site: Site | None, name: str) -> Edits:
    """The call at `site` without this keyword."""
    node = _call(trace, site)
    keyword = next((k for k in node.keywords if k.arg == name), None) if node is not None else None
    if site is None or node is None or keyword is None:
        return ()
    return Source(trace, site.path).without_keyword(node, keyword)


def with_argument(trace: Trace, site: Site | None, name: str, value: str, position: int = -1) -> Edits:
    """The call at `site` with `name=value`, in the place of what it gives for that now."""
    node = _call(trace, site)
    if site is None or node is None:
        return ()
    here = Source(trace, site.path)
    given = [k.value for k in node.keywords if k.arg == name] + node.args[position : position + 1]
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return ()
    if (position >= 0 and given) or any(k.arg == name for k in node.keywords):
        return here.replace(given[0], value)
    arguments: list[ast.expr] = [*node.args, *(k.value for k in node.keywords)]
    if not arguments or isinstance(arguments[0], ast.GeneratorExp):
        return ()
    last = max(arguments, key=lambda a: (a.end_lineno or 0, a.end_col_offset or 0))
    return here.append(last, f", {name}={value}")


def renamed(trace: Trace, site: Site | None, old: str, new: str) -> Edits:
    """`module.old(…)` or `old(…)` at `site` as a call of `new`; only of a function of torch's that
    is named by its module, so that `new` is known there too."""
    node = _call(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute) or node.func.attr != old:
        return ()
    here = Source(trace, site.path)
    _, _, line, end = here.file.span(node.func)
    return (Edit(site.path, line, end - len(old), line, end, new),)


def receiver_in_place_of(trace: Trace, site: Site | None, method: str) -> Edits:
    """`x` for the call `x.item()` at `site`, or `model` for `model.forward` in `model.forward(x)`."""
    node = _call(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute) or node.func.attr != method:
        return ()
    here, target = Source(trace, site.path), node.func.value
    return here.replace(node.func if method == "forward" else node, here.file.text(target))


def _call(trace: Trace, site: Site | None) -> ast.Call | None:
    node = trace.source_file(site.path).at(site) if site is not None else None
    return node if isinstance(node, ast.Call) else None


def receiver_replaced(trace: Trace, site: Site | None, method: str, name: str, made: Site | None) -> Edits:
    """`opt.zero_grad()` for the call `model.zero_grad()` at `site`, where `opt`, made at `made`, is known."""
    node = _call(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute) or node.func.attr != method:
        return ()
    known = name.isidentifier() and beside(trace, site, made)
    return Source(trace, site.path).replace(node.func.value, name) if known else ()


def without_inference(trace: Trace, site: Site) -> Edits:
    """`with torch.no_grad():` in place of the `with torch.inference_mode():` that opens at `site`."""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    for item in statement.items if isinstance(statement, ast.With) else ():
        call = item.context_expr
        if isinstance(call, ast.Call) and ast.unparse(call) == "torch.inference_mode()":
            return here.replace(call, "torch.no_grad()")
    return ()
