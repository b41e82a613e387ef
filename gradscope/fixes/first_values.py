"""Where weights get one number for all of their elements, and how they get random ones in its place."""

from __future__ import annotations

import ast
from collections.abc import Collection

from gradscope.analysis.text import nodes_that_ran, site_of
from gradscope.analysis.words import parameter_name
from gradscope.fixes.source import Edits, Source
from gradscope.model import Parameter, Site
from gradscope.source import called_name, method_name
from gradscope.store import Trace

ZEROS = {"zeros_", "zero_", "constant_", "fill_"}
OTHERS = {"ones_", "constant_", "fill_"}
METHODS = {"zero_", "fill_"}  # of a tensor


def filled_at(trace: Trace, p: Parameter, calls: Collection[str]) -> list[Site]:
    """The calls of these names in the program's text that fill it with one number; those that fill a weight which
    they do not name, where none names it."""
    name = parameter_name(trace, p.id)
    all_names = [parameter_name(trace, one.id) for one in trace.parameters]
    named: list[Site] = []
    others: list[Site] = []
    for path, function, node in nodes_that_ran(trace, ast.Call):
        if called_name(node) in calls and (filled := _filled(node, zero=calls is ZEROS)) is not None:
            text = ast.unparse(filled).removesuffix(".data")
            end = f".{text.removeprefix('self.')}"
            if f".{name}".endswith(end):
                named.append(site_of(path, function, node))
            elif "bias" not in text and not any(f".{one}".endswith(end) for one in all_names):
                others.append(site_of(path, function, node))
    return named or others


def _filled(node: ast.Call, zero: bool) -> ast.expr | None:
    """What a call fills: `nn.init.constant_(t, 0)`, `t.fill_(0)`. zero: None where it fills it with another number."""
    filled = node.args
    if method_name(node) in METHODS and isinstance(node.func, ast.Attribute):
        filled = [node.func.value, *filled]
    number = filled[1] if len(filled) > 1 else None
    number = number.operand if isinstance(number, ast.UnaryOp) else number
    if not filled or (zero and isinstance(number, ast.Constant) and number.value):
        return None
    return filled[0]


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
