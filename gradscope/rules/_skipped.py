"""Which parameters the program's text passes over by their name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradscope.memo import once
from gradscope.rules._common import nodes_of_program
from gradscope.store import Trace


def skipped_by_name(trace: Trace, names: Iterable[str]) -> bool:
    """Whether each of `names` contains a text that the program tests names for in order to leave
    them out: `if "layer4" in name: continue`, or `[p for n, p in … if "head" not in n]`."""
    tested = _tested(trace)
    return all(any(word in name for word in tested) for name in names)


@once
def _tested(trace: Trace) -> set[str]:
    found: set[str] = set()
    for node in nodes_of_program(trace):
        if isinstance(node, ast.If):
            found |= set(_words(node.test, ast.In if isinstance(node.body[-1], ast.Continue) else ast.NotIn))
        elif isinstance(node, ast.comprehension):
            found |= {word for test in node.ifs for word in _words(test, ast.NotIn)}
    return found


def _words(test: ast.expr, operator: type[ast.cmpop]) -> Iterator[str]:
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], operator):
            if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str) and node.left.value:
                yield node.left.value
