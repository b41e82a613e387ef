"""Counts the exact zeros among the scores that a softmax is given, at its first call from a line with gradients on."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.values import measurable

MAX_ELEMENTS = 10_000_000


class Scores(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.told: set[tuple[int, str]] = set()
        self.recorder.functions.follow(["softmax", "log_softmax", "cross_entropy"], self._softmax)

    def _softmax(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        scores = args[0] if args else (kwargs or {}).get("input")
        if not isinstance(scores, torch.Tensor) or not scores.requires_grad or not torch.is_grad_enabled():
            return
        site = self.recorder.sites.current(frame)
        if (site, name) in self.told or not measurable(scores) or not scores.is_cpu:
            return
        self.told.add((site, name))
        if scores.layout is not torch.strided or not 1 < scores.numel() <= MAX_ELEMENTS:
            return
        with torch.no_grad(), private.aside():
            zeros = int((scores.detach() == 0).sum())
        if zeros:
            self.recorder.emit("zero_scores", site, {"name": name, "share": zeros / scores.numel()})
