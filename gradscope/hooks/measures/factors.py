"""Notes by which Python number a line multiplies a single number that has a graph, as terms of a loss are weighed. Only
from the first choice of something nearest, or the first divergence, on: rules ask for it where a codebook is trained,
and of what weighs a divergence."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.scaled import keep
from gradscope.hooks.recorder.values import has_values

BEGINNING = ("argmin", "min", "topk", "argmax", "max", "kl_div")
PRODUCTS = ("mul",)


class Factors(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.begun = False
        self.found: dict[int, float | None] = {}  # site → the number, None where it was not always the same
        self.recorder.functions.follow(BEGINNING, self._begin)
        self.recorder.functions.follow(PRODUCTS, self._multiplied)
        self.recorder.signals.before_end.connect(self._tell)

    def _begin(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        self.begun = True

    def _multiplied(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.begun or kwargs or len(args) != 2:
            return
        value, number = args if isinstance(args[0], torch.Tensor) else args[::-1]
        if (
            type(number) not in (int, float)
            or not has_values(value)
            or value.dim()
            or not value.requires_grad
        ):
            return
        keep(self.found, self.recorder.sites.current(frame), float(number))

    def _tell(self) -> None:
        for site, number in self.found.items():
            if number is not None:
                self.recorder.emit("factor", site, {"number": number})
