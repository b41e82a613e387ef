"""The range of what a ReLU, a `clamp` with the bound 0, or a maximum with zeros, was given from a line, where it never
cut anything off: most that are part of a model do so in their first call, and are not looked at again."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_ELEMENTS = 1_000_000
MAX_SITES = 256


class Hinges(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.idle = Unbroken()
        self.recorder.functions.follow(["relu", "clamp", "clamp_min", "clip"], self._call)
        self.recorder.functions.follow(["maximum", "max", "fmax"], self._larger)
        self.recorder.signals.before_end.connect(self._tell)

    def _larger(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """The larger of a value with a gradient and of zeros."""
        given = by_name(("input", "other"), args, kwargs)
        sides: list[Any] = [given.get("input"), given.get("other")]
        if len(given) != 2 or not all(isinstance(side, torch.Tensor) for side in sides):
            return
        value, bound = sides if sides[0].requires_grad else sides[::-1]
        if value.requires_grad and not bound.requires_grad:
            self._look(name, value, bound, frame)

    def _call(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.recorder.sites.current(frame) in self.idle.broken:
            return  # nearly every call
        given = by_name(("input", "min", "max"), args, kwargs)
        value: Any = given.get("input")
        low = given.get("min")
        cuts_at_zero = name == "relu" or (isinstance(low, int | float) and low == 0)
        if not getattr(value, "requires_grad", False) or not cuts_at_zero:
            return
        self._look(name, value, None, frame)

    def _look(self, name: str, value: Any, bound: Any, frame: Any) -> None:
        site = self.recorder.sites.current(frame)
        if site in self.idle.broken or not self.looks.due(site):
            return
        if not can_be_asked(value, MAX_ELEMENTS) or value.is_complex():
            return
        if bound is None:
            self.recorder.arrivals.when_here((value,), lambda value: self._count(site, name, value))
        elif can_be_asked(bound, MAX_ELEMENTS):
            self.recorder.arrivals.when_here(
                (value, bound), lambda value, bound: self._count(site, name, value, bound)
            )

    def _count(self, site: int, name: str, value: torch.Tensor, bound: torch.Tensor | None = None) -> None:
        if bound is not None and bool(bound.any()):
            self.idle.end(site)
            return
        low, high = (float(bound) for bound in torch.aminmax(value))
        if not low > 0:
            self.idle.end(site)
            return
        told = self.idle.hold(site, name=name, low=low, high=high)
        told["low"], told["high"] = min(told["low"], low), max(told["high"], high)

    def _tell(self) -> None:
        for site, found in self.idle.told.items():
            self.recorder.emit("hinge", site, found)
