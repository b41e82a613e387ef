"""Mean and spread of both sides of a difference of as many numbers, none of which has a graph, as of returns and a
critic's values: at the first call of a line."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.losses import SUBTRACTIONS
from gradscope.hooks.recorder.values import can_be_asked

LEAST = 16  # numbers
MOST = 100_000
MAX_SITES = 64


class Subtracted(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.sites: set[int] = set()
        self.recorder.functions.follow(SUBTRACTIONS, self._subtract)

    def _subtract(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if kwargs or len(args) != 2 or len(self.sites) >= MAX_SITES:
            return
        if not all(isinstance(t, torch.Tensor) and not t.requires_grad for t in args):
            return
        if args[0].shape != args[1].shape or args[0].numel() < LEAST:
            return
        site = self.recorder.sites.current(frame)
        if site in self.sites or not all(t.is_floating_point() and can_be_asked(t, MOST) for t in args):
            return
        self.sites.add(site)

        def tell(left: torch.Tensor, right: torch.Tensor) -> None:
            sides = [t.double() for t in (left, right)]
            data = {
                "numbers": left.numel(),
                "means": [float(t.mean()) for t in sides],
                "spreads": [float(t.std()) for t in sides],
            }
            self.recorder.emit("subtracted", site, data)

        self.recorder.arrivals.when_here(tuple(args), tell)
