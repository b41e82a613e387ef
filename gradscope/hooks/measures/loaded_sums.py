"""Of which models a state that is loaded is the sum: how much of the module's own last parameters, and how much of
other models of the same form, is in it. A few elements of each parameter are compared, at the first loads of each line;
on the CPU only."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.parts import parameters
from gradscope.hooks.recorder.values import few_of

MOST_PARAMETERS = 40  # of a model
MOST_MODELS = 16  # that a load is compared with
MOST_STATES = 200  # made in all
LOADS = 6  # of a line
ELEMENTS = 64  # of a parameter
ENOUGH = 3  # elements for each model
EXACT = 1e-4  # what may be left of a load, relative to it
APART = 1e-5  # models that differ by less are one
PART = 0.02  # the least part of a model that counts


@dataclass
class _Line:
    """The loads of one line."""

    looked: int = 0
    sums: list[list[float]] = field(
        default_factory=list
    )  # (step, of the module itself, of others, how many others)


class LoadedSums(Hook):
    order = 89

    def install(self) -> None:
        self.states: deque[Any] = deque(
            maxlen=MOST_MODELS
        )  # of models, as they were when `state_dict()` was asked
        self.asked = 0
        self.before: Any = None  # the numbers of a module that is being loaded
        self.lines: dict[int, _Line] = {}
        signals = self.recorder.signals
        signals.state_made.connect(self._made)
        signals.before_load.connect(self._before)
        signals.after_load.connect(self._after)
        signals.before_end.connect(self._tell)

    def _made(self, module: Any) -> None:
        if self.asked < MOST_STATES and self.recorder.steps:
            self.asked += 1
            if (numbers := _numbers(module)) is not None:
                self.states.append(numbers)

    def _before(self, module: Any) -> None:
        self.before = _numbers(module) if self.recorder.steps else None

    def _after(self, module: Any, site: int) -> None:
        old, self.before = self.before, None
        line = self.lines.setdefault(site, _Line())
        if old is None or line.looked >= LOADS:
            return
        now = _numbers(module)
        if now is None or now.shape != old.shape or _near(now, old):
            return
        line.looked += 1
        others: list[Any] = []
        known = [r.ref() for r in list(self.recorder.modules.records.values())]
        live = [_numbers(m) for m in known if m is not None and m is not module and _alike(m, module)]
        for numbers in [*live, *self.states]:
            if (
                numbers is None
                or numbers.shape != now.shape
                or _near(numbers, old)
                or any(_near(numbers, one) for one in others)
            ):
                continue
            if _near(numbers, now):
                return  # it is one model's own state
            others.append(numbers)
        self.states.clear()  # the next load is made of what comes after this one
        found = _sum_of(now, old, others[-MOST_MODELS:])
        if found is not None:
            line.sums.append([self.recorder.steps, *found])

    def _tell(self) -> None:
        for site, line in self.lines.items():
            if line.sums:
                self.recorder.emit("loaded_sum", site, {"sums": line.sums})


def _alike(module: Any, other: Any) -> bool:
    """Whether two modules have parts of the same names, and parameters of the same shapes."""
    parts, others = ((vars(m).get("_modules"), vars(m).get("_parameters")) for m in (module, other))
    if type(module) is not type(other) or [*map(_names, parts)] != [*map(_names, others)]:
        return False  # most are told apart by that, at no cost
    with private.aside():
        return [p.shape for p in parameters(module)] == [p.shape for p in parameters(other)]


def _names(held: Any) -> list[str] | None:
    return list(held) if isinstance(held, dict) else None


def _numbers(module: Any) -> Any:
    """Some elements of its parameters in one row; None where they can't be read."""
    held = parameters(module)[:MOST_PARAMETERS] if isinstance(module, nn.Module) else []
    parts: list[Any] = [few_of(p, ELEMENTS) if p.is_floating_point() else None for p in held]
    if not parts or any(part is None for part in parts):
        return None
    numbers = torch.cat([part.double() for part in parts])
    return numbers if bool(numbers.isfinite().all()) else None


def _near(one: Any, other: Any) -> bool:
    return float((one - other).norm()) <= APART * float(one.norm())


def _sum_of(now: Any, old: Any, others: list[Any]) -> tuple[float, float, int] | None:
    """(part of the old one, parts of the others together, how many others) whose sum these numbers are; None where
    there is no such sum of at least two others. Differences from the old one are what the others are told apart by:
    all of them may be near to it."""
    if len(others) < 2 or now.numel() < ENOUGH * (len(others) + 1) or not float(old.norm()):
        return None
    columns = [old, *(other - old for other in others)]
    sizes = [float(column.norm()) for column in columns]
    matrix = torch.stack([column / size for column, size in zip(columns, sizes, strict=True)], dim=1)
    solved = torch.linalg.lstsq(matrix, now.unsqueeze(1), driver="gelsd").solution.squeeze(1)
    if float((matrix @ solved - now).norm()) > EXACT * float(now.norm()):
        return None
    total, *parts = [float(part) / size for part, size in zip(solved, sizes, strict=True)]
    count = sum(part > PART for part in parts)
    if count < 2 or any(part < -PART for part in parts):
        return None
    return round(total - sum(parts), 4), round(sum(parts), 4), count
