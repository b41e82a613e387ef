"""Vectors that are divided by their own length."""

from __future__ import annotations

from gradscope.analysis.axes import VIEWS
from gradscope.analysis.ops import ALIASES, CASTS, NORMS, POWERS
from gradscope.analysis.reach import Key, Paths
from gradscope.model import Op

GUARDS = VIEWS | ALIASES | CASTS | {"clone", "contiguous", "clamp", "clamp_min", "add", "maximum"}


def own_length(known: Paths, of: Key, divisor: Key) -> Op | None:
    """The norm that a divisor is, where it is that of what is divided, or the sum of the squares under its root:
    either has the axes that it runs over as `dims`."""
    length = known.maker_behind(divisor, GUARDS)
    if length is None or not length.inputs:
        return None
    squares = None
    if length.name == "sqrt":
        length = known.maker((length.graph, length.inputs[0]))
        if length is None or length.name != "sum" or not length.inputs:
            return None
        squares = known.maker((length.graph, length.inputs[0]))
        if squares is None or squares.name not in POWERS:
            return None
    elif length.name not in NORMS:
        return None
    measured = squares or length
    return length if known.made((measured.graph, measured.inputs[0])) == known.made(of) else None
