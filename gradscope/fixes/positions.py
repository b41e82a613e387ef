"""Adds something for each place to embedded tokens."""

from __future__ import annotations

import ast

from gradscope.fixes.source import Edits, Source
from gradscope.model import Op, Site
from gradscope.source import names_in
from gradscope.store import Trace


def with_positions(trace: Trace, embedding: Op, made: Site | None, axis: int, length: int) -> Edits:
    """`self.places = nn.Embedding(length, size)` behind the line that makes the embedding, and
    `(self.embed(x) + self.places(torch.arange(x.size(axis), device=x.device)))` for its call; nothing where the two do
    not stand plainly in one class, or one function."""
    site = embedding.site.user
    if made is None or made.path != site.path:
        return ()
    here = Source(trace, site.path)
    layer, call = here.file.at(made), here.file.at(site)
    statement = here.file.statement(made)
    target = (
        statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    )
    if (
        not isinstance(layer, ast.Call)
        or not isinstance(call, ast.Call)
        or len(layer.args) < 2
        or len(call.args) != 1
        or not isinstance(call.args[0], ast.Name)
        or not isinstance(target, ast.Attribute)
        or here.file.text(call.func) != here.file.text(target)
        or not isinstance(statement, ast.Assign)
        or statement.value is not layer
        or "torch" not in here.file.imported
    ):
        return ()
    owner = here.file.text(target.value)
    name = f"{owner}.places"
    if here.file.tree is None or name in names_in(here.file.tree, ast.Store):
        return ()
    tokens, maker, size = call.args[0].id, here.file.text(layer.func), here.file.text(layer.args[1])
    at = f"{name}(torch.arange({tokens}.size({axis}), device={tokens}.device))"
    if axis == 0:
        at += ".unsqueeze(1)"
    whole = f"({here.file.text(call)} + {at})"
    return (*here.after(statement, f"{name} = {maker}({length}, {size})"), *here.replace(call, whole))
