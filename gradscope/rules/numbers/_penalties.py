"""What a penalty on the norm of a gradient is made of."""

from __future__ import annotations

from gradscope.analysis.ops import NORMS
from gradscope.analysis.reach import Key, Paths
from gradscope.model import Op
from gradscope.rules.numbers._derivatives import is_grad

FORMS = {"view", "reshape", "flatten", "squeeze", "unsqueeze", "contiguous", "__getitem__"}
BEFORE = FORMS | {"pow", "square", "add", "sqrt", "clamp", "clamp_min", "float", "to"}


def norm_of_gradient(known: Paths, key: Key) -> tuple[Op, Op] | None:
    """The norm that a value is, and the `autograd.grad` of one tensor that it was taken of."""
    norm = None
    while True:
        sources, op = known.sources(key)
        if op is None or len(sources) != 1:
            return (norm, op) if op is not None and norm is not None and is_grad(op) else None
        if op.name in NORMS | {"sum"} and norm is None:
            norm = op
        elif op.name not in BEFORE:
            return None
        key = sources[0]


def squared(known: Paths, key: Key) -> bool:
    """Whether the difference is squared, as a penalty."""
    return any(
        op is not None and (op.name in ("pow", "square") or (op.name == "mul" and len(set(op.inputs)) == 1))
        for _, op in known.used.feeds.get(key, ())
    )
