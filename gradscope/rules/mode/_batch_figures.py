"""What a number that a program takes out of a batch is: the mean of it, or how many of its samples are right."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gradscope.analysis.figures import Addition
from gradscope.analysis.ops import ADDITIONS, ALIASES, CASTS, COMPARISONS, EXITS, LOSSES, MEANS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.model import Op
from gradscope.source import called_name, stands_in
from gradscope.store import Trace


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


def figure_added(trace: Trace, one: Addition) -> Figure | None:
    """What every call that was seen at an addition adds; None where they differ, or are something else."""
    term = one.term
    while isinstance(term, ast.Call) and not term.args and isinstance(term.func, ast.Attribute):
        term = term.func.value  # `loss.item()`
    if isinstance(term, ast.BinOp) and isinstance(term.op, (ast.Mult, ast.Div)):
        return None
    known = paths(trace)
    found = []
    for graph in trace.graphs:
        for op in graph.called(EXITS | ADDITIONS):
            here = op.site.user
            if here.path == one.path and stands_in(one.add, here):
                found += [figure(known, (graph.id, value)) for value in op.inputs]
                if op.name in EXITS:
                    break
    terms = [term for term in found if term is not None]
    kinds = {term.kind for term in terms}
    return max(terms, key=lambda term: term.size) if len(kinds) == 1 and terms[0].size > 1 else None


def length_in(loop: ast.For) -> str:
    """`len(x)` of the first tensor of a batch: of `for x, y in loader` and `for i, (x, y) in enumerate(loader)`."""
    target = loop.target
    if not isinstance(target, ast.Tuple):
        return ""
    inner = next((part for part in target.elts if isinstance(part, ast.Tuple)), None)
    first = (inner or target).elts[0]
    is_batch = inner is not None or called_name(loop.iter) != "enumerate"
    return f"len({first.id})" if isinstance(first, ast.Name) and is_batch else ""


def bare(number: ast.expr | None) -> ast.expr | None:
    """What `float(…)` and `int(…)` are given, any of them."""
    while called_name(number) in ("float", "int") and isinstance(number, ast.Call) and number.args:
        number = number.args[0]
    return number
