"""Which masks take out every place: what is added to scores is one and the same large negative number everywhere, or a
mask that is filled is True everywhere (with `where` False, where it keeps the scores), in all calls of a line that were
looked at. Most masks show otherwise in their first call, and are not looked at again."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.losses import ADDITIONS, ADDITIONS_IN_PLACE
from gradscope.hooks.recorder.values import can_be_asked

FILLED = ("masked_fill", "masked_fill_")
CHOSEN = "where"
WRITTEN = "__setitem__"
DIRECT = "scaled_dot_product_attention"
FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_ELEMENTS = 4_000_000
MAX_SITES = 256
LOW = -1000.0  # what is added is meant to leave no weight


class WholeMasks(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.whole = Unbroken()
        self.recorder.functions.follow((*ADDITIONS, *ADDITIONS_IN_PLACE), self._added)
        self.recorder.functions.follow(FILLED, self._filled)
        self.recorder.functions.follow([CHOSEN], self._chosen)
        self.recorder.functions.follow([WRITTEN], self._written)
        self.recorder.functions.follow([DIRECT], self._attended)
        self.recorder.signals.before_end.connect(self._tell)

    def _added(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 2 or not all(isinstance(one, torch.Tensor) for one in args):
            return
        scores, mask = args if args[0].requires_grad else args[::-1]
        if scores.requires_grad and not mask.requires_grad and mask.is_floating_point():
            self._look(name, mask, frame)

    def _filled(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        mask = by_name(("input", "mask", "value"), args, kwargs).get("mask")
        if isinstance(mask, torch.Tensor) and isinstance(result, torch.Tensor) and result.requires_grad:
            self._look(name, mask, frame)

    def _chosen(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """`torch.where(mask, scores, -1e9)`, or with the other two interchanged."""
        given = by_name(("condition", "input", "other"), args, kwargs)
        mask, sides = given.get("condition"), [given.get("input"), given.get("other")]
        if len(args) == 3 and isinstance(args[1], torch.Tensor) and args[1].dtype is torch.bool:
            mask, sides = args[1], [args[0], args[2]]  # the method's order: `scores.where(mask, -1e9)`
        if not isinstance(mask, torch.Tensor) or mask.dtype is not torch.bool or len(given) != 3:
            return
        trained = [isinstance(side, torch.Tensor) and side.requires_grad for side in sides]
        if trained[0] == trained[1]:
            return
        self._look(name, mask, frame, fills=trained[1], filling=sides[1 - trained.index(True)])

    def _written(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """`scores[mask] = -1e9`."""
        if len(args) != 3 or not isinstance(args[1], torch.Tensor) or args[1].dtype is not torch.bool:
            return
        if isinstance(args[0], torch.Tensor) and args[0].requires_grad and args[0].shape == args[1].shape:
            self._look(name, args[1], frame, filling=args[2])

    def _attended(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("query", "key", "value", "attn_mask"), args, kwargs)
        mask = given.get("attn_mask")
        if isinstance(mask, torch.Tensor) and mask.is_floating_point() and not mask.requires_grad:
            if isinstance(result, torch.Tensor) and result.requires_grad:
                self._look(name, mask, frame)

    def _look(
        self, name: str, mask: torch.Tensor, frame: Any, fills: bool = True, filling: Any = LOW
    ) -> None:
        """`fills`: what a boolean mask is where it fills scores, with `filling`."""
        if not mask.dim() or mask.shape[-1] < 2:
            return
        site = self.recorder.sites.current(frame)
        if site in self.whole.broken or not self.looks.due(site) or not can_be_asked(mask, MAX_ELEMENTS):
            return
        if isinstance(filling, torch.Tensor):
            if not can_be_asked(filling, MAX_ELEMENTS):
                return
            self.recorder.arrivals.when_here(
                (mask, filling),
                lambda mask, filling: self._count(site, name, mask, fills, float(filling.max())),
            )
        elif isinstance(filling, int | float):
            self.recorder.arrivals.when_here(
                (mask,), lambda mask: self._count(site, name, mask, fills, filling)
            )

    def _count(self, site: int, name: str, mask: torch.Tensor, fills: bool, filling: float) -> None:
        first = float(mask.flatten()[0])
        whole = first == fills and filling <= LOW if mask.dtype is torch.bool else first <= LOW
        whole = whole and bool((mask == mask.flatten()[0]).all())
        if whole:
            self.whole.hold(site, name=name, value=first)
        else:
            self.whole.end(site)

    def _tell(self) -> None:
        for site, found in self.whole.told.items():
            self.recorder.emit("whole_mask", site, found)
