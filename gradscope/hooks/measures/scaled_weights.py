"""Notes by which Python number a line multiplies or divides what a softmax gave, with or without dropout between."""

from __future__ import annotations

from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.scaled import PRODUCTS, QUOTIENTS, factor_of, keep
from gradscope.hooks.recorder.values import has_values

MAKING = ("softmax",)
PASSING = ("dropout",)


class ScaledWeights(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.last: Any = None  # weak reference to the last weights
        self.found: dict[int, float | None] = {}  # site → the factor, None where it was not always the same
        self.recorder.functions.follow(MAKING, self._made)
        self.recorder.functions.follow(PASSING, self._passed)
        self.recorder.functions.follow((*PRODUCTS, *QUOTIENTS), self._scaled)
        self.recorder.signals.before_end.connect(self._tell)

    def _made(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        self.last = private.TensorRef(result) if has_values(result) and result.requires_grad else None

    def _passed(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.last is not None and args and self.last() is args[0]:
            self._made(name, args, kwargs, result, frame)

    def _scaled(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        weights = self.last() if self.last is not None else None
        factor = factor_of(name, args, kwargs, weights) if weights is not None else None
        if factor is not None:
            keep(self.found, self.recorder.sites.current(frame), factor)

    def _tell(self) -> None:
        for site, factor in self.found.items():
            if factor is not None:
                self.recorder.emit("scaled_weights", site, {"factor": factor})
