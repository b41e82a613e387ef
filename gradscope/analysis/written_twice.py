"""Values that the same expression, written out twice, made of the same values."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradscope.analysis.ops import PASSING, PRODUCTS_OF_MATRICES, SATURATING, SCALES, SUMS
from gradscope.analysis.words import holds
from gradscope.model import Graph, Site
from gradscope.store import Trace

_SURE = (
    PASSING | SATURATING | SCALES | SUMS | {"exp", "log", "pow", "normalize", "relu", "abs", "log_sigmoid"}
)
_SURE_INSIDE = _SURE | PRODUCTS_OF_MATRICES | {"sum", "mean", "var", "std", "neg"}


@dataclass
class Made:
    """How an argument was made: by the calls of one expression."""

    site: Site
    node: ast.expr
    calls: list[str]
    given: list[int]  # the values that come from outside of the expression


def written_twice(trace: Trace, graph: Graph, first: int, second: int, deep: bool = False) -> bool:
    """Whether the same expression of the same values, written out twice in one function, made both. With `deep`, its
    calls may stand in functions that it calls."""
    one, other = both_made(trace, graph, first, second, deep)
    if one is None or other is None or one.node is other.node or one.site.path != other.site.path:
        return False
    if ast.dump(one.node) != ast.dump(other.node) or _above(one.site) != _above(other.site):
        return False
    if (one.calls, one.given) != (other.calls, other.given):
        return False
    return not trace.source_file(one.site.path).written_between(one.site, one.node, other.node)


def both_made(
    trace: Trace, graph: Graph, first: int, second: int, deep: bool
) -> tuple[Made | None, Made | None]:
    """How both were made: in the lines that made them, or, with `deep`, in the function that called these."""
    if not deep:
        return _made(trace, graph, first), _made(trace, graph, second)
    makers = graph.maker(first), graph.maker(second)
    if makers[0] is None or makers[1] is None:
        return None, None
    frames, others = makers[0].site.stack, makers[1].site.stack
    for frame, other in zip(frames, others, strict=False):
        if frame.span() != other.span() and frame.path == other.path and _above(frame) == _above(other):
            return _made(trace, graph, first, frame), _made(trace, graph, second, other)
    return None, None


def _above(site: Site) -> object:
    return site.function, site.parent.id if site.parent is not None else None


def _made(trace: Trace, graph: Graph, value: int, frame: Site | None = None) -> Made | None:
    """How the expression at the frame, that of the op itself if none is given, made a value."""
    op = graph.maker(value)
    if op is None:
        return None
    site = frame if frame is not None else op.site.user
    sure = _SURE if frame is None else _SURE_INSIDE
    node = trace.source_file(site.path).at(site)
    if not isinstance(node, ast.expr):
        return None
    made = Made(site, node, [], [])
    todo, seen = [value], set[int]()
    while todo:
        index = todo.pop()
        maker = graph.maker(index)
        if maker is None or not _in(
            site, maker.site.user if frame is None else maker.site, frame is not None
        ):
            made.given.append(index)
        elif maker.name not in sure or maker.writes or not maker.inputs:
            return None
        elif index not in seen:
            seen.add(index)
            made.calls.append(maker.name)
            todo += maker.inputs
    return made


def _in(outer: Site, inner: Site, deep: bool) -> bool:
    frames = inner.stack if deep else (inner,)
    return any(
        outer.function == one.function and _above(outer) == _above(one) and holds(outer, one)
        for one in frames
    )
