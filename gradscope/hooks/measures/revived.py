"""Which weights were exactly zero, with a gradient of exactly zero, and are something else after the step: the
optimizer still had a momentum for them. A few elements of three weights are looked at before a step; all of all weights
where there is a zero among these. On the CPU only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import measurable, readable

ELEMENTS = 16  # of a weight that is asked first
LEAST = 8  # elements of a weight that are zero with a gradient of zero
SHARE = 0.02  # of its elements
MOVED = 0.5  # of them, that are something else afterwards
AGAIN = 3  # steps in which their gradient is still zero
LOOKS = 500  # at each step, after which it is every eighth
REST = 64  # steps after a look that has found nothing
MAX_ELEMENTS = 4_000_000  # of a weight
MOST = 100  # weights that are followed


@dataclass
class _Zeros:
    """Elements of a weight that are zero before a step, and have a gradient of zero."""

    record: LeafRecord
    places: Any
    count: int
    moved: int = 0
    again: int = 0


class Revived(Hook):
    order = 38

    def install(self) -> None:
        self.asked: dict[int, list[LeafRecord]] = {}  # the weights of each optimizer that are asked first
        self.rest: dict[int, int] = {}  # steps until it is asked again
        self.looks: dict[int, int] = {}
        self.zeros: dict[int, list[_Zeros]] = {}
        self.found: dict[int, list[_Zeros]] = {}
        self.sites: dict[int, int] = {}  # of the step that moved them
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_end.connect(self._tell)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        if number in self.found:
            return
        if number in self.zeros:
            with private.aside(), torch.no_grad():
                self._compare(number)
            return
        rest = self.rest.get(number, 0)
        if rest:
            self.rest[number] = rest - 1
            return
        looks = self.looks[number] = self.looks.get(number, 0) + 1
        if looks > LOOKS:
            self.rest[number] = 7
        with private.aside():
            if number not in self.asked:
                weights = sorted((r for r in records if _weight(r) is not None), key=_size)
                some = (weights[-1], weights[len(weights) // 2], weights[0]) if weights else ()
                self.asked[number] = list(dict.fromkeys(some))
            if any(_some_zero(record) for record in self.asked[number]):
                found = [z for record in records[:MOST] if (z := _zeros(record)) is not None]
                if found:
                    self.zeros[number] = found
                else:
                    self.rest[number] = REST

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        if number in self.zeros and number not in self.sites:
            self.sites[number] = site

    def _compare(self, number: int) -> None:
        """Whether what was zero is something else now, and still has no gradient."""
        kept = []
        for zeros in self.zeros[number]:
            weight, grad = _weight(zeros.record), _gradient(zeros.record)
            if weight is None or grad is None or weight.shape != zeros.places.shape:
                continue
            moved = int((weight[zeros.places] != 0).sum())
            if moved >= MOVED * zeros.count and not bool(grad[zeros.places].any()):
                zeros.moved, zeros.again = moved, zeros.again + 1
                kept.append(zeros)
        if kept and kept[0].again >= AGAIN:
            self.found[number] = kept
        if kept and number not in self.found:
            self.zeros[number] = kept
        else:
            del self.zeros[number]
            self.rest[number] = REST
            if not kept:
                self.sites.pop(number, None)

    def _tell(self) -> None:
        for number, found in self.found.items():
            data = {
                "optimizer": number, "parameters": [zeros.record.id for zeros in found],
                "zeros": sum(zeros.count for zeros in found), "moved": sum(zeros.moved for zeros in found),
                "steps": AGAIN,
            }  # fmt: skip
            self.recorder.emit("revived", self.sites[number], data)


def _weight(record: LeafRecord) -> Any:
    t = record.ref()
    if t is None or not readable(t, MAX_ELEMENTS) or not t.is_floating_point():
        return None
    return t.detach() if t.dim() > 1 and t.numel() > LEAST else None


def _gradient(record: LeafRecord) -> Any:
    t = record.ref()
    grad = private.grad_of(t) if t is not None else None
    if grad is None or not measurable(grad) or grad.layout is not torch.strided or grad.shape != t.shape:
        return None
    return grad.detach()


def _size(record: LeafRecord) -> int:
    weight = _weight(record)
    return int(weight.numel()) if weight is not None else 0


def _some_zero(record: LeafRecord) -> bool:
    weight = _weight(record)
    if weight is None or not weight.is_contiguous():
        return False
    count = min(ELEMENTS, weight.numel())
    some = weight.as_strided((count,), (weight.numel() // count,))  # one look at memory, no copy of it
    return not bool(some.all())


def _zeros(record: LeafRecord) -> _Zeros | None:
    """Its elements that are zero with a gradient of zero, where these are many, and not all."""
    weight, grad = _weight(record), _gradient(record)
    if weight is None or grad is None:
        return None
    places = (weight == 0) & (grad == 0)
    count = int(places.sum())
    return (
        _Zeros(record, places, count)
        if max(LEAST, SHARE * weight.numel()) <= count < weight.numel()
        else None
    )
