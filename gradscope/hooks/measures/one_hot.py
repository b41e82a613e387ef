"""Counts the labels that a line makes one-hot."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 4  # calls of a line that are looked at in any case, then ever more rarely
MAX_ELEMENTS = 1 << 20
MAX_CLASSES = 256


class OneHot(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, 64)
        self.counts: dict[int, Counter[int]] = {}
        self.classes: dict[int, int] = {}
        self.recorder.functions.follow(["one_hot"], self._call)
        self.recorder.functions.follow(["__getitem__"], self._row)
        self.recorder.functions.follow(["scatter", "scatter_"], self._scattered)
        self.recorder.signals.before_end.connect(self._tell)

    def _call(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        labels: Any = by_name(("tensor", "num_classes"), args, kwargs).get("tensor")
        if not isinstance(result, torch.Tensor) or not 1 < result.shape[-1] <= MAX_CLASSES:
            return
        site = self.recorder.sites.current(frame)
        if self.looks.due(site) and can_be_asked(labels, MAX_ELEMENTS):
            self.classes[site] = result.shape[-1]
            self.recorder.arrivals.when_here((labels,), lambda labels: self._count(site, labels))

    def _row(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """`torch.eye(n)[labels]`."""
        if len(args) != 2 or type(args[1]) is not torch.Tensor or args[1].dtype is not torch.int64:
            return
        table, labels = args
        if type(table) is not torch.Tensor or table.dim() != 2 or table.requires_grad:
            return
        classes = len(table)
        if table.shape[1] != classes or not 1 < classes <= MAX_CLASSES:
            return
        site = self.recorder.sites.current(frame)
        if (
            not self.looks.due(site)
            or not can_be_asked(labels, MAX_ELEMENTS)
            or not can_be_asked(table, MAX_ELEMENTS)
        ):
            return

        def look(table: torch.Tensor, labels: torch.Tensor) -> None:
            if bool((table == torch.eye(classes, dtype=table.dtype, device="cpu")).all()):
                self.classes[site] = classes
                self._count(site, labels % classes)  # -1 is the last one

        self.recorder.arrivals.when_here((table, labels), look)

    def _scattered(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """`torch.zeros_like(p).scatter_(1, labels.unsqueeze(1), 1.0)`."""
        given = by_name(("input", "dim", "index", "src"), args, kwargs)
        dim, labels, one = given.get("dim"), given.get("index"), given.get("src", given.get("value"))
        if type(result) is not torch.Tensor or type(labels) is not torch.Tensor or type(dim) is not int:
            return
        if result.requires_grad or result.dim() != labels.dim() or not -result.dim() <= dim < result.dim():
            return
        classes = result.shape[dim]
        others = [n for axis, n in enumerate(result.shape) if axis != dim % result.dim()]
        alike = [n for axis, n in enumerate(labels.shape) if axis != dim % result.dim()] == others
        if (
            not alike
            or labels.shape[dim] != 1
            or not 1 < classes <= MAX_CLASSES
            or type(one) not in (int, float)
        ):
            return
        site = self.recorder.sites.current(frame)
        if one != 1 or not self.looks.due(site) or not can_be_asked(result, MAX_ELEMENTS):
            return

        def look(table: torch.Tensor, labels: torch.Tensor) -> None:
            if bool((table.sum(dim) == 1).all()) and bool((table != 0).sum(dim).max() == 1):
                self.classes[site] = classes
                self._count(site, labels)

        self.recorder.arrivals.when_here((result, labels), look)

    def _count(self, site: int, labels: torch.Tensor) -> None:
        found = self.counts.setdefault(site, Counter())
        found.update(dict(enumerate(labels.flatten().bincount().tolist())))

    def _tell(self) -> None:
        for site, found in self.counts.items():
            counts = [found[label] for label in range(self.classes[site])]
            self.recorder.emit("one_hot", site, {"counts": counts})
