"""Whether what an embedding looks up, or a classification loss is given as its targets, lies outside of its rows or
classes: on a GPU a kernel asserts that, and the error comes at whatever call is next. Asked before the call, since
nothing can be asked of the GPU after it. On the CPU torch says so itself."""

from __future__ import annotations

import sys
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.losses import OF_CLASSES
from gradscope.hooks.recorder.values import can_be_asked, measurable

ARGUMENTS = ("input", "target", "weight", "size_average", "ignore_index")


class IndexBounds(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.told: set[int] = set()
        if torch.version.cuda or torch.version.hip:  # asking for a device would be felt
            self.recorder.functions.precede(["embedding"], self._embedding)
            self.recorder.functions.precede(OF_CLASSES, self._loss)

    def _embedding(self, name: str, args: Any, kwargs: Any, frame: Any) -> None:
        given = by_name(("input", "weight"), args, kwargs)
        weight: Any = given.get("weight")
        if measurable(weight) and weight.is_cuda and weight.dim() == 2:
            self._look(name, given.get("input"), len(weight), None, frame)

    def _loss(self, name: str, args: Any, kwargs: Any, frame: Any) -> None:
        given = by_name(ARGUMENTS, args, kwargs)
        scores: Any = given.get("input")
        if measurable(scores) and scores.is_cuda and scores.dim():
            classes = scores.shape[1 if scores.dim() > 1 else 0]
            self._look(name, given.get("target"), classes, given.get("ignore_index", -100), frame)

    def _look(self, name: str, indices: Any, limit: int, left_out: Any, frame: Any) -> None:
        if not can_be_asked(indices, sys.maxsize) or indices.dtype not in (torch.int64, torch.int32):
            return
        site = self.recorder.sites.current(frame)
        if site in self.told:
            return

        def tell(bounds: torch.Tensor) -> None:
            low, high = bounds.tolist()
            if (low < 0 or high >= limit) and site not in self.told:
                self.told.add(site)
                data = {"name": name, "low": low, "high": high, "limit": limit}
                self.recorder.emit("out_of_bounds", site, data)

        with torch.no_grad(), private.aside():
            kept = indices if left_out is None else indices.masked_fill(indices == left_out, 0)
            bounds = torch.stack(torch.aminmax(kept)).long()
        self.recorder.arrivals.when_here((bounds,), tell)
