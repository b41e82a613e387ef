"""Counts the padding among the targets of a classification loss, at its first call from a place, where an embedding of
as many rows as there are classes has named it: `padding_idx`."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.values import measurable

LOSSES = ("cross_entropy", "nll_loss")
EMBEDDING = ("input", "weight", "padding_idx")
ARGUMENTS = ("input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction")
MAX_ELEMENTS = 10_000_000


class PaddedTargets(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.padding: dict[int, int] = {}  # rows of an embedding → which of them is padding
        self.told: set[int] = set()
        self.recorder.functions.follow(["embedding"], self._embedding)
        self.recorder.functions.follow(LOSSES, self._loss)

    def _embedding(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(EMBEDDING, args, kwargs)
        padding, weight = given.get("padding_idx"), given.get("weight")
        if isinstance(padding, int) and isinstance(weight, torch.Tensor) and weight.dim() == 2:
            self.padding[len(weight)] = padding % len(weight)

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.padding or not torch.is_grad_enabled():
            return
        given = by_name(ARGUMENTS, args, kwargs)
        scores, target = given.get("input"), given.get("target")
        if scores is None or target is None or not measurable(scores) or not measurable(target):
            return
        if scores.dim() < 2 or target.dtype != torch.int64 or not target.is_cpu:
            return
        classes = scores.shape[1]
        index = self.padding.get(classes)
        if (
            index is None
            or not 0 < target.numel() <= MAX_ELEMENTS
            or given.get("ignore_index", -100) == index
        ):
            return
        if given.get("reduction", "mean") == "none" or given.get("weight") is not None:
            return  # the program may leave it out itself
        site = self.recorder.sites.current(frame)
        if site in self.told:
            return
        self.told.add(site)
        with torch.no_grad(), private.aside():
            share = int((target.detach() == index).sum()) / target.numel()
        self.recorder.emit(
            "padded_targets", site, {"name": name, "index": index, "classes": classes, "share": share}
        )
