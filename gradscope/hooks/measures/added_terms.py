"""The two numbers that a line adds up, each with a graph, as the terms of a loss: at its first call and at the last
that was looked at. Where one of them is next to nothing, sampling is woken now and then to see whether it stays so."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.losses import ADDITIONS, ADDITIONS_IN_PLACE
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 4  # calls of a line that are looked at in any case, then ever more rarely
MAX_SITES = 64
LITTLE = 0.05
LATE = 128  # steps, then whenever twice as many were made


class AddedTerms(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.told: dict[int, dict[str, Any]] = {}
        self.steps = 0  # of the optimizer that has made the most
        self.due = LATE
        self.recorder.functions.follow((*ADDITIONS, *ADDITIONS_IN_PLACE), self._add)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_end.connect(self._tell)

    def _add(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if kwargs or len(args) != 2 or not all(isinstance(t, torch.Tensor) for t in args):
            return
        if not all(t.requires_grad and t.dim() == 0 for t in args):
            return
        site = self.recorder.sites.current(frame)
        if self.looks.due(site) and all(can_be_asked(t, 1) for t in args):
            keep = partial(self._keep, site, name in ADDITIONS_IN_PLACE)
            self.recorder.arrivals.when_here(tuple(args), keep)

    def _keep(self, site: int, in_place: bool, left: torch.Tensor, right: torch.Tensor) -> None:
        numbers = [float(left) - in_place * float(right), float(right)]  # the sum is in its place now
        self.told.setdefault(site, {"first": numbers}).update(last=numbers, steps=self.steps)

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        self.steps = max(self.steps, int(self.recorder.optimizers[number]["steps"]))
        if self.steps >= self.due:
            self.due = 2 * self.steps
            if any(min(map(abs, known["last"])) <= LITTLE for known in self.told.values()):
                self.looks = Looks(FIRST, MAX_SITES)
                self.recorder.services.wake()

    def _tell(self) -> None:
        for site, data in self.told.items():
            self.recorder.emit("added_terms", site, data)
