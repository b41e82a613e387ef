"""How much of what a sigmoid or `tanh` is given lies where it is flat: in the first call of its line and in the last
that was looked at."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 4  # calls of a line that are looked at in any case, then ever more rarely
MAX_SITES = 32
MAX_ELEMENTS = 1_000_000
FLAT = {"sigmoid": 6.9, "tanh": 4.1}  # from here on the derivative is below a thousandth


class Squashed(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.told: dict[int, dict[str, Any]] = {}
        self.recorder.functions.follow(tuple(FLAT), self._called)
        self.recorder.signals.before_end.connect(self._tell)

    def _called(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = args[0] if args else (kwargs or {}).get("input")
        if not isinstance(given, torch.Tensor) or not given.requires_grad or given.dim() < 2:
            return
        site = self.recorder.sites.current(frame)
        if self.looks.due(site) and can_be_asked(given, MAX_ELEMENTS):
            self.recorder.arrivals.when_here((given,), lambda there: self._measure(site, name, there))

    def _measure(self, site: int, name: str, given: torch.Tensor) -> None:
        share = float((given.abs() > FLAT[name]).double().mean())
        told = self.told.setdefault(site, {"name": name, "first": share, "calls": 0})
        told["last"] = share
        told["calls"] += 1

    def _tell(self) -> None:
        for site, data in self.told.items():
            self.recorder.emit("squashed", site, data)
