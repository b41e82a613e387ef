"""How far the ratio of two probabilities, as PPO clips it, gets from 1, and whether its advantages come in several
steps. A `clamp` with bounds on both sides of 1 is looked at until its input differs from 1: in the first step of a
batch it is 1, in the next no more."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Unbroken
from gradscope.hooks.recorder.values import can_be_asked

NEAR = 2e-6
MAX_ELEMENTS = 100_000
MAX_VALUES = 20_000  # of advantages that are remembered
MAX_SITES = 16
KNOWN_AGAIN = 0.9  # of the advantages of a call
DIFFERENT = 4  # of them, at least


class Ratios(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.one = Unbroken()
        self.values: dict[float, int] = {}  # an advantage → the step before which it came first
        self.clipped: tuple[Any, int] | None = (
            None  # the result of the last call, by weak reference, and its site
        )
        self.recorder.functions.follow(["clamp", "clip"], self._clamp)
        self.recorder.functions.follow(["mul", "__mul__", "__rmul__"], self._weighed)
        self.recorder.signals.before_end.connect(self._tell)

    def _clamp(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "min", "max"), args, kwargs)
        low, high = given.get("min"), given.get("max")
        ratio: Any = given.get("input")
        if not isinstance(low, (int, float)) or not isinstance(high, (int, float)) or not 0 < low < 1 < high:
            return
        if not getattr(ratio, "requires_grad", False):
            return
        site = self.recorder.sites.current(frame)
        if site in self.one.broken or (site not in self.one.told and len(self.one.told) >= MAX_SITES):
            return
        if not can_be_asked(ratio, MAX_ELEMENTS) or ratio.numel() == 1:
            return
        self.clipped = weakref.ref(result), site
        self.recorder.arrivals.when_here((ratio,), lambda ratio: self._count(site, ratio))

    def _count(self, site: int, ratio: torch.Tensor) -> None:
        away = float((ratio - 1).abs().max())
        if away <= NEAR:
            self.one.hold(site, again=0)
        else:
            self.one.end(site)

    def _weighed(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.clipped is None or len(args) != 2:
            return
        clipped, site = self.clipped
        mine = clipped()
        if mine is None or not any(one is mine for one in args):
            return
        self.clipped = None
        weights = args[1] if args[0] is mine else args[0]
        if site in self.one.broken or not can_be_asked(weights, MAX_ELEMENTS):
            return
        if weights.requires_grad or weights.numel() == 1:
            return
        steps = self.recorder.steps
        self.recorder.arrivals.when_here((weights,), lambda weights: self._compare(site, weights, steps))

    def _compare(self, site: int, weights: torch.Tensor, steps: int) -> None:
        told = self.one.told.get(site)
        if told is None:
            return
        values = set(weights.flatten()[:MAX_VALUES].tolist())
        if len(values) < DIFFERENT or 2 * len(values) < min(weights.numel(), MAX_VALUES):
            return
        before = sum(self.values.get(value, steps) < steps for value in values)
        told["again"] += before >= KNOWN_AGAIN * len(values)
        if len(self.values) > MAX_VALUES:
            self.values.clear()
        for value in values:
            self.values.setdefault(value, steps)

    def _tell(self) -> None:
        for site, found in self.one.told.items():
            if found["again"]:
                self.recorder.emit("ratio_of_one", site, found)
