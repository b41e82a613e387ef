"""Which lines add numbers that are 0 or one other number up to 1, as discounted flags of what goes on, to as many
numbers of all sizes: what holds in all calls that were looked at."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.losses import ADDITIONS
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 4  # calls of a line that are looked at in any case, then ever more rarely
PLACES = 64
LEAST, MOST = 8, 100_000  # elements
LARGE = 0.5  # what goes on counts for more than this


class AddedFlags(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, PLACES)
        self.found = Unbroken()
        self.recorder.functions.follow(ADDITIONS, self._add)
        self.recorder.signals.before_end.connect(self._tell)

    def _add(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if kwargs or len(args) != 2 or not all(isinstance(t, torch.Tensor) for t in args):
            return
        left, right = args
        if (left.requires_grad and right.requires_grad) or left.shape != right.shape or left.numel() < LEAST:
            return
        if not all(t.is_floating_point() and can_be_asked(t, MOST) for t in args):
            return
        site = self.recorder.sites.current(frame)
        if site in self.found.broken or not self.looks.due(site):
            return

        def look(left: torch.Tensor, right: torch.Tensor) -> None:
            flags = [_flags(t) for t in (left, right)]
            if (flags[0] is None) == (flags[1] is None):
                self.found.end(site)
                return
            place = 0 if flags[0] is not None else 1
            number, zeros = flags[place] or (0.0, 0)
            told = self.found.hold(site, place=place, number=number, zeros=0, elements=0)
            if (told["place"], told["number"]) != (place, number):
                self.found.end(site)
                return
            told["zeros"] += zeros
            told["elements"] += left.numel()

        self.recorder.arrivals.when_here((left, right), look)

    def _tell(self) -> None:
        for site, found in self.found.told.items():
            if found["zeros"]:
                self.recorder.emit("added_flags", site, found)


def _flags(t: torch.Tensor) -> tuple[float, int] | None:
    """(the number that is not 0, how many are), where there are no others."""
    number = float(t.max())
    zeros = t == 0
    plain = LARGE < number <= 1 and bool((zeros | (t == number)).all())
    return (number, int(zeros.sum())) if plain else None
