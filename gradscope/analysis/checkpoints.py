"""What a program takes out of a checkpoint, as its text says it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from gradscope.analysis.text import nodes_of_functions, nodes_that_ran, ran_in, site_of
from gradscope.model import Site
from gradscope.source import called_name, own_name
from gradscope.store import Trace


def goes_on_counting(trace: Trace, keys: Collection[str]) -> bool:
    """Whether the program's text begins to count where one of these numbers of a loaded dict ends: the training is
    resumed, where fine-tuning begins anew."""
    names = set(_names_of(trace, keys))
    return any(_reads(begin, keys) or not names.isdisjoint(_last_names(begin)) for begin in _begins(trace))


def left_out_load(trace: Trace, key: str) -> Site | None:
    """The line `opt.load_state_dict(loaded["key"])` of a program that did not come to it, though to its function, if
    there is such a one."""
    for path, function, node in (*nodes_that_ran(trace, ast.Call), *nodes_of_functions(trace, ast.Call)):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "load_state_dict" and node.args:
            site = site_of(path, function, node)
            if _reads(node.args[0], {key}) and not ran_in(trace, path, site.line, site.end_line):
                return site
    return None


def _names_of(trace: Trace, keys: Collection[str]) -> Iterator[str]:
    """The names that are given such a number, or one made of it, also by a function that returns it; of `self.epoch`
    the last part."""
    givers = {
        function
        for _, function, node in nodes_that_ran(trace, ast.Return)
        if node.value is not None and _reads(node.value, keys)
    }
    for _, _, node in nodes_that_ran(trace, ast.Assign):
        if _reads(node.value, keys) or called_name(node.value) in givers:
            yield from (own_name(target) for target in node.targets)


def _reads(node: ast.AST, keys: Collection[str]) -> bool:
    """Whether an expression takes one of these keys out of something: `loaded["epoch"] + 1`, `loaded.get("epoch")`."""
    for part in ast.walk(node):
        if (
            isinstance(part, ast.Subscript)
            and isinstance(part.slice, ast.Constant)
            and part.slice.value in keys
        ):
            return True
        if (
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and part.func.attr in ("get", "pop")
        ):
            first = part.args[0] if part.args else None
            if isinstance(first, ast.Constant) and first.value in keys:
                return True
    return False


def _begins(trace: Trace) -> Iterator[ast.AST]:
    """Where counting begins: `range(start, end)`, `itertools.count(start)`; the condition of a `while`."""
    for _, _, node in nodes_that_ran(trace, ast.Call, ast.While):
        if isinstance(node, ast.Call):
            called = called_name(node)
            if (called.endswith("range") and len(node.args) > 1) or (called == "count" and node.args):
                yield node.args[0]
        elif isinstance(node, ast.While):
            yield node.test


def _last_names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} | {
        part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)
    }
