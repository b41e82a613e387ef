"""What a number that a program takes out of a batch is: the mean of it, or how many of its samples are right."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gradscope.analysis.ops import ADDITIONS, ALIASES, CASTS, COMPARISONS, EXITS, LOSSES, MEANS
from gradscope.analysis.reach import Key, Paths
from gradscope.model import Op
from gradscope.source import called_name


class Figure(NamedTuple):
    """`kind`: "mean" or "hits", of a batch of `size` samples; `op`: the call that makes it."""

    kind: str
    size: int
    op: Op


def figure(known: Paths, key: Key) -> Figure | None:
    """None for what is neither."""
    op = known.maker_behind(key, CASTS | ALIASES | EXITS)
    if op is None or known.value((op.graph, op.outputs[0] if op.outputs else key[1])).shape:
        return None
    if op.name in ADDITIONS:
        terms = [figure(known, (op.graph, value)) for value in op.inputs]
        whole = [term for term in terms if term is not None and term.kind == "mean"]
        return whole[0] if whole and len(whole) == len(terms) else None
    if not op.inputs:
        return None
    given = known.value((op.graph, op.inputs[0]))
    if (op.name in LOSSES and op.extra.get("reduction", "mean") == "mean") or op.name in MEANS:
        return Figure("mean", given.shape[0], op) if given.shape else None
    asked = known.maker_behind((op.graph, op.inputs[0]), CASTS)
    one_each = bool(given.shape) and all(size == 1 for size in given.shape[1:])
    if op.name == "sum" and asked is not None and asked.name in COMPARISONS and one_each:
        return Figure("hits", given.shape[0], op)
    return None


def bare(number: ast.expr | None) -> ast.expr | None:
    """What `float(…)` and `int(…)` are given, any of them."""
    while called_name(number) in ("float", "int") and isinstance(number, ast.Call) and number.args:
        number = number.args[0]
    return number
