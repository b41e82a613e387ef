"""What the program compares for equality, place by place: predictions with targets, as for an accuracy. The shapes of
both sides, how much was equal, and whether fractions met whole numbers. On the CPU only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.values import measurable, sizes

CALLS = 16  # of each place that are looked at
MAX_ELEMENTS = 1_000_000


@dataclass
class _Place:
    """What one line compared. `shapes`: of both sides, in the first call."""

    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    calls: int = 0
    elements: int = 0
    equal: int = 0
    apart: int = 0  # calls in which the two sides, laid out in a row, differed
    fractions: tuple[int, int] = (0, 0)  # elements that are no whole numbers, of either side
    given: tuple[int, int] = (0, 0)  # elements of either side


class Comparisons(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.places: dict[int, _Place] = {}
        self.recorder.functions.follow(("eq", "__eq__"), self._compared)
        self.recorder.signals.before_end.connect(self._tell)

    def _compared(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 2 or not all(_is_looked_at(t) for t in (*args, result)) or result.dtype != torch.bool:
            return
        site = self.recorder.sites.current(frame)
        left, right = args
        place = self.places.get(site)
        if place is None:
            place = self.places[site] = _Place((sizes(left), sizes(right)))
        if place.calls >= CALLS:
            return
        with torch.no_grad(), private.aside():
            place.calls += 1
            place.elements += result.numel()
            place.equal += int(result.sum())
            place.apart += left.numel() != right.numel() or not torch.equal(left.flatten(), right.flatten())
            place.fractions = (place.fractions[0] + _fractions(left), place.fractions[1] + _fractions(right))
            place.given = (place.given[0] + left.numel(), place.given[1] + right.numel())

    def _tell(self) -> None:
        for site, place in self.places.items():
            data = {
                "left": place.shapes[0], "right": place.shapes[1], "calls": place.calls, "elements": place.elements,
                "equal": place.equal, "apart": place.apart,
                "fractions": [part / whole for part, whole in zip(place.fractions, place.given, strict=True)],
            }  # fmt: skip
            self.recorder.emit("compared", site, data)


def _is_looked_at(t: Any) -> bool:
    return bool(
        measurable(t) and t.is_cpu and t.layout is torch.strided and 1 < t.numel() <= MAX_ELEMENTS
        and not t.is_complex() and not t.is_quantized
    )  # fmt: skip


def _fractions(t: torch.Tensor) -> int:
    return int((t.detach() != t.detach().round()).sum()) if t.is_floating_point() else 0
