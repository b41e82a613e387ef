"""Watches for gradients that the program sums over the ranks in each pass, though no step has used them yet: what was
summed is summed again. Versions tell: a pass adds to a gradient once, and a division by the number of ranks would count
as well. Nothing is read from the device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import distributed

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord

MOST = 4_096  # gradients of one step
LINES = 16
PARAMETERS = 512


@dataclass
class _Again:
    earlier: int  # site of the sum before
    parameters: dict[int, None] = field(default_factory=dict)
    steps: int = 0
    now: bool = False  # in this step


class SummedAgain(Hook):
    order = 78

    def install(self) -> None:
        self.passes = 0
        self.following = False
        self.seen: dict[int, tuple[Any, int, int, int]] = {}  # address → gradient, its version, passes, site
        self.told: dict[int, _Again] = {}
        if distributed.is_available():
            self.recorder.signals.summed.connect(self._summed)

    def _follow(self) -> None:
        """From the first sum on: other programs pay nothing."""
        self.following = True
        signals = self.recorder.signals
        signals.after_pass.connect(self._after_pass)
        signals.before_step.connect(self._before_step)
        signals.before_end.connect(self._tell)

    def _after_pass(self, site: int, failed: BaseException | None) -> None:
        self.passes += 1

    def _before_step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        self.seen.clear()
        for again in self.told.values():
            again.steps += again.now
            again.now = False

    def _summed(self, tensors: list[Any], frame: Any) -> None:
        if not self.following:
            self._follow()
        for t in tensors:
            if not private.is_leaf(t) or t.requires_grad or len(self.seen) >= MOST:
                continue
            address, version = t.data_ptr(), private.version_of(t)
            before = self.seen.get(address)
            site = self.recorder.sites.current(frame)
            self.seen[address] = private.TensorRef(t), version, self.passes, site
            if before is None or before[0]() is not t or before[2] == self.passes:
                continue
            if version - before[1] == self.passes - before[2]:
                self._note(t, site, before[3])

    def _note(self, t: Any, site: int, earlier: int) -> None:
        again = self.told.get(site)
        if again is None:
            if len(self.told) == LINES:
                return
            again = self.told[site] = _Again(earlier)
        again.now = True
        if len(again.parameters) < PARAMETERS and again.steps < 2:
            for record in self.recorder.ledger.all:
                leaf = record.ref()
                if leaf is not None and private.grad_of(leaf) is t:
                    again.parameters[record.id] = None

    def _tell(self) -> None:
        for site, again in self.told.items():
            if again.parameters and again.steps:
                data = {"parameters": list(again.parameters), "earlier": again.earlier, "steps": again.steps}
                self.recorder.emit("summed_again", site, data)
