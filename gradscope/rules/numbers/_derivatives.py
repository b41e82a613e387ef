"""What a call of `autograd.grad` differentiates."""

from __future__ import annotations

from gradscope.analysis.reach import Key, Paths
from gradscope.model import Graph, Op


def is_grad(op: Op) -> bool:
    """Whether it is `autograd.grad` of one tensor by one."""
    return op.name == "grad" and len(op.inputs) in (2, 3) and len(op.outputs) == 1


def summed(known: Paths, graph: Graph, op: Op) -> int | None:
    """The value whose elements a call of `autograd.grad` differentiates all at once and with equal weights."""
    root = op.inputs[0]
    maker = graph.values[root].op
    if maker is not None and graph.ops[maker].name == "sum" and not graph.ops[maker].extra.get("dims"):
        return graph.ops[maker].inputs[0]
    return root if len(op.inputs) == 3 and _ones(known, (graph.id, op.inputs[2])) else None


def _ones(known: Paths, key: Key) -> bool:
    maker = known.maker(key)
    return maker is not None and maker.name in ("ones", "ones_like", "new_ones")
