"""Notes by which Python number a line multiplies or divides the products of two matrices, and how many numbers each
product is a sum of."""

from __future__ import annotations

from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.scaled import PRODUCTS, QUOTIENTS, factor_of, keep
from gradscope.hooks.recorder.values import has_values

MAKING = ("matmul", "__matmul__", "bmm")


class ScaledScores(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.last: Any = None  # weak reference to the last products
        self.width = 0
        # site → factor and width; None where they changed
        self.found: dict[int, tuple[float, int] | None] = {}
        self.recorder.functions.follow(MAKING, self._made)
        self.recorder.functions.follow((*PRODUCTS, *QUOTIENTS), self._scaled)
        self.recorder.signals.before_end.connect(self._tell)

    def _made(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        known = has_values(result) and result.requires_grad and len(args) > 1 and args[0].ndim > 2
        self.last, self.width = (private.TensorRef(result), args[0].shape[-1]) if known else (None, 0)

    def _scaled(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        scores = self.last() if self.last is not None else None
        factor = factor_of(name, args, kwargs, scores) if scores is not None else None
        if factor:  # zero says nothing of the width
            keep(self.found, self.recorder.sites.current(frame), (factor, self.width))

    def _tell(self) -> None:
        for site, found in self.found.items():
            if found is not None:
                self.recorder.emit("scaled_scores", site, {"factor": found[0], "width": found[1]})
