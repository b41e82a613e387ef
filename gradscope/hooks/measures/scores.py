"""Counts the exact zeros among the scores that a softmax is given, at its first call from a line with gradients on."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.values import can_be_asked

MAX_ELEMENTS = 10_000_000


class Scores(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.told: set[tuple[int, str]] = set()
        self.recorder.functions.follow(
            ["softmax", "log_softmax", "cross_entropy", "logsumexp"], self._softmax
        )

    def _softmax(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        scores = args[0] if args else (kwargs or {}).get("input")
        if not isinstance(scores, torch.Tensor) or not scores.requires_grad or not torch.is_grad_enabled():
            return
        site = self.recorder.sites.current(frame)
        if (site, name) in self.told or not can_be_asked(scores, MAX_ELEMENTS):
            return
        self.told.add((site, name))

        def tell(scores: torch.Tensor) -> None:
            zeros = int((scores == 0).sum())
            if zeros and scores.numel() > 1:
                self.recorder.emit("zero_scores", site, {"name": name, "share": zeros / scores.numel()})

        self.recorder.arrivals.when_here((scores,), tell)
