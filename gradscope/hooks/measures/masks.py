"""Looks at the boolean mask that attention is given, at its first call from a line: whether it lets only later
places take part."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.values import can_be_asked

MAX_ELEMENTS = 10_000_000


class Masks(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.told: set[int] = set()  # sites
        self.recorder.functions.follow(["scaled_dot_product_attention"], self._attention)

    def _attention(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        mask = args[3] if len(args) > 3 else (kwargs or {}).get("attn_mask")
        if not isinstance(mask, torch.Tensor) or mask.dtype is not torch.bool or not torch.is_grad_enabled():
            return
        site = self.recorder.sites.current(frame)
        if site in self.told or not can_be_asked(mask, MAX_ELEMENTS):
            return
        if mask.dim() < 2 or mask.shape[-1] != mask.shape[-2] or mask.shape[-1] < 2:
            return
        self.told.add(site)

        def tell(mask: torch.Tensor) -> None:
            above = torch.ones(mask.shape[-2:], dtype=torch.bool, device="cpu").triu(1)
            if bool((mask == above).all()):
                self.recorder.emit("mask", site, {"places": mask.shape[-1]})

        self.recorder.arrivals.when_here((mask,), tell)
