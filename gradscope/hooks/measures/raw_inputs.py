"""Measures what goes into a network: the numbers that its first layers are given, at their first call from each place
with gradients on. On the CPU only."""

from __future__ import annotations

import math
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.values import measurable

LAYERS = ("linear", "conv1d", "conv2d", "conv3d", "lstm", "gru")
MAX_ELEMENTS = 10_000_000


class RawInputs(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.told: set[int] = set()
        self.recorder.functions.follow(LAYERS, self._layer)

    def _layer(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = args[0] if args else (kwargs or {}).get("input")
        if given is None or not measurable(given) or given.requires_grad or not torch.is_grad_enabled():
            return
        recorder = self.recorder
        site = recorder.sites.current(frame)
        if site in self.told:
            return
        self.told.add(site)
        if not given.is_cpu or not given.is_floating_point() or given.layout is not torch.strided:
            return
        if not 1 < given.numel() <= MAX_ELEMENTS:
            return
        with torch.no_grad(), private.aside():
            numbers = given.detach().double()
            low, high = (float(bound) for bound in torch.aminmax(numbers))
            std, mean = (float(part) for part in torch.std_mean(numbers))
        if math.isfinite(low) and math.isfinite(high):
            recorder.emit(
                "raw_input", site, {"name": name, "low": low, "high": high, "mean": mean, "std": std}
            )
