"""Measures the targets of a loss at its first call from a line: their bounds, and how many lie outside of what
common last activations can give."""

from __future__ import annotations

import math
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.values import measurable

LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")  # their target may be any number
MAX_ELEMENTS = 10_000_000
ROUNDING = 1e-3


class Targets(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.told: set[int] = set()
        self.recorder.functions.after.update(dict.fromkeys(LOSSES, self._loss))

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        target = args[1] if len(args) > 1 else (kwargs or {}).get("target")
        if not isinstance(target, torch.Tensor) or not torch.is_grad_enabled():
            return
        recorder = self.recorder
        site = recorder.sites.current(frame)
        if site in self.told:
            return
        self.told.add(site)
        if not measurable(target) or not target.is_cpu or not target.is_floating_point():
            return
        if not 0 < target.numel() <= MAX_ELEMENTS or target.layout is not torch.strided:
            return
        with torch.no_grad(), private.aside():
            numbers = target.detach()
            low, high = (float(bound) for bound in torch.aminmax(numbers))
            if not math.isfinite(low) or not math.isfinite(high):
                return
            outside = {
                "below_minus_one": numbers < -1 - ROUNDING,
                "below_zero": numbers < -ROUNDING,
                "above_one": numbers > 1 + ROUNDING,
            }
            shares = {name: int(which.sum()) / numbers.numel() for name, which in outside.items()}
        recorder.emit("targets", site, {"low": low, "high": high, **shares})
