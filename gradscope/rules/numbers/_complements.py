"""What is left of one: `1 - x`, in the graph of a run."""

from __future__ import annotations

from collections.abc import Collection

from gradscope.analysis.ops import REVERSED_SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths


def complement_of(known: Paths, key: Key, same: Collection[str]) -> Key | None:
    """Of a number less `x` the `x`, behind calls of the names `same`."""
    op = known.maker(key)
    if op is None or op.name not in REVERSED_SUBTRACTIONS or len(op.inputs) != 1:
        return None
    return known.source_behind((op.graph, op.inputs[0]), same)
