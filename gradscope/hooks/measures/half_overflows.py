"""Where float16 numbers without a graph become infinite before each step, and all gradients are exactly zero when it
begins: a norm that overflows, and what is divided by it. In the first steps, then ever more rarely."""

from __future__ import annotations

import math
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.losses import ADDITIONS
from gradscope.hooks.recorder.values import readable

FIRST = 8  # steps that are looked at in any case
MOST = 1_000_000  # elements
NAMES = (
    "pow", "square", "mul", "sum", "norm", "linalg_norm", "linalg_vector_norm", "vector_norm", "dot", *ADDITIONS,
)  # fmt: skip
FACTORS = ("mul", "mul_", "div", "div_", "_foreach_mul", "_foreach_mul_", "_foreach_div", "_foreach_div_")


class HalfOverflows(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.steps = Looks(FIRST)
        self.open = True  # until the next step: it is one of those that are looked at
        # the first overflow before a step: site, call, largest input
        self.made: tuple[int, str, float] | None = None
        self.zeroed: int | None = None  # site of what multiplied by 0 since
        self.found = Unbroken()
        self.recorder.functions.follow(NAMES, self._made)
        self.recorder.functions.follow(FACTORS, self._multiplied)
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.before_end.connect(self._tell)

    def _made(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.open or self.made is not None or not args:
            return
        if not isinstance(result, torch.Tensor) or result.dtype is not torch.float16 or result.requires_grad:
            return
        given = [t for t in args if isinstance(t, torch.Tensor)]
        if not given or not all(readable(t, MOST) for t in [*given, result]):
            return
        with private.aside(), torch.no_grad():
            if bool(result.isinf().any()) and all(bool(t.isfinite().all()) for t in given):
                largest = max(float(t.abs().max()) for t in given)
                self.made = self.recorder.sites.current(frame), name, largest

    def _multiplied(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.made is None or self.zeroed is not None or len(args) < 2:
            return
        for factor in args[:2] if "mul" in name else args[1:2]:
            if not isinstance(factor, torch.Tensor | float):
                continue
            if isinstance(factor, torch.Tensor) and (factor.dim() or not readable(factor, 1)):
                continue
            with private.aside(), torch.no_grad():
                number = float(factor)
            if number == 0 if "mul" in name else math.isinf(number):
                self.zeroed = self.recorder.sites.current(frame)

    def _before(self, optimizer: Any, number: int, leaves: list[LeafRecord]) -> None:
        made, zeroed, looked = self.made, self.zeroed, self.open
        self.made = self.zeroed = None
        self.open = self.steps.due(0)
        if not looked or (made is None and not self.found.told):
            return
        if not _all_zero(leaves):
            for site in list(self.found.told):
                self.found.end(site)
            return
        if made is None or zeroed is None:
            return  # while sampling sleeps calls are not seen
        site, name, largest = made
        told = self.found.hold(
            site, name=name, zeroed=zeroed, largest=largest, parameters=[one.id for one in leaves]
        )
        told["largest"] = max(told["largest"], largest)

    def _tell(self) -> None:
        for site, found in self.found.told.items():
            self.recorder.emit("half_overflow", site, found)


def _all_zero(leaves: list[LeafRecord]) -> bool:
    """Whether they have gradients, which can be read, all of exactly zero."""
    some = False
    for one in leaves:
        grad = getattr(one.ref(), "grad", None)
        if grad is None:
            continue
        if not readable(grad, MOST):
            return False
        with private.aside(), torch.no_grad():
            if bool((grad != 0).any()):
                return False
        some = True
    return some
