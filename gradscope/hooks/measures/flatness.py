"""How steep a call is that may be flat (a sigmoid, a ReLU, a `clamp`), looked at only once gradients were exactly zero:
in the first calls of each line after that, then ever more rarely."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.values import can_be_asked

PROBABILITIES = ("sigmoid", "sigmoid_", "expit", "softmax", "softmax_")  # derivative: y (1 - y)
TANH = ("tanh", "tanh_")
CUT_BELOW = ("relu", "relu_")
CUT_AT = {
    **dict.fromkeys(("clamp", "clamp_", "clip", "clip_"), ("input", "min", "max")),
    "clamp_min": ("input", "min"),
    "clamp_max": ("input", "max"),
}
FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_ELEMENTS = 1_000_000
MAX_SITES = 256


@dataclass
class Place:
    """A line that was looked at. slope: the largest of all elements, in the call where that was the smallest."""

    slope: float
    calls: int = 0
    step: int = 0  # of the last look


class Flatness(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.places: dict[tuple[int, str], Place] = {}
        self.begun = False
        self.recorder.signals.zero_gradients.connect(self._begin)
        self.recorder.signals.before_end.connect(self._tell)

    def _begin(self) -> None:
        if not self.begun:
            self.begun = True
            self.recorder.functions.follow([*PROBABILITIES, *TANH, *CUT_BELOW, *CUT_AT], self._call)

    def _call(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not isinstance(result, torch.Tensor) or not result.requires_grad or result.is_complex():
            return
        site = self.recorder.sites.current(frame)
        if not self.looks.due(site) or not can_be_asked(result, MAX_ELEMENTS):
            return
        bounds = by_name(CUT_AT.get(name, ("input",)), args, kwargs)
        low, high = (bounds.get(side) for side in ("min", "max"))
        if any(type(bound) not in (int, float, type(None)) for bound in (low, high)):
            return
        key, step = (site, name), self.recorder.steps + 1
        self.recorder.arrivals.when_here((result,), partial(self._count, key, step, low, high))

    def _count(self, key: tuple[int, str], step: int, low: Any, high: Any, result: torch.Tensor) -> None:
        slope = float(_slopes(key[1], result.float(), low, high).max())
        place = self.places.setdefault(key, Place(slope))
        place.slope = min(place.slope, slope)
        place.calls += 1
        place.step = step

    def _tell(self) -> None:
        for (site, name), place in self.places.items():
            data = {"name": name, "slope": place.slope, "calls": place.calls, "step": place.step}
            self.recorder.emit("flatness", site, data)


def _slopes(name: str, result: torch.Tensor, low: Any, high: Any) -> torch.Tensor:
    """The derivative at each element, from the result: a call in place leaves nothing of what it was given."""
    if name in PROBABILITIES:
        return result * (1 - result)
    if name in TANH:
        return 1 - result * result
    if name in CUT_BELOW:
        return (result > 0).float()
    inside = torch.ones_like(result, dtype=torch.bool)
    if low is not None:
        inside &= result > low
    if high is not None:
        inside &= result < high
    return inside.float()
