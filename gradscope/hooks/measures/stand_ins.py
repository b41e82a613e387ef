"""Whether a sum follows a value that it holds without its graph, as `x.detach() + (q - x)` follows x where q is x
rounded: how both go together, element by element."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import TensorRef
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.values import can_be_asked, measurable

FIRST = 4  # calls of a line that are looked at, then ever more rarely
MAX_SITES = 64
LAST = 6  # values without their graph that are remembered
LEAST, MOST = 8, 1 << 20  # elements


class StandIns(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.cut: deque[tuple[TensorRef, TensorRef]] = deque(
            maxlen=LAST
        )  # what it was, and what holds it now
        self.looks = Looks(FIRST, MAX_SITES)
        self.found: dict[int, dict[str, Any]] = {}
        self.recorder.functions.follow(["detach", "data"], self._cut)
        self.recorder.functions.follow(["add", "sub", "add_", "sub_"], self._summed)
        self.recorder.signals.before_swap.connect(self._forget)
        self.recorder.signals.before_end.connect(self._tell)

    def _forget(self, t: Any) -> None:
        self.cut.clear()

    def _cut(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 1 or not isinstance(result, torch.Tensor) or not measurable(result):
            return
        if torch.is_grad_enabled() and args[0].requires_grad and LEAST <= result.numel() <= MOST:
            self.cut.append((TensorRef(args[0]), TensorRef(result)))

    def _summed(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.cut or kwargs or len(args) != 2 or not isinstance(result, torch.Tensor):
            return
        if not result.requires_grad or not torch.is_grad_enabled():
            return
        for source, held in self.cut:
            holder, given = held(), source()
            if holder is None or given is None or not any(one is holder for one in args):
                continue
            if holder.shape != result.shape:
                return
            self.cut.append((TensorRef(given), TensorRef(result)))
            site = self.recorder.sites.current(frame)
            if self.looks.due(site) and can_be_asked(given, MOST) and can_be_asked(result, MOST):
                then = partial(self._compare, site)
                self.recorder.arrivals.when_here((given, result), then)
            return

    def _compare(self, site: int, given: torch.Tensor, made: torch.Tensor) -> None:
        together = _together(given.flatten().double(), made.flatten().double())
        if together is not None:
            told = self.found.setdefault(site, {"calls": 0, "least": together, "most": together})
            told["calls"] += 1
            told["least"], told["most"] = min(told["least"], together), max(told["most"], together)

    def _tell(self) -> None:
        for site, data in self.found.items():
            self.recorder.emit("stand_in", site, data)


def _together(one: torch.Tensor, other: torch.Tensor) -> float | None:
    """Their correlation; None where one of them is the same everywhere."""
    one, other = one - one.mean(), other - other.mean()
    size = float(one.norm() * other.norm())
    return float(one @ other) / size if 0 < size < float("inf") else None
