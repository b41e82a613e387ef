"""Which lines compare numbers between 0 and 1 with one number, as probabilities with a threshold, between what these
lie, and how many of them are on its side. A line that compares others is not looked at again."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.values import can_be_asked

ORDERINGS = ("lt", "le", "gt", "ge")
FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_SITES = 256
MAX_ELEMENTS = 1_000_000


class Thresholds(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.between = Unbroken()
        self.recorder.functions.follow(ORDERINGS, self._compared)
        self.recorder.signals.before_end.connect(self._tell)

    def _compared(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 2 or type(args[1]) is not float or not 0 < args[1] < 1:
            return
        site = self.recorder.sites.current(frame)
        if site in self.between.broken or not self.looks.due(site):
            return
        if not all(can_be_asked(one, MAX_ELEMENTS) for one in (args[0], result)) or args[0].numel() < 2:
            return
        if args[0].is_floating_point():
            self.recorder.arrivals.when_here(
                (args[0], result), lambda *given: self._count(site, args[1], *given)
            )

    def _count(self, site: int, number: float, given: torch.Tensor, result: torch.Tensor) -> None:
        low, high = float(given.min()), float(given.max())
        if not 0 <= low <= high <= 1:
            self.between.end(site)
            return
        told = self.between.hold(site, number=number, elements=0, true=0, low=low, high=high)
        told["elements"] += result.numel()
        told["true"] += int(result.sum())
        told["low"], told["high"] = min(told["low"], low), max(told["high"], high)

    def _tell(self) -> None:
        for site, found in self.between.told.items():
            self.recorder.emit("threshold", site, found)
