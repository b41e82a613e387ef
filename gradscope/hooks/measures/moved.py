"""How far the steps have moved the weights of an optimizer, from some elements of each, and which weights have rows
that are all alike after some. Before the eighth step that was looked at, then whenever half as many more were made,
and at the end; on the CPU only."""

from __future__ import annotations

import math
import weakref
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import measurable

ELEMENTS = 64  # of each weight
MOST = 300  # weights of an optimizer
FIRST = 8  # step
WHOLE = 1_000_000  # elements: of larger weights the rows are not compared
ROUNDING = 1e-5  # of the largest element


class Moved(Hook):
    order = 38

    def install(self) -> None:
        self.steps: dict[int, int] = {}  # of each optimizer, that were looked at
        self.begun: dict[
            int, list[tuple[LeafRecord, Any]]
        ] = {}  # its weights, with what they were before its first
        self.due: dict[int, int] = {}  # the step from which on it is looked at again
        self.known: dict[int, weakref.ref[Any]] = {}
        self.found: dict[int, dict[str, Any]] = {}  # what is told of it
        self.alike: dict[int, tuple[int, list[int]]] = {}  # (steps, weights whose rows were alike after them)
        self.site = 0  # of the last step
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_end.connect(self._tell)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        count = self.steps[number] = self.steps.get(number, 0) + 1
        if count == 1:
            self.known[number] = weakref.ref(optimizer)
            with private.aside():
                taken = [(record, some) for record in records[:MOST] if (some := _some(record)) is not None]
            self.begun[number] = taken
        elif count >= FIRST and self.recorder.optimizers[number]["steps"] >= self.due.get(number, 0):
            with private.aside():
                self._look(number)

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        self.site = site

    def _look(self, number: int) -> None:
        rows = [
            (record.id, *row)
            for record, old in self.begun[number]
            if (row := _distance(record, old)) is not None
        ]
        if not rows:
            return
        ids, begun, now, moved = zip(*rows, strict=True)
        steps = self.recorder.optimizers[number]["steps"]
        self.due[number] = steps * 3 // 2
        if number not in self.alike:  # later on rounding takes them apart
            self.alike[number] = steps, [record.id for record, _ in self.begun[number] if _rows_alike(record)]
        self.found[number] = {
            "optimizer": number, "steps": steps, "parameters": list(ids), "begun": list(begun), "now": list(now),
            "moved": list(moved), "alike_after": self.alike[number][0], "alike": self.alike[number][1],
        }  # fmt: skip

    def _tell(self) -> None:
        for number, known in self.known.items():
            if known() is not None and self.steps[number] >= FIRST:
                with private.aside():
                    self._look(number)
        for data in self.found.values():
            self.recorder.emit("moved", self.site, data)


def _weight(record: LeafRecord) -> Any:
    t = record.ref()
    if (
        t is None
        or not measurable(t)
        or not t.is_cpu
        or t.layout is not torch.strided
        or not t.is_floating_point()
    ):
        return None
    return t.detach() if t.dim() > 1 and t.numel() else None


def _some(record: LeafRecord) -> Any:
    """Copies of some elements, from all over it; None where that can't be looked at."""
    weight = _weight(record)
    if weight is None:
        return None
    with torch.no_grad():
        return weight.flatten()[:: max(1, weight.numel() // ELEMENTS)].double()


def _distance(record: LeafRecord, old: Any) -> tuple[float, float, float] | None:
    """The root of the mean square of what it was, of what it is, and of the difference."""
    now = _some(record)
    if now is None or now.shape != old.shape:
        return None
    with torch.no_grad():
        found = tuple(math.sqrt(float(x.square().mean())) for x in (old, now, now - old))
    return (found[0], found[1], found[2]) if all(map(math.isfinite, found)) else None


def _rows_alike(record: LeafRecord) -> bool:
    """Whether all rows of a weight are one and the same up to rounding, and not zero."""
    weight = _weight(record)
    if weight is None or weight.shape[0] < 2 or weight[0].numel() < 2 or weight.numel() > WHOLE:
        return False
    with torch.no_grad():
        first = weight[:1]
        size = float(first.abs().max()) * ROUNDING
        near = bool(size) and float((weight[1] - weight[0]).abs().max()) <= size
        return near and float((weight - first).abs().max()) <= size
