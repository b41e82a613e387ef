"""Notes by which Python number a line multiplies or divides the products of two matrices, or has an attention do it,
and how many numbers each product is a sum of; and by which it multiplies what may be one side of such products."""

from __future__ import annotations

from typing import Any

import torch

from gradscope import equations
from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.scaled import PRODUCTS, QUOTIENTS, factor_of, keep
from gradscope.hooks.recorder.values import has_values

MAKING = ("matmul", "bmm", "einsum")
ATTENTION = "scaled_dot_product_attention"
LEAST = 2.0  # of a side: what makes the products larger


class ScaledScores(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.last: Any = None  # weak reference to the last products
        self.width = 0
        # site → factor and width; None where they changed
        self.found: dict[int, tuple[float, int] | None] = {}
        self.sides: dict[int, float | None] = {}  # site → factor
        self.recorder.functions.follow(MAKING, self._made)
        self.recorder.functions.follow((*PRODUCTS, *QUOTIENTS), self._scaled)
        self.recorder.functions.follow([ATTENTION], self._attention)
        self.recorder.signals.before_end.connect(self._tell)

    def _made(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        known = has_values(result) and result.requires_grad and len(args) > 1 and result.ndim > 1
        self.width = _width(name, args) if known else 0
        self.last = private.TensorRef(result) if self.width else None

    def _scaled(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        scores = self.last() if self.last is not None else None
        factor = factor_of(name, args, kwargs, scores) if scores is not None else None
        if factor:  # zero says nothing of the width
            keep(self.found, self.recorder.sites.current(frame), (factor, self.width))
        elif (
            not kwargs and len(args) == 2 and has_values(result) and result.requires_grad and result.ndim > 2
        ):
            factor = factor_of(name, args, kwargs, args[0] if isinstance(args[0], torch.Tensor) else args[1])
            if factor and factor >= LEAST:
                keep(self.sides, self.recorder.sites.current(frame), factor)

    def _attention(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        scale = (kwargs or {}).get("scale")
        if type(scale) in (int, float) and scale and args and has_values(result) and result.requires_grad:
            keep(self.found, self.recorder.sites.current(frame), (float(scale), args[0].shape[-1]))

    def _tell(self) -> None:
        for site, found in self.found.items():
            if found is not None:
                self.recorder.emit("scaled_scores", site, {"factor": found[0], "width": found[1]})
        for site, factor in self.sides.items():
            if factor is not None and site not in self.found:
                self.recorder.emit("scaled_scores", site, {"factor": factor})


def _width(name: str, args: Any) -> int:
    """Of how many numbers each product is a sum; 0 where it can't be said."""
    if name != "einsum":
        return int(args[0].shape[-1])
    if type(args[0]) is not str or len(args) != 3:
        return 0
    return int(equations.read(args[0]).width(args[1].shape))
