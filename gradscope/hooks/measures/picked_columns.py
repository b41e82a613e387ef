"""Which lines pick columns, `x[:, index]` or `x.index_select(1, index)`, by as many numbers as there are rows, in all
calls that were looked at, and how often these were other numbers than in the call before."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_SITES = 64
MAX_ELEMENTS = 4096


class PickedColumns(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.picked = Unbroken()
        self.last: dict[int, torch.Tensor] = {}  # site → a copy of the index
        self.recorder.functions.follow(["__getitem__", "index_select"], self._pick)
        self.recorder.signals.before_end.connect(self._tell)

    def _pick(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        index = _columns(args) if name == "__getitem__" else _selected(args, kwargs)
        if not isinstance(index, torch.Tensor) or index.dtype not in (torch.int64, torch.int32):
            return
        x = args[0]
        if not x.requires_grad or x.dim() != 2 or index.dim() != 1:
            return
        site = self.recorder.sites.current(frame)
        if site in self.picked.broken or not self.looks.due(site) or not can_be_asked(index, MAX_ELEMENTS):
            return
        if index.shape[0] != x.shape[0]:
            self.picked.end(site)
        else:
            shape = list(x.shape)
            self.recorder.arrivals.when_here((index,), lambda index: self._count(site, shape, index))

    def _count(self, site: int, shape: list[int], index: torch.Tensor) -> None:
        told = self.picked.hold(site, shape=shape, changed=0)
        last = self.last.get(site)
        told["changed"] += last is not None and not torch.equal(last, index)
        self.last[site] = index.clone()

    def _tell(self) -> None:
        for site, found in self.picked.told.items():
            if found["shape"][0] > 1:
                self.recorder.emit("picked_columns", site, found)


def _columns(args: Any) -> Any:
    """The index of `x[:, index]` and `x[..., index]`."""
    if len(args) != 2 or type(args[1]) is not tuple or len(args[1]) != 2:
        return None
    rows, index = args[1]
    if rows is Ellipsis:
        return index
    if type(rows) is not slice:
        return None
    whole = rows.start is None and rows.stop is None and rows.step is None  # `==` would ask tensors
    return index if whole else None


def _selected(args: Any, kwargs: Any) -> Any:
    """That of `index_select(x, 1, index)`, where all is a tensor's method or stands in its place."""
    if len(args) == 0:
        return None
    given = dict(zip(("input", "dim", "index"), args, strict=False)) | (kwargs or {})
    return given.get("index") if given.get("dim") in (1, -1) else None
