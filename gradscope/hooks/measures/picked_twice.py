"""Which integer tensors are taken for an index of rows though they look like masks, or like the numbers of columns: as
long as the axes that they index, of zeros and ones, and both, or all below the much smaller number of columns, in all
calls of a line that were looked at. Most indices show otherwise in their first call, and are not looked at again."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 16  # calls of a line that are looked at in any case, then ever more rarely
MAX_SITES = 256
MAX_ELEMENTS = 1_000_000
FEWER = 2  # times as many rows as columns
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8)  # of bytes torch makes a mask


class PickedTwice(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.masks = Unbroken()
        self.recorder.functions.follow(["__getitem__"], self._picked)
        self.recorder.functions.follow(["index_select"], self._selected)
        self.recorder.signals.before_end.connect(self._tell)

    def _picked(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 2:
            return
        entries = args[1] if type(args[1]) is tuple else (args[1],)
        held = [place for place, entry in enumerate(entries) if isinstance(entry, torch.Tensor)]
        if len(held) != 1 or any(type(entry) is not slice for entry in entries[: held[0]]):
            return
        self._look(args[0], held[0], entries[held[0]], frame)

    def _selected(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "dim", "index"), args, kwargs)
        value, place, mask = (given.get(of) for of in ("input", "dim", "index"))
        if (
            not isinstance(value, torch.Tensor)
            or not isinstance(mask, torch.Tensor)
            or type(place) is not int
        ):
            return
        if value.dim() and mask.dim() == 1:
            self._look(value, place % value.dim(), mask, frame)

    def _look(self, value: Any, place: int, mask: Any, frame: Any) -> None:
        if mask.dtype not in INTEGERS or not mask.dim():
            return
        site = self.recorder.sites.current(frame)
        if site in self.masks.broken or not self.looks.due(site) or not can_be_asked(mask, MAX_ELEMENTS):
            return
        length = value.shape[place]
        if tuple(mask.shape) != tuple(value.shape[place : place + mask.dim()]) or length <= 2:
            self.masks.end(site)
            return
        columns = value.shape[1] if value.dim() == 2 and place == 0 and mask.dim() == 1 else 0
        self.recorder.arrivals.when_here(
            (mask,), lambda mask: self._count(site, place, length, columns, mask)
        )

    def _count(self, site: int, place: int, length: int, columns: int, mask: torch.Tensor) -> None:
        ones, highest = int((mask == 1).sum()), int(mask.max())
        few = int(mask.min()) >= 0 and highest < columns and columns * FEWER <= length
        if not few and ones + int((mask == 0).sum()) != mask.numel():
            self.masks.end(site)
            return
        told = self.masks.hold(
            site, place=place, length=length, columns=columns, entries=0, ones=0, highest=0, varied=False
        )
        if told["columns"] != columns:
            told["columns"] = 0
        told["highest"] = max(told["highest"], highest)
        told["entries"] += mask.numel()
        told["ones"] += ones
        told["varied"] |= told["length"] != length or told["ones"] != ones * told["calls"]

    def _tell(self) -> None:
        for site, found in self.masks.told.items():
            if 0 < found["ones"] < found["entries"]:
                self.recorder.emit("picked_twice", site, found)
