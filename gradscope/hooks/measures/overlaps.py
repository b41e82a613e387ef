"""What `1 - x` comes to at a line, for losses by hand that are 1 less an overlap, and products of values with targets
where either alone lies from 0 to 1."""

from __future__ import annotations

from math import inf
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 16  # differences of a line that are looked at in any case, then ever more rarely
FEW = 4  # products, the same
MAX_SITES = 64
MOST = 1 << 20  # elements of a product
RESULTS = 4096  # of a difference


class Overlaps(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.differences, self.products = Looks(FIRST, MAX_SITES), Looks(FEW, MAX_SITES)
        self.below: dict[int, dict[str, Any]] = {}
        self.told: set[int] = set()  # sites of products
        self.no_shares: dict[int, tuple[float, float]] = {}  # site of a product → the least and the most
        self.recorder.functions.follow(("rsub", "__rsub__"), self._subtracted)
        self.recorder.functions.follow(["mul", "dot", "vdot"], self._multiplied)
        self.recorder.functions.follow(["einsum"], self._by_letters)
        self.recorder.signals.before_end.connect(self._tell)

    def _subtracted(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 2 or type(args[1]) not in (int, float) or args[1] != 1:
            return
        if not getattr(result, "requires_grad", False) or not can_be_asked(result, RESULTS):
            return
        site = self.recorder.sites.current(frame)
        if self.differences.due(site):
            self.recorder.arrivals.when_here((result,), lambda result: self._count(site, result))

    def _count(self, site: int, result: torch.Tensor) -> None:
        told = self.below.setdefault(site, {"calls": 0, "below": 0, "lowest": 0.0})
        lowest = float(result.min())
        told["calls"] += 1
        told["below"] += lowest < 0
        told["lowest"] = min(told["lowest"], lowest)

    def _multiplied(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 2 or not all(isinstance(t, torch.Tensor) and t.is_floating_point() for t in args):
            return
        given, fixed = args if args[0].requires_grad else args[::-1]
        if not given.requires_grad or fixed.requires_grad or given.shape != fixed.shape or not given.dim():
            return
        site = self.recorder.sites.current(frame)
        if site in self.told or not self.products.due(site):
            return
        if can_be_asked(given, MOST) and can_be_asked(fixed, MOST):
            self.recorder.arrivals.when_here(
                (given, fixed), lambda given, fixed: self._look(site, given, fixed)
            )

    def _by_letters(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = args[1:]
        if len(given) == 1 and type(given[0]) in (list, tuple):
            given = tuple(given[0])
        self._multiplied(name, given, kwargs, result, frame)

    def _look(self, site: int, given: torch.Tensor, fixed: torch.Tensor) -> None:
        least, most, low, high = (float(x) for t in (given, fixed) for x in t.aminmax())
        if site in self.told or low < 0:
            return
        if 1 < high < inf and 0 <= least <= most <= 1:
            two = bool(((fixed == 0) | (fixed == high)).all())
            data = {"high": high, "share": float((fixed > 1).float().mean()), "two": two}
            self.told.add(site)
            self.recorder.emit("beyond_one", site, data)
        elif high == 1 and (least < 0 or most > 1):
            low, high = self.no_shares.get(site, (least, most))
            self.no_shares[site] = min(low, least), max(high, most)

    def _tell(self) -> None:
        for site, found in self.below.items():
            if found["below"]:
                self.recorder.emit("one_less", site, found)
        for site, (low, high) in self.no_shares.items():
            if site not in self.told:
                self.recorder.emit("no_shares", site, {"low": low, "high": high})
