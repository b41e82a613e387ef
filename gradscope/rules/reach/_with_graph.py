"""Calls of `autograd.grad` with `create_graph=True`: gradients that are a part of the graph."""

from __future__ import annotations

from gradscope.events import Backward
from gradscope.model import Op
from gradscope.store import Trace


def keeps_graph(op: Op) -> bool:
    return op.name == "grad" and bool(op.extra.get("create_graph"))


def passes_with_graph(trace: Trace, line: tuple[str, int]) -> int:
    """How many passes of a line kept their graph."""
    return sum(e.count for e in trace.of(Backward) if e.create_graph and e.site.user.location() == line)
