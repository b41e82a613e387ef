"""Where a tensor, a module or a value was made."""

from __future__ import annotations

import ast
from functools import lru_cache

from gradscope.analysis.words import dotted
from gradscope.model import Module, Parameter, Site
from gradscope.store import Trace


def made_at(trace: Trace, parameter: Parameter) -> Site | None:
    """The line `self.layer = …` in the user's class that made the parameter's layer."""
    module = trace.modules.get(parameter.module) if parameter.module is not None else None
    attribute = parameter.name.rpartition(".")[2]
    while module is not None:
        for path, text in trace.sources.items():
            known = assignments(text)
            found = known.get((module.cls, attribute)) or known.get((_called(trace, module), attribute))
            if found is not None:
                line, column, end_line, end_column = found
                return Site(-1, path, line, column, end_line, end_column, "__init__", "user")
        attribute = module.path.rpartition(".")[2]
        module = trace.modules.get(module.parent) if module.parent is not None else None
    return None


def _called(trace: Trace, module: Module) -> str:
    """The module as the program writes it outside of its class; "" where that is not known."""
    root = trace.modules.get(module.root)
    return dotted(root.name, module.path) if root is not None and root.name else ""


@lru_cache(maxsize=32)
def assignments(text: str) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    """(class, attribute) → span of the first `self.attribute = …` in a file's text, and (holder,
    attribute) → that of `holder.attribute = …`."""
    found: dict[tuple[str, str], tuple[int, int, int, int]] = {}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return found
    classes = {id(n): c.name for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for n in ast.walk(c)}
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)):
            continue
        end = node.end_lineno or node.lineno, (node.end_col_offset or 0) + 1
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Attribute):
                holder = ast.unparse(target.value)
                holder = classes.get(id(node), "") if holder == "self" else holder
                found.setdefault((holder, target.attr), (node.lineno, node.col_offset + 1, *end))
    return found
