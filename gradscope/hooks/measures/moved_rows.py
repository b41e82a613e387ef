"""Which lines put the rows of a tensor, or its columns, one by one to other places of it, `x[i] = x[j]` or
`x[:, i].copy_(x[:, j])`, each of them once, and how many were read when another one had taken their place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.values import readable

PLACES = 64
ROWS = 4096  # of one tensor


@dataclass
class _Place:
    """The tensor that a line writes to now, and what it has done to those before. Its rows are told by where they begin
    in memory."""

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
        self.recorder.functions.follow(["__setitem__", "copy_"], self._write)
        self.recorder.signals.before_end.connect(self._tell)

    def _write(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != (3 if name == "__setitem__" else 2) or type(args[0]) is not torch.Tensor:
            return
        t, value = args[0], args[-1]
        if type(value) is not torch.Tensor or not value._is_view() or t.requires_grad or t.is_inference():
            return
        base = t if t._base is None else t._base
        if value._base is not base:
            return
        row = _layout(t) if name == "copy_" else _row_of(t, args[1])
        if row is None or row[1:] != _layout(value)[1:]:
            return
        site = self.recorder.sites.current(frame)
        place = self.places.get(site)
        if place is None:
            if len(self.places) >= PLACES:
                return
            place = self.places[site] = _Place()
        version = private.version_of(t)
        if place.tensor != (id(base), version - 1) or len(place.to) >= ROWS:
            place.close()
        place.tensor = id(base), version
        place.to.append(row.begin)
        place.taken.append(int(value.storage_offset()))

    def _tell(self) -> None:
        for site, place in self.places.items():
            place.close()
            if place.overwritten and not place.other:
                data = {"tensors": place.tensors, "rows": place.rows, "overwritten": place.overwritten}
                self.recorder.emit("moved_rows", site, data)


class _Layout(NamedTuple):
    """Where a part of a tensor lies in memory. `form`: its sizes and strides."""

    begin: int
    form: tuple[tuple[int, int], ...]


def _layout(t: torch.Tensor) -> _Layout:
    return _Layout(int(t.storage_offset()), tuple(zip(t.shape, t.stride(), strict=True)))


def _row_of(t: torch.Tensor, index: Any) -> _Layout | None:
    """The part of `t` that an index of whole numbers and whole axes means."""
    begin, form = _layout(t)
    left: list[tuple[int, int]] = []
    indices = index if type(index) is tuple else (index,)
    if len(indices) > len(form):
        return None
    for one, (size, stride) in zip(indices, form, strict=False):
        if type(one) is torch.Tensor and readable(one, 1) and one.dim() == 0 and one.dtype == torch.int64:
            with private.aside():
                one = int(one)
        if type(one) is int and size:
            begin += one % size * stride
        elif type(one) is slice and one.start is None and one.stop is None and one.step is None:
            left.append((size, stride))
        else:
            return None
    return _Layout(begin, (*left, *form[len(indices) :]))
