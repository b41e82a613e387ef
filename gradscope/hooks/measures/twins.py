"""Whether the two sides that a distance brings together are the same numbers, row by row, in all calls of a line: the
anchor and the positive of a triplet, or both sides of `pairwise_distance`, of a subtraction or a loss of two values."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.losses import SUBTRACTIONS
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_ELEMENTS = 1_000_000
SIDES = {
    "triplet_margin_loss": ("anchor", "positive"),
    "triplet_margin_with_distance_loss": ("anchor", "positive"),
    "pairwise_distance": ("x1", "x2"),
}


COMPARING = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


class Twins(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST)
        self.same = Unbroken()
        self.apart: set[Any] = set()  # places whose sides have differed
        self.recorder.functions.follow(list(SIDES), self._call)
        self.recorder.functions.follow((*SUBTRACTIONS, *COMPARING), self._compared)
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

    def _compared(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """The same of two values that are subtracted, whether or not one has a gradient: nearly all places differ in
        their first call, and are not asked again."""
        place = frame.f_code, frame.f_lasti
        if place in self.apart or not torch.is_grad_enabled():
            return
        sides = [one for one in args[:2] if isinstance(one, torch.Tensor)]
        if len(sides) != 2 or sides[0].shape != sides[1].shape or sides[0].numel() < 2:
            self.apart.add(place)
            return
        site = self.recorder.sites.current(frame)
        if site in self.same.broken:
            self.apart.add(place)
        elif self.looks.due(site) and all(can_be_asked(one, MAX_ELEMENTS) for one in sides):
            self.recorder.arrivals.when_here(sides, lambda *sides: self._count(site, name, *sides))

    def _count(self, site: int, name: str, one: torch.Tensor, other: torch.Tensor) -> None:
        if torch.equal(one, other):
            self.same.hold(site, name=name, rows=0)["rows"] += one.shape[0]
        else:
            self.same.end(site)

    def _tell(self) -> None:
        for site, found in self.same.told.items():
            self.recorder.emit("twins", site, found)
