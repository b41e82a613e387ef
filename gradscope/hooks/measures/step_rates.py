"""The learning rates that optimizers step at, whoever sets them, a schedule or the program's own hand: the largest one
at the steps that were looked at and at the end, which stands with the optimizer as `highest`; and, of all steps, also
those that are only counted, how often the rate was rising step by step and fell to next to nothing at the next, and
which groups stepped at another rate than at first."""

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
SEVERAL = 5  # steps in which a group may keep its rate by chance


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


@dataclass
class _Groups:
    """The rates that an optimizer's groups stepped at first, and which of them came to step at another one."""

    first: list[float]
    steps: int = 0
    moved: set[int] = field(default_factory=set)

    def follow(self, rates: list[float]) -> None:
        self.steps += 1
        if rates != self.first:
            self.moved |= {n for n, rate in enumerate(rates) if self.first[n : n + 1] != [rate]}


class StepRates(Hook):
    order = 38

    def install(self) -> None:
        self.alive: dict[int, weakref.ref[Any]] = {}
        self.courses: defaultdict[int, _Course] = defaultdict(_Course)
        self.groups: dict[int, _Groups] = {}
        self.sites: dict[int, int] = {}  # of the last step
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.before_expected_step.connect(self._expected)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_end.connect(self._end)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        if number not in self.alive:
            self.alive[number] = weakref.ref(optimizer)
        self._take(number, self._follow(optimizer, number))

    def _expected(self, optimizer: Any, number: int) -> None:
        self._follow(optimizer, number)

    def _follow(self, optimizer: Any, number: int) -> float:
        rates = rates_of(optimizer)
        groups = self.groups.get(number)
        if groups is None:
            groups = self.groups[number] = _Groups(rates)
        groups.follow(rates)
        rate = max(rates, default=0.0)
        self.courses[number].follow(rate)
        return rate

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
        for number, groups in self.groups.items():
            stood = len(groups.moved) < len(groups.first)
            if stood and groups.steps >= SEVERAL and number in self.sites:
                data = {
                    "optimizer": number, "rates": groups.first, "moved": sorted(groups.moved), "steps": groups.steps,
                }  # fmt: skip
                self.recorder.emit("rates_stood", self.sites[number], data)


def _largest(optimizer: Any) -> float:
    """The largest rate of its groups; 0 where none has a plain number."""
    return max(rates_of(optimizer), default=0.0)
