"""Differences that are exactly zero in all calls of a line, of numbers that are trained and as many that are not. A
line is looked at until one of its differences is not."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.looks import Unbroken
from gradscope.hooks.recorder.losses import SUBTRACTIONS
from gradscope.hooks.recorder.values import can_be_asked

MAX_ELEMENTS = 100_000
LEAST = 4  # elements that tell
MAX_SITES = 32


class Differences(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.zero = Unbroken(MAX_SITES)
        self.recorder.functions.follow(SUBTRACTIONS, self._subtracted)
        self.recorder.signals.before_end.connect(self._tell)

    def _subtracted(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 2 or not all(isinstance(one, torch.Tensor) for one in args):
            return
        if args[0].requires_grad == args[1].requires_grad or args[0].shape != args[1].shape:
            return
        site = self.recorder.sites.current(frame)
        if not self.zero.is_open(site):
            return
        if can_be_asked(result, MAX_ELEMENTS) and result.numel() >= LEAST:
            steps = self.recorder.steps
            self.recorder.arrivals.when_here((result,), lambda numbers: self._count(site, numbers, steps))

    def _count(self, site: int, numbers: torch.Tensor, steps: int) -> None:
        if bool((numbers == 0).all()):
            told = self.zero.hold(site, begun=steps)
            told["steps"] = steps - told["begun"]
        else:
            self.zero.end(site)

    def _tell(self) -> None:
        for site, found in self.zero.told.items():
            self.recorder.emit("no_difference", site, {"calls": found["calls"], "steps": found["steps"]})
