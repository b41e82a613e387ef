"""Rows of a softmax all of whose scores a mask has made very low: their weights still sum to one. Told where in all
calls of a line that were looked at no row holds masked scores beside others: the mask is the same along the softmax's
axis."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 4  # calls of a line that are looked at in any case, then ever more rarely
MAX_ELEMENTS = 4_000_000
MAX_SITES = 64
LOW = -1000.0  # and below: masked


class MaskedRows(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.found = Unbroken()
        self.recorder.functions.follow(["softmax"], self._call)
        self.recorder.signals.before_end.connect(self._tell)

    def _call(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "dim"), args, kwargs)
        scores, dim = given.get("input"), given.get("dim")
        if not isinstance(scores, torch.Tensor) or type(dim) is not int or not torch.is_grad_enabled():
            return
        if not scores.requires_grad or scores.dim() < 3 or not -scores.dim() <= dim < scores.dim():
            return
        site = self.recorder.sites.current(frame)
        if site not in self.found.broken and self.looks.due(site) and can_be_asked(scores, MAX_ELEMENTS):
            look = partial(self._look, site, dim % scores.dim())
            self.recorder.arrivals.when_here((scores,), look)

    def _look(self, site: int, dim: int, scores: torch.Tensor) -> None:
        least, most = scores.aminmax(dim=dim, keepdim=True)
        if float(least.min()) > LOW:
            return
        whole = most <= LOW
        if bool(((least <= LOW) & ~whole).any()):
            self.found.end(site)
            return
        mixed = [
            axis
            for axis in range(scores.dim())
            if axis != dim and bool((whole.any(axis) & ~whole.all(axis)).any())
        ]
        told = self.found.hold(site, dim=dim, mixed=mixed, rows=0, masked=0)
        if told["dim"] != dim:
            self.found.end(site)
        told["mixed"] = [axis for axis in told["mixed"] if axis in mixed]
        told["rows"] += whole.numel()
        told["masked"] += int(whole.sum())

    def _tell(self) -> None:
        for site, data in self.found.told.items():
            self.recorder.emit("masked_rows", site, data)
