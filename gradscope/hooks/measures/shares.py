"""Shares that are 1 each: a division of numbers by what they add up to, where each is the whole of its group.
A division of two tensors of one shape is looked at until one of its results is no 1."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.looks import Unbroken
from gradscope.hooks.recorder.values import can_be_asked

NEAR = 1e-4  # what a constant in the divisor may take away
MAX_ELEMENTS = 100_000
LEAST = 4  # shares that tell
MAX_SITES = 16


class Shares(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.one = Unbroken(MAX_SITES)
        self.recorder.functions.follow(["div"], self._divided)
        self.recorder.signals.before_end.connect(self._tell)

    def _divided(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if kwargs or len(args) != 2 or not getattr(result, "requires_grad", False):
            return
        over, under = args
        if not isinstance(over, torch.Tensor) or not isinstance(under, torch.Tensor):
            return
        if over.shape != under.shape or not over.requires_grad or not under.requires_grad:
            return
        site = self.recorder.sites.current(frame)
        if not self.one.is_open(site):
            return
        if can_be_asked(result, MAX_ELEMENTS) and result.numel() >= LEAST:
            self.recorder.arrivals.when_here((result,), lambda shares: self._count(site, shares))

    def _count(self, site: int, shares: torch.Tensor) -> None:
        if float((shares - 1).abs().max()) <= NEAR:
            self.one.hold(site, shares=shares.numel())
        else:
            self.one.end(site)

    def _tell(self) -> None:
        for site, found in self.one.told.items():
            self.recorder.emit("shares_of_one", site, found)
