"""The largest learning rate of each optimizer at the steps that were looked at and at the end: whoever raises it, a
schedule or the program's own hand. It stands with the optimizer, as `highest`."""

from __future__ import annotations

import weakref
from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.parts import rates_of


class HighestRates(Hook):
    order = 38

    def install(self) -> None:
        self.alive: dict[int, weakref.ref[Any]] = {}
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.before_end.connect(self._end)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        if number not in self.alive:
            self.alive[number] = weakref.ref(optimizer)
        self._take(optimizer, number)

    def _end(self) -> None:
        for number, known in self.alive.items():
            optimizer = known()
            if optimizer is not None:
                self._take(optimizer, number)

    def _take(self, optimizer: Any, number: int) -> None:
        row = self.recorder.optimizers[number]
        row["highest"] = max([*rates_of(optimizer), row.get("highest", 0.0)])
