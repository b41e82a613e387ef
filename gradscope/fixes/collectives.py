"""Repairs of what a program sends between its ranks by itself."""

from __future__ import annotations

import ast

from gradscope.fixes.source import Edits, Source
from gradscope.model import Site
from gradscope.source import SourceFile
from gradscope.store import Trace


def divided_by_ranks(trace: Trace, site: Site) -> Edits:
    """`p.grad /= dist.get_world_size()` behind `dist.all_reduce(p.grad)` at `site`, where that is a statement which
    waits."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
        return ()
    given, holder = call.args[0], here.file.text(call.func.value)
    plain = isinstance(given, (ast.Name, ast.Attribute)) and isinstance(
        here.file.parent.get(id(call)), ast.Expr
    )
    if not plain or any(word.arg == "async_op" for word in call.keywords):
        return ()
    return here.after(here.file.statement(site), f"{here.file.text(given)} /= {holder}.get_world_size()")


def written_back(trace: Trace, site: Site) -> Edits:
    """`p.grad = copy` behind `dist.all_reduce(copy)` at `site`, where the copy was made of one `p.grad`."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    statement = here.file.statement(site)
    if not isinstance(given, ast.Name) or not isinstance(statement, ast.Expr) or statement.value is not call:
        return ()
    for beside in here.file.siblings(statement):
        target = beside.targets[0] if isinstance(beside, ast.Assign) and len(beside.targets) == 1 else None
        if isinstance(beside, ast.Assign) and isinstance(target, ast.Name) and target.id == given.id:
            grads = {
                here.file.text(n)
                for n in ast.walk(beside.value)
                if isinstance(n, ast.Attribute) and n.attr == "grad"
            }
            return here.after(statement, f"{grads.pop()} = {given.id}") if len(grads) == 1 else ()
    return ()


def summed_in_backward(trace: Trace, path: str, cls: ast.ClassDef) -> Edits:
    """`g = g.clone()` and `dist.all_reduce(g)` before the `return g` of a Function's backward."""
    here = Source(trace, path)
    given = _handed_on(cls)
    module = _distributed(here.file)
    if given is None or not module or not isinstance(given.value, ast.Name):
        return ()
    name = given.value.id
    return here.before(given, f"{name} = {name}.clone()", f"{module}.all_reduce({name})")


def hands_gradient_on(file: SourceFile, name: str) -> ast.ClassDef | None:
    """The class of a Function whose backward gives back the one gradient that arrives, as it is."""
    for node in file.nodes:
        if isinstance(node, ast.ClassDef) and node.name == name and _handed_on(node) is not None:
            return node
    return None


def _handed_on(cls: ast.ClassDef) -> ast.Return | None:
    for method in cls.body:
        if isinstance(method, ast.FunctionDef) and method.name == "backward" and len(method.args.args) == 2:
            last = method.body[-1]
            if (
                isinstance(last, ast.Return)
                and isinstance(last.value, ast.Name)
                and last.value.id == method.args.args[1].arg
            ):
                return last
    return None


def _distributed(file: SourceFile) -> str:
    """By which name a file knows `torch.distributed`; "" where it does not."""
    for node in file.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch.distributed":
                    return alias.asname or alias.name
        elif isinstance(node, ast.ImportFrom) and node.module == "torch":
            for alias in node.names:
                if alias.name == "distributed":
                    return alias.asname or alias.name
    return ""
