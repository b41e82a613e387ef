"""Numbers over the run as one short line."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(numbers: Sequence[float], width: int) -> str:
    """The run of `numbers` in `width` cells, each the largest of its stretch, from 0 to the
    largest of all. "!" where a number is not finite."""
    if not numbers:
        return ""
    cells = min(width, len(numbers))
    stretches = [numbers[i * len(numbers) // cells : (i + 1) * len(numbers) // cells] for i in range(cells)]
    top = max((n for n in numbers if math.isfinite(n)), default=0.0)
    return "".join(_bar(stretch, top) for stretch in stretches)


def _bar(stretch: Sequence[float], top: float) -> str:
    if not all(math.isfinite(n) for n in stretch):
        return "!"
    if top <= 0:
        return _BARS[0]
    return _BARS[min(int(max(max(stretch), 0.0) / top * len(_BARS)), len(_BARS) - 1)]
