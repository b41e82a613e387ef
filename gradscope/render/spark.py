"""Numbers over the run as one short line."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(numbers: Sequence[float], width: int) -> str:
    """The run of `numbers` in `width` cells, each the largest of its stretch, from 0 (or the smallest of
    all, where that is below) to the largest of all. "!" where a number is not finite."""
    if not numbers:
        return ""
    cells = min(width, len(numbers))
    stretches = [numbers[i * len(numbers) // cells : (i + 1) * len(numbers) // cells] for i in range(cells)]
    finite = [n for n in numbers if math.isfinite(n)]
    least, top = min(0.0, *finite, 0.0), max(finite, default=0.0)
    return "".join(_bar(stretch, least, top) for stretch in stretches)


def _bar(stretch: Sequence[float], least: float, top: float) -> str:
    if not all(math.isfinite(n) for n in stretch):
        return "!"
    if top <= least:
        return _BARS[0]
    return _BARS[min(int((max(stretch) - least) / (top - least) * len(_BARS)), len(_BARS) - 1)]
