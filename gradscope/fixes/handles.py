"""Hooks that are taken off again."""

from __future__ import annotations

import ast

from gradscope.fixes.source import Edits, Source
from gradscope.model import Edit, Site
from gradscope.source import names_in
from gradscope.store import Trace


def taken_off(trace: Trace, sites: list[Site]) -> Edits:
    """The handles of the hooks that are put somewhere at these places, statements of one function, kept and removed
    before that returns. Not where it returns elsewhere too, or what it returns may still call the model."""
    here = Source(trace, sites[0].path)
    statements, function = [here.file.statement(site) for site in sites], here.file.scope(sites[0])
    if not isinstance(function, ast.FunctionDef):
        return ()
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    last = function.body[-1]
    calls = [node for node in ast.walk(last) if isinstance(node, ast.Call)] if returns else []
    if returns not in ([], [last]) or any(isinstance(call.func, ast.Name) for call in calls):
        return ()
    taken = names_in(function, ast.Load) | names_in(function, ast.Store)
    edits: list[Edit] = []
    off = []
    for number, statement in enumerate(statements, 1):
        if not isinstance(statement, ast.Expr) or statement not in function.body[:-1]:
            return ()
        name = "handle" if len(statements) == 1 else f"handle_{number}"
        if name in taken:
            return ()
        edits += here.replace(statement, f"{name} = {here.text_of(statement)}")
        off.append(f"{name}.remove()")
    return (
        *edits,
        *(here.before(last, *off) if returns else here.rows_after(last, [(0, text) for text in off])),
    )
