"""How much of a softmax's weights goes to places of padding, where it goes over the places of the tokens that an
embedding was given in the same step."""

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
LEAST = 0.01  # of the weights of a row


class PaddedAttention(Hook):
    order = 93  # after the tokens are known

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.found = Unbroken()
        self.recorder.functions.follow(["softmax"], self._call)
        self.recorder.signals.before_end.connect(self._tell)

    def _call(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        dim = by_name(("input", "dim"), args, kwargs).get("dim")
        if not isinstance(dim, int) or not isinstance(result, torch.Tensor):
            return
        if result.dim() < 2 or dim % result.dim() == 0:
            return
        known = self.recorder.services.padded_tokens((result.shape[0], result.shape[dim]))
        if known is None:
            return
        site = self.recorder.sites.current(frame)
        if site in self.found.broken or not self.looks.due(site):
            return
        if can_be_asked(result, MAX_ELEMENTS):
            tokens, padded = known

            def look(weights: torch.Tensor, places: torch.Tensor) -> None:
                self._weigh(site, tokens, padded.index, weights.movedim(dim, -1), places)

            self.recorder.arrivals.when_here((result, padded.places), look)

    def _weigh(self, site: int, tokens: int, index: int, weights: torch.Tensor, places: torch.Tensor) -> None:
        rows = places.any(1)
        got = (weights * places.view(len(places), *[1] * (weights.dim() - 2), -1)).sum(-1)
        if weights.dim() > 2 and weights.shape[-2] == places.shape[1]:  # each place asks all others
            got = got.masked_fill(places.view(len(places), *[1] * (weights.dim() - 3), -1), float("nan"))
        weight, share = float(got[rows].nanmean()), float(places[rows].double().mean())
        if not weight > LEAST:
            self.found.end(site)
            return
        told = self.found.hold(site, index=index, padded=0, places=0, weight=0.0, share=0.0, tokens=tokens)
        told["padded"] += int(places.sum())
        told["places"] += places.numel()
        for key, value in (("weight", weight), ("share", share)):
            told[key] += (value - told[key]) / told["calls"]

    def _tell(self) -> None:
        for site, found in self.found.told.items():
            self.recorder.emit("padded_attention", site, found)
