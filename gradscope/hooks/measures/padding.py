"""Counts the padding that an embedding is given, at the first call of each that is trained."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.values import can_be_asked, measurable

MAX_ELEMENTS = 10_000_000


class Padding(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.told: set[int] = set()  # leaves
        self.recorder.functions.follow(["embedding"], self._embedding)

    def _embedding(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "weight", "padding_idx"), args, kwargs)
        tokens, padding = given.get("input"), given.get("padding_idx")
        weight: Any = given.get("weight")
        if padding is None or not isinstance(tokens, torch.Tensor) or not torch.is_grad_enabled():
            return
        if not can_be_asked(tokens, MAX_ELEMENTS) or not measurable(weight) or not weight.requires_grad:
            return
        leaf = self.recorder.ledger.of(weight).id
        if leaf in self.told:
            return
        self.told.add(leaf)
        site, index = self.recorder.sites.current(frame), padding % len(weight)

        def tell(tokens: torch.Tensor) -> None:
            share = int((tokens == index).sum()) / tokens.numel()
            self.recorder.emit("padding", site, {"parameter": leaf, "share": share})

        self.recorder.arrivals.when_here((tokens,), tell)
