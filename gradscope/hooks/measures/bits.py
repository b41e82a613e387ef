"""Whether whole numbers that `&` and `|` bring together are more than zeros and ones, as numbers of classes are, and
at how many places different ones have bits in common."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_SITES = 64
MAX_ELEMENTS = 1_000_000
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


class Bits(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.found: dict[int, dict[str, Any]] = {}
        self.recorder.functions.follow(("__and__", "bitwise_and", "__or__", "bitwise_or"), self._logic)
        self.recorder.signals.before_end.connect(self._tell)

    def _logic(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 2 or not all(isinstance(t, torch.Tensor) and t.dtype in INTEGERS for t in args):
            return
        site = self.recorder.sites.current(frame)
        if args[0].shape != args[1].shape or not self.looks.due(site):
            return
        if all(can_be_asked(t, MAX_ELEMENTS) for t in args):
            self.recorder.arrivals.when_here(args, lambda *sides: self._count(site, *sides))

    def _count(self, site: int, left: torch.Tensor, right: torch.Tensor) -> None:
        told = self.found.setdefault(
            site, {"calls": 0, "elements": 0, "low": 0, "left": 0, "right": 0, "apart": 0, "common": 0}
        )
        apart = left != right
        told["calls"] += 1
        told["elements"] += left.numel()
        told["low"] = min(told["low"], int(left.min()), int(right.min()))
        told["left"] = max(told["left"], int(left.max()))
        told["right"] = max(told["right"], int(right.max()))
        told["apart"] += int(apart.sum())
        told["common"] += int((apart & ((left & right) != 0)).sum())

    def _tell(self) -> None:
        for site, found in self.found.items():
            if found["left"] > 1 and found["right"] > 1:
                self.recorder.emit("bits", site, found)
