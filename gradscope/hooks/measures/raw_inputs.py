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
        self.found: dict[int, dict[str, Any] | None] = {}  # by site
        self.recorder.functions.follow(LAYERS, self._layer)
        self.recorder.signals.before_end.connect(self._tell)

    def _layer(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = args[0] if args else (kwargs or {}).get("input")
        if given is None or not measurable(given) or given.requires_grad or not torch.is_grad_enabled():
            return
        site = self.recorder.sites.current(frame)
        if site in self.found:
            return
        self.found[site] = None
        if not given.is_cpu or not given.is_floating_point() or given.layout is not torch.strided:
            return
        if not 1 < given.numel() <= MAX_ELEMENTS:
            return
        with torch.no_grad(), private.aside():
            numbers = given.detach().double()
            low, high = (float(bound) for bound in torch.aminmax(numbers))
            std, mean = (float(part) for part in torch.std_mean(numbers))
        if math.isfinite(low) and math.isfinite(high):
            self.found[site] = {"name": name, "low": low, "high": high, "mean": mean, "std": std}

    def _tell(self) -> None:
        for site, data in self.found.items():
            if data is not None:
                self.recorder.emit("raw_input", site, data)
