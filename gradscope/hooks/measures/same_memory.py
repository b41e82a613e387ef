"""Which differences are of a tensor with itself: both sides are the same memory, read in the same form, in all calls
of a line that are looked at. Most show otherwise in their first call, and are not looked at again."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.losses import OF_NUMBERS, SUBTRACTIONS
from gradscope.hooks.recorder.values import measurable


class SameMemory(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.apart: set[Any] = set()  # places of subtractions and sites of losses whose sides have differed
        self.seen: dict[int, dict[str, Any]] = {}  # site → what is told of it
        self.sites: dict[Any, set[int]] = {}  # place → its sites among these
        self.recorder.functions.follow(SUBTRACTIONS, self._subtracted)
        self.recorder.functions.follow(OF_NUMBERS, self._compared)
        self.recorder.signals.before_end.connect(self._tell)

    def _subtracted(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        place = frame.f_code, frame.f_lasti
        if place not in self.apart and len(args) == 2:
            self._look(name, place, args[0], args[1], frame)

    def _compared(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "target"), args, kwargs)
        site = self.recorder.sites.current(frame)
        if site not in self.apart:
            self._look(name, site, given.get("input"), given.get("target"), frame)

    def _look(self, name: str, place: Any, one: Any, other: Any, frame: Any) -> None:
        if not _same(one, other):
            self.apart.add(place)
            for site in self.sites.pop(place, ()):
                self.seen.pop(site, None)
            return
        site = self.recorder.sites.current(frame)
        self.sites.setdefault(place, set()).add(site)
        self.seen.setdefault(site, {"name": name, "calls": 0})["calls"] += 1

    def _tell(self) -> None:
        for site, found in self.seen.items():
            self.recorder.emit("same_memory", site, found)


def _same(one: Any, other: Any) -> bool:
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return False
    if not measurable(one) or not measurable(other) or one.layout is not torch.strided:
        return False
    return (
        other.layout is torch.strided
        and one.device == other.device
        and one.dtype == other.dtype
        and one.shape == other.shape
        and one.stride() == other.stride()
        and one.data_ptr() == other.data_ptr() != 0
    )
