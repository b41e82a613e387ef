"""Which masks of padding take out no place, in all calls of a line that were looked at, where the tokens of the same
step end in runs of padding."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_ELEMENTS = 1_000_000
MAX_SITES = 64
FILLED = ("masked_fill", "masked_fill_")
HEADS = "multi_head_attention_forward"
DIRECT = "scaled_dot_product_attention"


class OpenMasks(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.open = Unbroken()
        self.recorder.functions.follow([HEADS], self._heads)
        self.recorder.functions.follow(FILLED, self._filled)
        self.recorder.functions.follow([DIRECT], self._attended)
        self.recorder.signals.before_end.connect(self._tell)

    def _heads(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        mask = (kwargs or {}).get("key_padding_mask")
        if mask is not None and isinstance(result, tuple) and result[0].requires_grad:
            self._look(name, mask, frame, masked=True)

    def _filled(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        mask = by_name(("input", "mask", "value"), args, kwargs).get("mask")
        if isinstance(result, torch.Tensor) and result.requires_grad and result.dim() > 2:
            self._look(name, mask, frame, masked=True)

    def _attended(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        mask = by_name(("query", "key", "value", "attn_mask"), args, kwargs).get("attn_mask")
        if isinstance(mask, torch.Tensor) and mask.dtype is torch.bool and result.requires_grad:
            self._look(name, mask, frame, masked=False)

    def _look(self, name: str, mask: Any, frame: Any, masked: bool) -> None:
        """masked: what True means in it; a floating point one is added, and takes out what it makes smaller."""
        if not isinstance(mask, torch.Tensor) or mask.dim() < 2:
            return
        known = self.recorder.services.padded_tokens((mask.shape[0], mask.shape[-1]))
        if known is None:
            return
        site = self.recorder.sites.current(frame)
        if site in self.open.broken or not self.looks.due(site):
            return
        if mask.requires_grad or not can_be_asked(mask, MAX_ELEMENTS):
            return
        tokens, padded = known

        def look(mask: torch.Tensor) -> None:
            whole = bool(mask.all()) if mask.dtype is torch.bool and not masked else not bool(mask.any())
            if whole:
                count, places = int(padded.places.sum()), padded.places.numel()
                self.open.hold(
                    site, name=name, index=padded.index, padded=count, places=places, tokens=tokens
                )
            else:
                self.open.end(site)

        self.recorder.arrivals.when_here((mask,), look)

    def _tell(self) -> None:
        for site, found in self.open.told.items():
            self.recorder.emit("open_mask", site, found)
