"""How many of the probabilities that `binary_cross_entropy` is given are exactly 0 or 1 where the target is something
else: there the loss is cut off at 100, and no gradient comes back through what made them."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 64  # calls of a line that are looked at in any case: most are of steps that sampling has woken up for
EVERY = 16  # then one of so many
MOST = 10_000  # calls of a line
SHARE = 0.1  # of the elements
MAX_ELEMENTS = 1_000_000
MAX_SITES = 64


class AtTheLimit(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.calls = Looks(FIRST, MAX_SITES)
        self.found: dict[int, dict[str, Any]] = {}  # site → what is told of it
        self.recorder.functions.follow(["binary_cross_entropy"], self._call)
        self.recorder.signals.before_end.connect(self._tell)

    def _call(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "target"), args, kwargs)
        value: Any = given.get("input")
        target: Any = given.get("target")
        if not getattr(value, "requires_grad", False) or not isinstance(target, torch.Tensor):
            return
        site = self.recorder.sites.current(frame)
        due = self.calls.due(site)
        calls = self.calls.calls.get(site, 0)
        if not due and (not calls or calls % EVERY or calls > MOST):
            return
        if value.shape == target.shape and all(can_be_asked(t, MAX_ELEMENTS) for t in (value, target)):
            self.recorder.arrivals.when_here(
                (value, target), lambda value, target: self._count(site, calls, value, target)
            )

    def _count(self, site: int, call: int, value: torch.Tensor, target: torch.Tensor) -> None:
        zeros = int(((value == 0) & (target > 0)).sum())
        cut = zeros + int(((value == 1) & (target < 1)).sum())
        if value.numel() and cut >= max(1, SHARE * value.numel()):
            found = self.found.setdefault(site, {"calls": 0, "since": call})
            found.update(calls=found["calls"] + 1, elements=value.numel(), cut=cut, zeros=zeros, still=True)
        elif site in self.found:
            self.found[site]["still"] = False

    def _tell(self) -> None:
        for site, found in self.found.items():
            self.recorder.emit("at_the_limit", site, found)
