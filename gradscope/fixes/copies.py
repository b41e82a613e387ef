"""A copy of an object in place of a second name for it."""

from __future__ import annotations

import ast

from gradscope.fixes.source import Edits, Source
from gradscope.model import Site
from gradscope.store import Trace


def deepcopied(trace: Trace, place: Site, value: ast.expr) -> Edits:
    """`copy.deepcopy(value)` in place of an expression of the file that `place` is in, and the import that it needs;
    nothing where there is no place for that."""
    here = Source(trace, place.path)
    edits = here.replace(value, f"copy.deepcopy({here.file.text(value)})")
    if "copy" in here.file.imported:
        return edits
    imports = (
        node
        for node in getattr(here.file.tree, "body", [])
        if isinstance(node, (ast.Import, ast.ImportFrom)) and getattr(node, "module", "") != "__future__"
    )
    first = next(imports, None)
    placed = here.before(first, "import copy") if first is not None else ()
    return placed + edits if placed else ()
