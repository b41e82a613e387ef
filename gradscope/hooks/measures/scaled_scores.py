"""Notes by which Python number a line multiplies or divides the products of two matrices, and how many numbers each
product is a sum of."""

from __future__ import annotations

from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.scaled_weights import MOST, PRODUCTS, QUOTIENTS
from gradscope.hooks.recorder.values import has_values

MAKING = ("matmul", "__matmul__", "bmm")


class ScaledScores(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.last: Any = None  # weak reference to the last products
        self.width = 0
        self.found: dict[
            int, tuple[float, int] | None
        ] = {}  # site → factor and width; None where they changed
        self.recorder.functions.follow(MAKING, self._made)
        self.recorder.functions.follow((*PRODUCTS, *QUOTIENTS), self._scaled)
        self.recorder.signals.before_end.connect(self._tell)

    def _made(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        known = has_values(result) and result.requires_grad and len(args) > 1 and args[0].ndim > 2
        self.last, self.width = (private.TensorRef(result), args[0].shape[-1]) if known else (None, 0)

    def _scaled(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.last is None or kwargs or len(args) != 2:
            return
        scores, number = args if type(args[1]) in (int, float) else args[::-1]
        if type(number) not in (int, float) or not number or self.last() is not scores:
            return
        if name in QUOTIENTS and scores is not args[0]:
            return
        site = self.recorder.sites.current(frame)
        factor = 1 / number if name in QUOTIENTS else float(number)
        if site in self.found:
            if self.found[site] != (factor, self.width):
                self.found[site] = None
        elif len(self.found) < MOST:
            self.found[site] = factor, self.width

    def _tell(self) -> None:
        for site, found in self.found.items():
            if found is not None:
                self.recorder.emit("scaled_scores", site, {"factor": found[0], "width": found[1]})
