"""Masks over the places of a loss that is not reduced, or of labels that are filled with a number below 0, each row of
which is one run: whether it begins one place after the first answer and ends one place after the last, as a mask does
that was cut like the inputs and not like the labels.

Told only where everything says so in each of the first calls of a line: the last place that is let through has the same
label in every row, as all places behind it and none before it have (padding); the one before that is the same in
every row, too (the end of a text); and so is the label two before the run (what the answer follows), while that right
before it, which is left out, is not."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import TensorRef, aside
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Unbroken
from gradscope.hooks.recorder.values import readable

CALLS = 4  # looked at, per line
MAX_ELEMENTS = 1_000_000
ROWS = 4  # at least


class LateMasks(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.loss: tuple[TensorRef, TensorRef, int] | None = None  # the last one: result, labels, site
        self.found = Unbroken()
        self.recorder.functions.follow(["cross_entropy", "nll_loss"], self._compared)
        self.recorder.functions.follow(["mul"], self._masked)
        self.recorder.functions.precede(["__setitem__", "masked_fill", "masked_fill_"], self._filled)
        self.recorder.signals.before_end.connect(self._tell)

    def _compared(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        labels = by_name(("input", "target"), args, kwargs).get("target")
        self.loss = None
        if isinstance(labels, torch.Tensor) and labels.dim() == 2 and labels.dtype is torch.int64:
            if isinstance(result, torch.Tensor) and result.shape == labels.shape and result.requires_grad:
                site = self.recorder.sites.current(frame)
                self.loss = TensorRef(result), TensorRef(labels), site

    def _masked(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.loss is None or kwargs or len(args) != 2:
            return
        losses, labels, made = self.loss[0](), self.loss[1](), self.loss[2]
        if losses is None or labels is None or not any(one is losses for one in args):
            return
        mask = args[1] if args[0] is losses else args[0]
        self._masks(self.recorder.sites.current(frame), made, mask, labels, lets_through=True)

    def _filled(self, name: str, args: Any, kwargs: Any, frame: Any) -> None:
        """`labels[~mask] = -100`, before it is done."""
        if len(args) != 3 or type(args[2]) is not int or args[2] >= 0:
            return
        labels, mask = args[0], args[1]
        if not isinstance(labels, torch.Tensor) or labels.dim() != 2 or labels.dtype is not torch.int64:
            return
        if isinstance(mask, torch.Tensor) and mask.dtype is torch.bool:
            site = self.recorder.sites.current(frame)
            self._masks(site, site, mask, labels, lets_through=False)

    def _masks(self, site: int, made: int, mask: Any, labels: torch.Tensor, *, lets_through: bool) -> None:
        """`made`: where the labels are compared, or filled."""
        told = self.found.told.get(site)
        if site in self.found.broken or (told is not None and told["calls"] >= CALLS):
            return
        if not isinstance(mask, torch.Tensor) or mask.requires_grad or mask.shape != labels.shape:
            return
        if not readable(mask, MAX_ELEMENTS) or not readable(labels, MAX_ELEMENTS):
            return
        with torch.no_grad(), aside():
            seen = _look((mask != 0) == lets_through, labels)
        if seen is None:
            self.found.end(site)
            return
        told = self.found.hold(site, loss=made, padding=seen[0], end=seen[1], rows=0, kept=0)
        told["kept"] += seen[2]
        told["rows"] += seen[3]
        if (told["padding"], told["end"]) != seen[:2]:
            self.found.end(site)

    def _tell(self) -> None:
        for site, data in self.found.told.items():
            self.recorder.emit("late_mask", site, data)


def _look(kept: torch.Tensor, labels: torch.Tensor) -> tuple[int, int, int, int] | None:
    """The label of the padding, that of the end, how many places are let through, and in how many rows the last of them
    is padding: in the longest ones the cut leaves none, and the run ends with the last place."""
    rows, places = labels.shape
    counts, first = kept.sum(1), kept.int().argmax(1)
    last = first + counts - 1
    every = torch.arange(rows, device="cpu")
    if rows < ROWS or int(counts.min()) < 2 or int(first.min()) < 2:
        return None
    along = torch.arange(places, device="cpu")[None]
    if not bool((kept == ((along >= first[:, None]) & (along <= last[:, None]))).all()):
        return None
    endings, before = labels[every, last], labels[every, first - 2]
    padding = endings[last.argmin()]
    padded = endings == padding
    end = torch.where(padded, labels[every, last - 1], endings)
    if 2 * int(padded.sum()) < rows or bool((~padded & (last < places - 1)).any()):
        return None
    if not _alike(end) or not _alike(before) or _alike(labels[every, first - 1]) or bool(padding == end[0]):
        return None
    if not bool(((labels == padding) == ((along >= last[:, None]) & padded[:, None])).all()):
        return None
    return int(padding), int(end[0]), int(counts.sum()), int(padded.sum())


def _alike(labels: torch.Tensor) -> bool:
    return bool((labels == labels[0]).all())
