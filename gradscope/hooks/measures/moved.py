"""How far the steps have moved the weights of an optimizer, from some elements of each, which gradients some of the
first ones found, and which weights have rows that are all alike after some. Before the eighth step that was looked at,
then whenever a quarter more were made, and at the end. Rows are compared on the CPU only."""

from __future__ import annotations

import math
import sys
import weakref
from functools import partial
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import can_be_asked

ELEMENTS = 32  # of each weight
MOST = 300  # weights of an optimizer
FIRST = 8  # step
WHOLE = 1_000_000  # elements: of larger weights the rows are not compared
ROUNDING = 1e-5  # of the largest element


class Moved(Hook):
    order = 38

    def install(self) -> None:
        self.steps: dict[int, int] = {}  # of each optimizer, that were looked at
        self.due: dict[int, int] = {}  # the step from which on it is looked at again
        self.known: dict[int, weakref.ref[Any]] = {}
        self.weights: dict[int, list[LeafRecord]] = {}
        self.begun: dict[int, Any] = {}  # some elements of each, before its first step: (weights, ELEMENTS)
        self.found: dict[int, dict[str, Any]] = {}  # what is told of it
        self.unmoved: dict[int, list[set[int]]] = {}  # before steps: those that were where they had begun
        self.used: dict[int, list[float]] = {}  # norms of the gradients that its first steps found
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
                self.weights[number] = [r for r in records[:MOST] if _weight(r) is not None]
                if (begun := _elements(self.weights[number])) is not None:
                    self.recorder.arrivals.when_here((begun,), partial(self._begin, number))
        elif count < FIRST:
            with private.aside():
                self._use(number)
        elif self.recorder.optimizers[number]["steps"] >= self.due.get(number, 0):
            with private.aside():
                self._look(number)

    def _begin(self, number: int, begun: torch.Tensor) -> None:
        self.begun[number] = begun.clone()

    def _use(self, number: int) -> None:
        norms = [norm for record in self.weights[number] if (norm := _gradient(record)) is not None]
        if norms and len(norms) == len(self.weights[number]) and len({norm.device for norm in norms}) == 1:
            used = self.used.setdefault(number, [])
            with torch.no_grad():
                total = torch.stack(norms).norm()
            self.recorder.arrivals.when_here((total,), lambda norm: used.append(float(norm)))

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        self.site = site

    def _look(self, number: int, last: bool = False) -> None:
        records = self.weights[number]
        steps = self.recorder.optimizers[number]["steps"]
        self.due[number] = steps + steps // 4  # an optimizer may be gone at the end
        now = _elements(records)
        if now is None:
            return
        if number not in self.alike:  # later on rounding takes them apart
            self.alike[number] = steps, [record.id for record in records if _rows_alike(record)]
        self.recorder.arrivals.when_here((now,), partial(self._keep, number, records, steps, last))

    def _keep(
        self, number: int, records: list[LeafRecord], steps: int, last: bool, now: torch.Tensor
    ) -> None:
        begun = self.begun.get(number)
        if begun is None:
            return
        sizes = [_sizes(rows) for rows in (begun, now, now - begun)]
        if not all(math.isfinite(size) for row in sizes for size in row):
            return
        unmoved = {record.id for record, moved in zip(records, sizes[2], strict=True) if not moved}
        looks = self.unmoved.setdefault(number, [])
        if not last:
            looks.append(unmoved)
        elif any(unmoved - before for before in looks):
            return  # the program has put them back when it was done
        self.found[number] = {
            "optimizer": number, "steps": steps, "parameters": [record.id for record in records],
            "begun": sizes[0], "now": sizes[1], "moved": sizes[2], "used": self.used.get(number, []),
            "undone": sorted(set.intersection(*looks)) if len(looks) > 1 else [],
            "alike_after": self.alike[number][0], "alike": self.alike[number][1],
        }  # fmt: skip

    def _tell(self) -> None:
        for number, known in self.known.items():
            if known() is not None and self.steps[number] >= FIRST:
                with private.aside():
                    self._look(number, last=True)
        self.recorder.arrivals.collect(wait=True)
        for data in self.found.values():
            self.recorder.emit("moved", self.site, data)


def _weight(record: LeafRecord) -> Any:
    t = record.ref()
    if t is None or not can_be_asked(t, sys.maxsize) or not t.is_floating_point():
        return None
    return t.detach() if t.dim() > 1 and t.numel() else None


def _gradient(record: LeafRecord) -> Any:
    """The norm of a weight's gradient as it stands."""
    t = record.ref()
    grad = private.grad_of(t) if t is not None else None
    if grad is None or not can_be_asked(grad, sys.maxsize) or not grad.is_floating_point():
        return None
    return grad.detach().norm().double()


def _elements(records: list[LeafRecord]) -> Any:
    """Some elements of each weight, from all over it, zeros behind those of a small one; None where one is gone."""
    weights = [_weight(record) for record in records]
    if not weights or any(weight is None for weight in weights):
        return None
    if len({weight.device for weight in weights}) > 1:
        return None
    with torch.no_grad():
        some = torch.zeros(len(weights), ELEMENTS, dtype=torch.float64, device=weights[0].device)
        for row, weight in zip(some, weights, strict=True):
            taken = weight.flatten()[:: max(1, weight.numel() // ELEMENTS)][:ELEMENTS]
            row[: len(taken)] = taken
        return some


def _sizes(rows: Any) -> list[float]:
    """The root of the mean square of each."""
    found: list[float] = rows.square().mean(1).sqrt().tolist()
    return found


def _rows_alike(record: LeafRecord) -> bool:
    """Whether all rows of a weight are one and the same up to rounding, and not zero. Not asked of a GPU."""
    weight = _weight(record)
    if (
        weight is None
        or not weight.is_cpu
        or weight.shape[0] < 2
        or weight[0].numel() < 2
        or weight.numel() > WHOLE
    ):
        return False
    with torch.no_grad():
        first = weight[:1]
        size = float(first.abs().max()) * ROUNDING
        near = bool(size) and float((weight[1] - weight[0]).abs().max()) <= size
        return near and float((weight - first).abs().max()) <= size
