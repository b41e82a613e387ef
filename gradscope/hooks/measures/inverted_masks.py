"""Whether the mask of attention lets nothing take part but the padding of the tokens that an embedding was given in the
same step."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_ELEMENTS = 4_000_000
MAX_SITES = 64
TAKEN_OUT = -1e3  # a number like this added to a score leaves it no weight


class InvertedMasks(Hook):
    order = 93  # after the tokens are known

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.found = Unbroken()
        functions = self.recorder.functions
        functions.follow(["scaled_dot_product_attention"], self._call)
        functions.follow(["multi_head_attention_forward"], self._call)
        self.recorder.signals.before_end.connect(self._tell)

    def _call(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        own = name == "scaled_dot_product_attention"
        given = by_name(("query", "key", "value", "attn_mask"), args, kwargs) if own else kwargs
        mask = given.get("attn_mask" if own else "key_padding_mask")
        if not isinstance(mask, torch.Tensor) or mask.dim() < (3 if own else 2):
            return
        known = self.recorder.services.padded_tokens((mask.shape[0], mask.shape[-1]))
        if known is None or not can_be_asked(mask, MAX_ELEMENTS):
            return
        site = self.recorder.sites.current(frame)
        if site in self.found.broken or not self.looks.due(site):
            return
        tokens, padded = known

        def look(mask: torch.Tensor, places: torch.Tensor) -> None:
            part = mask if mask.dtype == torch.bool else mask > TAKEN_OUT
            if mask.dtype == torch.bool and not own:
                part = ~part
            part = part.reshape(len(part), -1, part.shape[-1]).any(1)
            if bool((part & ~places).any()) or not bool((part & places).any()):
                self.found.end(site)
                return
            first = {"index": padded.index, "padded": 0, "places": 0, "tokens": tokens}
            told = self.found.hold(site, boolean=mask.dtype == torch.bool, **first)
            told["padded"] += int(part.sum())
            told["places"] += places.numel()

        self.recorder.arrivals.when_here((mask, padded.places), look)

    def _tell(self) -> None:
        for site, found in self.found.told.items():
            self.recorder.emit("inverted_mask", site, found)
