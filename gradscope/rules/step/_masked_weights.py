"""Weights of which the model takes a part only."""

from gradscope.analysis.ops import MULTIPLICATIONS
from gradscope.analysis.reach import Paths

CHOOSING = MULTIPLICATIONS | {"where", "masked_fill", "masked_select"}


def is_masked(known: Paths, id: int) -> bool:
    """Whether the model takes a part of a weight only: the other one has no effect, whatever it is."""
    readers = (op for key in known.feeding.get(id, ()) for _, op in known.used.feeds.get(key, ()))
    return any(op is not None and op.name in CHOOSING for op in readers)
