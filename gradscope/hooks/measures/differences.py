"""Differences that are exactly zero in all calls of a line, of numbers that are trained and as many that are not: those
that the program takes, and those that a loss takes of its two sides. A line is looked at until one of its differences
is not."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Unbroken
from gradscope.hooks.recorder.losses import SUBTRACTIONS
from gradscope.hooks.recorder.values import can_be_asked

MAX_ELEMENTS = 100_000
LEAST = 4  # elements that tell
MAX_SITES = 32
COMPARING = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div")
ROUNDING = 1e-6  # between a probability and the exponential of its logarithm


class Differences(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.zero = Unbroken(MAX_SITES)
        self.recorder.functions.follow(SUBTRACTIONS, self._subtracted)
        self.recorder.functions.follow(COMPARING, self._compared)
        self.recorder.signals.before_end.connect(self._tell)

    def _subtracted(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        site = self._looked_at(args[0], args[1], frame) if len(args) == 2 else None
        if site is not None:
            self._look(site, result)

    def _compared(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "target"), args, kwargs)
        one, other = given.get("input"), given.get("target")
        site = self._looked_at(one, other, frame)
        if site is None or not can_be_asked(one, MAX_ELEMENTS) or not can_be_asked(other, MAX_ELEMENTS):
            return
        with torch.no_grad(), private.aside():
            apart = one.detach() - other.detach()
            if name == "kl_div" and given.get("log_target") is not True:
                apart = one.detach().exp() - other.detach()
            if name == "kl_div":
                apart = apart * (apart.abs() > ROUNDING)
        self._look(site, apart)

    def _looked_at(self, one: Any, other: Any, frame: Any) -> int | None:
        """The line that compares both, where it may still tell something."""
        if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
            return None
        if one.requires_grad == other.requires_grad or one.shape != other.shape:
            return None
        site = self.recorder.sites.current(frame)
        return site if self.zero.is_open(site) else None

    def _look(self, site: int, apart: Any) -> None:
        if can_be_asked(apart, MAX_ELEMENTS) and apart.numel() >= LEAST:
            steps = self.recorder.steps
            self.recorder.arrivals.when_here((apart,), lambda numbers: self._count(site, numbers, steps))

    def _count(self, site: int, numbers: torch.Tensor, steps: int) -> None:
        if bool((numbers == 0).all()):
            told = self.zero.hold(site, begun=steps)
            told["steps"] = steps - told["begun"]
        else:
            self.zero.end(site)

    def _tell(self) -> None:
        for site, found in self.zero.told.items():
            self.recorder.emit("no_difference", site, {"calls": found["calls"], "steps": found["steps"]})
