"""What the program compares for equality, place by place: predictions with targets, as for an accuracy. The shapes of
both sides, how much was equal, and whether fractions met whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.values import can_be_asked, sizes

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

    def count(self, left: torch.Tensor, right: torch.Tensor, result: torch.Tensor) -> None:
        self.calls += 1
        self.elements += result.numel()
        self.equal += int(result.sum())
        self.apart += left.numel() != right.numel() or not torch.equal(left.flatten(), right.flatten())
        self.fractions = (self.fractions[0] + _fractions(left), self.fractions[1] + _fractions(right))
        self.given = (self.given[0] + left.numel(), self.given[1] + right.numel())


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
        self.recorder.arrivals.when_here((left, right, result), place.count)

    def _tell(self) -> None:
        for site, place in self.places.items():
            data = {
                "left": place.shapes[0], "right": place.shapes[1], "calls": place.calls, "elements": place.elements,
                "equal": place.equal, "apart": place.apart,
                "fractions": [part / whole for part, whole in zip(place.fractions, place.given, strict=True)],
            }  # fmt: skip
            self.recorder.emit("compared", site, data)


def _is_looked_at(t: Any) -> bool:
    return can_be_asked(t, MAX_ELEMENTS) and t.numel() > 1 and not t.is_complex() and not t.is_quantized


def _fractions(t: torch.Tensor) -> int:
    return int((t != t.round()).sum()) if t.is_floating_point() else 0
