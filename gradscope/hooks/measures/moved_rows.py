"""Which lines put the rows of a tensor, one by one, to other places of it, `x[i] = x[j]`, each of its rows once, and
how many of them were read when another row had taken their place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private

PLACES = 64
ROWS = 4096  # of one tensor


@dataclass
class _Place:
    """The tensor that a line writes to now, and what it has done to those before."""

    tensor: tuple[int, int] = (0, 0)  # id, and the number of its last version
    to: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    tensors: int = 0  # each of whose rows was moved once
    rows: int = 0
    overwritten: int = 0
    other: bool = False  # it has written to a tensor in another way

    def close(self) -> None:
        """The tensor is done."""
        to, taken = self.to, self.taken
        self.to, self.taken = [], []
        if len(to) < 2:  # one row is where it was
            return
        if len(set(to)) < len(to) or set(to) != set(taken):
            self.other = True
            return
        changed: set[int] = set()
        self.tensors += 1
        self.rows += len(to)
        for place, row in zip(to, taken, strict=True):
            self.overwritten += row in changed
            if place != row:
                changed.add(place)


class MovedRows(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.places: dict[int, _Place] = {}
        self.recorder.functions.follow(["__setitem__"], self._write)
        self.recorder.signals.before_end.connect(self._tell)

    def _write(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 3 or type(args[0]) is not torch.Tensor or type(args[2]) is not torch.Tensor:
            return
        t, index, value = args
        if type(index) is not int or not value._is_view() or t.requires_grad or t.is_inference():
            return
        row = _row_of(t, value)
        if row is None:
            return
        site = self.recorder.sites.current(frame)
        place = self.places.get(site)
        if place is None:
            if len(self.places) >= PLACES:
                return
            place = self.places[site] = _Place()
        version = private.version_of(t)
        if place.tensor != (id(t), version - 1) or len(place.to) >= ROWS:
            place.close()
        place.tensor = id(t), version
        place.to.append(index % len(t))
        place.taken.append(row)

    def _tell(self) -> None:
        for site, place in self.places.items():
            place.close()
            if place.overwritten and not place.other:
                data = {"tensors": place.tensors, "rows": place.rows, "overwritten": place.overwritten}
                self.recorder.emit("moved_rows", site, data)


def _row_of(t: torch.Tensor, value: torch.Tensor) -> int | None:
    """The number of the row of `t` that `value` is."""
    if not t.dim() or value.dim() != t.dim() - 1 or value.stride() != t.stride()[1:]:
        return None
    if value.shape != t.shape[1:] or value._base is not (t if t._base is None else t._base):
        return None
    first, length = value.storage_offset() - t.storage_offset(), t.stride(0)
    return first // length if length and 0 <= first < len(t) * length and first % length == 0 else None
