"""Which parameters hold nothing but zeros after some steps: two such in a row leave each other without a
gradient. Looked at before the steps 4, 8, 16, … of each optimizer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import can_be_asked, measurable

MOST = 1000  # parameters of the run
FIRST = 4  # step: zeros that are only the beginning are over by then


class ZeroWeights(Hook):
    order = 38

    def install(self) -> None:
        self.steps: dict[int, int] = {}  # of each optimizer
        self.zero: dict[int, set[int]] = {}  # its parameters that were zero when last looked at
        self.frozen: set[int] = (
            set()
        )  # weights that no optimizer holds and that require no gradient, the same
        self.site = 0  # of the last step
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_end.connect(self._tell)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        count = self.steps[number] = self.steps.get(number, 0) + 1
        if count < FIRST or count & (count - 1):
            return
        others = list(self.recorder.ledger.records.values())[:MOST]
        with private.aside():
            self._ask(records, partial(self.zero.__setitem__, number))
            self._ask([r for r in others if r.declared and not r.optimizers and _is_frozen(r)], self._keep)

    def _keep(self, frozen: set[int]) -> None:
        self.frozen = frozen

    def _ask(self, records: list[LeafRecord], then: Callable[[set[int]], object]) -> None:
        """Which of them hold nothing but zeros."""
        held = [(r.id, t) for r in records if (t := _weight(r)) is not None]
        if len({t.device for _, t in held}) != 1:
            then(set())
            return
        if held[0][1].is_cpu:
            then({id for id, t in held if _is_zero(t)})
            return

        def tell(some: torch.Tensor) -> None:
            then({id for (id, _), other in zip(held, some.tolist(), strict=True) if not other})

        self.recorder.arrivals.when_here((torch.stack([t.any() for _, t in held]),), tell)

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        self.site = site

    def _tell(self) -> None:
        zero = sorted(id for ids in self.zero.values() for id in ids)
        if zero or self.frozen:
            self.recorder.emit("zero_weights", self.site, {"parameters": zero, "frozen": sorted(self.frozen)})


def _is_frozen(record: LeafRecord) -> bool:
    """Whether it is a weight that could be trained and requires no gradient."""
    t = record.ref()
    return t is not None and measurable(t) and not t.requires_grad and t.dim() > 1


def _weight(record: LeafRecord) -> torch.Tensor | None:
    t = record.ref()
    return t.detach() if can_be_asked(t, sys.maxsize) and t.is_floating_point() else None


def _is_zero(t: torch.Tensor) -> bool:
    numbers = t.flatten()
    return not bool(numbers[0]) and not bool(numbers.any())
