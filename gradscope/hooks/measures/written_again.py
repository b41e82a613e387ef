"""Which elements of a tensor of whole numbers a line writes to a second time, where it writes to what a mask picks: in
a loop that gives each label another one, a label that was given is taken for one that is still to be changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import TensorRef, aside
from gradscope.hooks.recorder.values import readable

MAX_ELEMENTS = 1 << 18
MOST = 4096  # writes of a line that are looked at
MAX_SITES = 64


@dataclass
class Written:
    tensor: TensorRef | None = None
    places: torch.Tensor | None = None  # bool: that were written to
    writes: int = 0
    tensors: int = 0
    again: int = 0  # elements
    first: int = 0


class WrittenAgain(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.lines: dict[int, Written] = {}
        self.recorder.functions.follow(["__setitem__", "masked_fill_", "index_put_"], self._set)
        self.recorder.signals.before_end.connect(self._tell)

    def _set(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) < 2 or not isinstance(args[0], torch.Tensor):
            return
        tensor, mask = args[0], args[1]
        if name == "index_put_" and isinstance(mask, (tuple, list)) and len(mask) == 1:
            mask = mask[0]
        if not isinstance(mask, torch.Tensor):
            return
        whole = not tensor.is_floating_point() and tensor.dtype is not torch.bool
        if mask.dtype is not torch.bool or mask.shape != tensor.shape or not whole:
            return
        if not readable(tensor, MAX_ELEMENTS) or not readable(mask, MAX_ELEMENTS):
            return
        site = self.recorder.sites.current(frame)
        if site not in self.lines and len(self.lines) >= MAX_SITES:
            return
        line = self.lines.setdefault(site, Written())
        if line.writes >= MOST:
            return
        line.writes += 1
        with aside():
            if line.tensor is None or line.tensor() is not tensor or line.places is None:
                line.tensor, line.places = TensorRef(tensor), torch.zeros_like(mask)
                line.tensors += 1
            line.again += int((line.places & mask).sum())
            line.first += int((mask & ~line.places).sum())
            line.places |= mask

    def _tell(self) -> None:
        for site, line in self.lines.items():
            if line.again:
                data = {
                    "writes": line.writes, "tensors": line.tensors, "again": line.again, "first": line.first,
                }  # fmt: skip
                self.recorder.emit("written_again", site, data)
