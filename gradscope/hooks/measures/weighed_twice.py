"""Which results with a gradient are multiplied by one Python number, the very object, at a second place, with at most a
mean or a sum between."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.scaled import PRODUCTS
from gradscope.hooks.recorder.values import has_values

MOST = 256  # results that are known of one step
PLACES = 64
REDUCTIONS = ("mean", "sum")


class WeighedTwice(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.weighed: dict[int, tuple[Any, float, int]] = {}
        """By id of a result: a reference to it, the number, the site."""
        self.found: dict[tuple[int, int], tuple[float, int]] = {}  # both sites → the number, how often
        self.recorder.functions.follow(PRODUCTS, self._multiplied)
        self.recorder.functions.follow(REDUCTIONS, self._reduced)
        self.recorder.signals.before_step.connect(self._step)
        self.recorder.signals.before_end.connect(self._tell)

    def _step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        self.weighed.clear()

    def _multiplied(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if kwargs or len(args) != 2 or not _is_term(result):
            return
        value, number = args if isinstance(args[0], torch.Tensor) else args[::-1]
        if type(number) is not float or abs(number) in (0.0, 1.0):
            return
        site, before = self.recorder.sites.current(frame), self._known(value)
        if before is not None and before[1] is number and before[0] != site:
            sites = before[0], site
            if sites in self.found or len(self.found) < PLACES:
                self.found[sites] = number, self.found.get(sites, (number, 0))[1] + 1
        self._keep(result, number, site)

    def _reduced(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        before = self._known(args[0]) if self.weighed and args else None
        if before is not None and _is_term(result):
            self._keep(result, before[1], before[0])

    def _known(self, value: Any) -> tuple[int, float] | None:
        known = self.weighed.get(id(value))
        return (known[2], known[1]) if known is not None and known[0]() is value else None

    def _keep(self, result: Any, number: float, site: int) -> None:
        if len(self.weighed) < MOST:
            self.weighed[id(result)] = private.TensorRef(result), number, site

    def _tell(self) -> None:
        for (first, second), (number, calls) in self.found.items():
            self.recorder.emit("weighed_twice", second, {"first": first, "number": number, "calls": calls})


def _is_term(t: Any) -> bool:
    return isinstance(t, torch.Tensor) and t.requires_grad and has_values(t) and t.dim() < 2
