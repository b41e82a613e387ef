"""Writes at the places of masks that together leave no element of a tensor with a graph as it was: all are constants,
and no gradient comes back through it. Looked at only once gradients were exactly zero."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import TensorRef, aside
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Unbroken
from gradscope.hooks.recorder.values import readable

FILLS = ("masked_fill", "masked_fill_")
MAX_ELEMENTS = 1_000_000
MAX_SITES = 64
MOST = 16  # writes of a line that are looked at
MOST_TENSORS = 8  # that are known at a time


@dataclass
class Written:
    """A tensor some of whose elements are constants."""

    tensor: TensorRef
    places: torch.Tensor  # bool: those elements
    shares: list[tuple[int, int]] = field(default_factory=list)  # (site, elements) of each write so far


class AllConstants(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.writes: dict[int, int] = {}  # site → how many were looked at
        self.known: list[Written] = []
        self.whole = Unbroken()  # sites of writes after which all were constants
        self.begun = False
        self.recorder.signals.zero_gradients.connect(self._begin)
        self.recorder.signals.before_end.connect(self._tell)

    def _begin(self) -> None:
        if not self.begun:
            self.begun = True
            self.recorder.functions.follow(["__setitem__"], self._set)
            self.recorder.functions.follow(FILLS, self._filled)
            self.recorder.functions.follow(["where"], self._chosen)

    def _set(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) == 3:
            self._write(args[0], args[0], args[1], args[2], frame)

    def _filled(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "mask", "value"), args, kwargs)
        self._write(given.get("input"), result, given.get("mask"), given.get("value"), frame)

    def _chosen(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("condition", "input", "other"), args, kwargs)
        mask, one, other = given.get("condition"), given.get("input"), given.get("other")
        if _constant(one):
            self._write(other, result, mask, one, frame)
        elif _constant(other) and isinstance(mask, torch.Tensor) and mask.dtype is torch.bool:
            if readable(mask, MAX_ELEMENTS):
                with aside():
                    mask = ~mask
                self._write(one, result, mask, other, frame)

    def _write(self, before: Any, after: Any, mask: Any, value: Any, frame: Any) -> None:
        """`after` is `before` with a constant at the places of a mask."""
        if not isinstance(after, torch.Tensor) or not after.requires_grad:
            return
        if not _constant(value):
            self.known = [one for one in self.known if one.tensor() is not after]
            return
        if not isinstance(mask, torch.Tensor) or mask.dtype is not torch.bool or mask.shape != after.shape:
            return
        if not readable(after, MAX_ELEMENTS) or not readable(mask, MAX_ELEMENTS):
            return
        site = self.recorder.sites.current(frame)
        if site not in self.writes and len(self.writes) >= MAX_SITES:
            return
        count = self.writes[site] = self.writes.get(site, 0) + 1
        if count > MOST:
            return
        with torch.no_grad(), aside():
            known = next((one for one in self.known if one.tensor() is before), None)
            shares = [] if known is None else known.shares
            places = mask.clone() if known is None else known.places | mask
            now = Written(TensorRef(after), places, [*shares, (site, int(mask.sum()))])
            others = [one for one in self.known if one is not known]
            self.known = [*others[-MOST_TENSORS:], now]
            whole = bool(places.all())
        if whole:
            self.whole.hold(site, elements=after.numel(), writes=[list(share) for share in now.shares])
        else:
            self.whole.end(site)

    def _tell(self) -> None:
        for site, data in self.whole.told.items():
            self.recorder.emit("all_constants", site, data)


def _constant(value: Any) -> bool:
    """Whether what is written has no gradient of its own."""
    return type(value) in (int, float) or (isinstance(value, torch.Tensor) and not value.requires_grad)
