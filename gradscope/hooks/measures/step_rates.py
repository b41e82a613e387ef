"""The learning rates that optimizers step at, whoever sets them, a schedule or the program's own hand: the largest one
at the steps that were looked at and at the end, which stands with the optimizer as `highest`; and, of all steps, also
those that are only counted, how often the rate was rising step by step and fell to next to nothing at the next."""

from __future__ import annotations

import weakref
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.parts import rates_of

RISING = 5  # steps in a row, each with a larger rate than the one before
FALLS_TO = 0.1  # of the rate before


@dataclass
class _Course:
    """The largest rate of an optimizer's groups, from step to step."""

    rate: float = 0.0
    rising: int = 0
    tops: list[float] = field(default_factory=list)  # where it fell from
    low: float = 0.0  # where it fell to, last
    highest: float = 0.0

    def follow(self, rate: float) -> None:
        if rate > self.rate:
            self.rising += 1
        else:
            if self.rising >= RISING and rate < FALLS_TO * self.rate:
                self.tops.append(self.rate)
                self.low = rate
            self.rising = 0
        self.rate, self.highest = rate, max(self.highest, rate)


class StepRates(Hook):
    order = 38

    def install(self) -> None:
        self.alive: dict[int, weakref.ref[Any]] = {}
        self.courses: defaultdict[int, _Course] = defaultdict(_Course)
        self.sites: dict[int, int] = {}  # of the last step
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.before_expected_step.connect(self._expected)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_end.connect(self._end)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        if number not in self.alive:
            self.alive[number] = weakref.ref(optimizer)
        self._take(number, rate := _largest(optimizer))
        self.courses[number].follow(rate)

    def _expected(self, optimizer: Any, number: int) -> None:
        self.courses[number].follow(_largest(optimizer))

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        self.sites[number] = site

    def _take(self, number: int, rate: float) -> None:
        row = self.recorder.optimizers[number]
        row["highest"] = max(rate, row.get("highest", 0.0))

    def _end(self) -> None:
        for number, known in self.alive.items():
            optimizer = known()
            if optimizer is not None:
                self._take(number, _largest(optimizer))
        for number, course in self.courses.items():
            if course.tops and number in self.sites:
                data = {
                    "optimizer": number, "tops": course.tops, "low": course.low, "highest": course.highest,
                }  # fmt: skip
                self.recorder.emit("rate_falls", self.sites[number], data)


def _largest(optimizer: Any) -> float:
    """The largest rate of its groups; 0 where none has a plain number."""
    return max(rates_of(optimizer), default=0.0)
