"""Where weights get one number for all of their elements, and how they get random ones in its place."""

from __future__ import annotations

import ast
from collections.abc import Collection

from gradscope.analysis.text import nodes_that_ran, site_of
from gradscope.analysis.words import parameter_name
from gradscope.fixes.source import Edits, Source
from gradscope.model import Parameter, Site
from gradscope.source import called_name
from gradscope.store import Trace

ZEROS = {"zeros_", "zero_", "constant_", "fill_"}
OTHERS = {"ones_", "constant_", "fill_"}


def filled_at(trace: Trace, p: Parameter, calls: Collection[str]) -> list[Site]:
    """The calls of these names in the program's text that fill it with one number; those that fill any weight, where
    none names it."""
    name = parameter_name(trace, p.id)
    named: list[Site] = []
    others: list[Site] = []
    for path, function, node in nodes_that_ran(trace, ast.Call):
        if called_name(node) in calls and node.args:
            text = ast.unparse(node.args[0])
            if f".{name}".endswith(f".{text.removeprefix('self.')}"):
                named.append(site_of(path, function, node))
            elif "bias" not in text:
                others.append(site_of(path, function, node))
    return named or others


def at_random(trace: Trace, site: Site) -> tuple[str, Edits]:
    """The call of `nn.init` with normal numbers, and the edit."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return "", ()
    if not ast.unparse(node.func.value).endswith("init"):
        return "", ()
    new = f"{ast.unparse(node.func.value)}.normal_({here.file.text(node.args[0])}, std=0.1)"
    return new, here.replace(node, new)
