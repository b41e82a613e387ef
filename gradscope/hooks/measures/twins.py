"""Whether the two sides that a distance brings together are the same numbers, row by row, in all calls of a line: the
anchor and the positive of a triplet, or both sides of `pairwise_distance`."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_ELEMENTS = 1_000_000
SIDES = {
    "triplet_margin_loss": ("anchor", "positive"),
    "triplet_margin_with_distance_loss": ("anchor", "positive"),
    "pairwise_distance": ("x1", "x2"),
}


class Twins(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST)
        self.same = Unbroken()
        self.recorder.functions.follow(list(SIDES), self._call)
        self.recorder.signals.before_end.connect(self._tell)

    def _call(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(SIDES[name], args, kwargs)
        sides: list[Any] = [given.get(side) for side in SIDES[name]]
        one, other = sides
        if not getattr(one, "requires_grad", False) and not getattr(other, "requires_grad", False):
            return
        site = self.recorder.sites.current(frame)
        if site in self.same.broken or not self.looks.due(site):
            return
        if not all(can_be_asked(t, MAX_ELEMENTS) for t in sides):
            return
        if one.shape != other.shape or one.dim() < 2 or one.numel() == 1:
            return
        self.recorder.arrivals.when_here(sides, lambda *sides: self._count(site, name, *sides))

    def _count(self, site: int, name: str, one: torch.Tensor, other: torch.Tensor) -> None:
        if torch.equal(one, other):
            self.same.hold(site, name=name, rows=0)["rows"] += one.shape[0]
        else:
            self.same.end(site)

    def _tell(self) -> None:
        for site, found in self.same.told.items():
            self.recorder.emit("twins", site, found)
