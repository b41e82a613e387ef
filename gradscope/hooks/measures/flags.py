"""Which places of the program make a tensor of zeros and ones, one for each sample, out of data: what says whether an
episode has ended, or where a sequence is padded. Looked at in the first calls of each place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.values import can_be_asked

MAKERS = ("tensor", "as_tensor", "asarray", "FloatTensor", "BoolTensor", "float", "bool", "to")
TYPES = (torch.float32, torch.float64, torch.bool, torch.uint8)
FEW, MOST = 8, 100_000  # elements
CALLS = 8
PLACES = 200


@dataclass
class _Place:
    """What one place has made so far."""

    calls: int = 0
    ones: int = 0
    elements: int = 0
    other: bool = False  # something else than zeros and ones

    def count(self, t: torch.Tensor) -> None:
        ones = t == 1
        self.other = self.other or not bool((ones | (t == 0)).all())
        self.ones += int(ones.sum())
        self.elements += t.numel()


class Flags(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.places: dict[int, _Place] = {}
        self.recorder.functions.follow(MAKERS, self._made)
        self.recorder.signals.array_wrapped.connect(self._look)
        self.recorder.signals.before_end.connect(self._tell)

    def _made(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        self._look(result, frame)

    def _look(self, t: Any, frame: Any) -> None:
        if type(t) is not torch.Tensor or t.dtype not in TYPES or not FEW <= t.numel() <= MOST:
            return
        if t.dim() > 2 or (t.dim() == 2 and 1 not in t.shape) or t.requires_grad:
            return
        site = self.recorder.sites.current(frame)
        place = self.places.get(site)
        if place is None:
            if len(self.places) >= PLACES:
                return
            place = self.places[site] = _Place()
        if place.other or place.calls >= CALLS or not can_be_asked(t, MOST):
            return
        place.calls += 1
        self.recorder.arrivals.when_here((t,), place.count)

    def _tell(self) -> None:
        for site, place in self.places.items():
            if not place.other and 0 < place.ones < place.elements:
                data = {"calls": place.calls, "share": place.ones / place.elements}
                self.recorder.emit("flags", site, data)
