"""How often an optimizer's learning rate was rising step by step and fell to next to nothing from one step to the
next. Every step is asked, also those that are only counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gradscope.hooks import Hook
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


class RateFalls(Hook):
    order = 38

    def install(self) -> None:
        self.courses: dict[int, _Course] = {}
        self.sites: dict[int, int] = {}
        self.recorder.signals.before_step.connect(
            lambda optimizer, number, records: self._look(optimizer, number)
        )
        self.recorder.signals.before_expected_step.connect(self._look)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_end.connect(self._tell)

    def _look(self, optimizer: Any, number: int) -> None:
        course = self.courses.get(number)
        if course is None:
            course = self.courses[number] = _Course()
        rate = max(rates_of(optimizer), default=0.0)
        if rate > course.rate:
            course.rising += 1
        else:
            if course.rising >= RISING and rate < FALLS_TO * course.rate:
                course.tops.append(course.rate)
                course.low = rate
            course.rising = 0
        course.rate, course.highest = rate, max(course.highest, rate)

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        self.sites[number] = site

    def _tell(self) -> None:
        for number, course in self.courses.items():
            if course.tops and number in self.sites:
                data = {
                    "optimizer": number, "tops": course.tops, "low": course.low, "highest": course.highest,
                }  # fmt: skip
                self.recorder.emit("rate_falls", self.sites[number], data)
