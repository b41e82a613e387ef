"""Which variables of a function, or attributes of its `self`, hold zeros and ones one after the other, as those that
say where an episode ended: looked at where the function makes or joins tensors, takes one from a number, or chooses by
a condition. On the CPU only."""

from __future__ import annotations

from collections import deque
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.parts import attributes
from gradscope.hooks.recorder.values import readable
from gradscope.hooks.variables import variables

FOLLOWED = (
    "stack", "cat", "tensor", "as_tensor", "FloatTensor", "rsub", "__rsub__", "logical_not", "__invert__", "where",
    "masked_fill",
)  # fmt: skip
FIRST = 2  # calls of a place that are looked at in any case, then ever more rarely
MOST_SITES = 64
MOST_LOOKS = 256  # in all
MOST_NAMES = 100  # of a function
LEAST = 4  # in a row
MOST = 100_000  # elements


class Ends(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MOST_SITES)
        self.left = MOST_LOOKS
        self.found: dict[int, dict[str, list[int]]] = {}  # site → name → what is told of it
        self.recorder.functions.follow(FOLLOWED, self._look)
        self.recorder.signals.before_end.connect(self._tell)

    def _look(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.left or frame is None:
            return
        site = self.recorder.sites.current(frame)
        if not self.looks.due(site):
            return
        self.left -= 1
        with private.aside(), torch.no_grad():
            local = variables(frame)
            local |= {f"self.{name}": value for name, value in attributes(local.get("self")).items()}
            for known, value in list(local.items())[:MOST_NAMES]:
                told = _told(value)
                here = self.found.setdefault(site, {})
                if told is not None and told[2] > here.get(known, [0, 0, 0])[2]:
                    here[known] = told

    def _tell(self) -> None:
        for site, names in self.found.items():
            if names:
                self.recorder.emit("ends", site, {"names": names})


def _told(value: Any) -> list[int] | None:
    """[places, elements, ones and zeros in all but the first and the last place]; None where it holds anything else."""
    rows = _rows(value)
    if rows is None or not len(rows) >= LEAST or not bool(((rows == 0) | (rows == 1)).all()):
        return None
    inner = rows[1:-1]
    ones = int((inner == 1).sum())
    return [len(rows), rows.numel(), ones, inner.numel() - ones]


def _rows(value: Any) -> torch.Tensor | None:
    if isinstance(value, torch.Tensor):
        return value.detach() if readable(value, MOST) and 0 < value.dim() < 4 else None
    if type(value) in (list, tuple, deque) and LEAST <= len(value) <= MOST:
        kind = type(value[0])
        if any(type(one) is not kind for one in value):
            return None
        if kind in (bool, int, float):
            return torch.tensor(list(value), device="cpu") if value[0] in (0, 1) else None
        if issubclass(kind, torch.Tensor):
            sizes = {tuple(one.shape) if readable(one, MOST) else None for one in value}
            fits = len(sizes) == 1 and None not in sizes and value[0].numel() * len(value) <= MOST
            return torch.stack([one.detach() for one in value]) if fits and value[0].dim() < 3 else None
        return None
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 0) in (1, 2, 3) and value.size <= MOST:
        return torch.tensor(value.tolist(), device="cpu") if value.dtype.kind in "bif" else None
    return None
