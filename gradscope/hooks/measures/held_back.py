"""Which elements of a weight have a gradient that the program sets to zero, between a pass and the step or in a hook on
the weight, the same ones each time, and are moved by the step all the same: by the weight decay, or by a momentum of
before. Three weights of an optimizer are looked at, where their gradients are written to. On the CPU only."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import measurable, readable

LEAST = 8  # elements that are held back
SHARE = 0.02  # of a weight
SAME = 0.98  # of the elements of one look are held back in the next, too
MOVED = 0.5  # of them, that are somewhere else before the next step
AGAIN = 4  # looks in a row
MOST = 40  # looks at all
REST = 128  # steps at most after one whose gradients nobody has written to: 1, 2, 4, …
MAX_ELEMENTS = 1_000_000  # of a weight


@dataclass
class _Held:
    """The elements of a weight that were held back at a step, and their values before it."""

    places: Any
    left: Any  # where there was a gradient before
    values: Any
    again: int = 0
    moved: int = 0
    shrunk: int = 0


class HeldBack(Hook):
    order = 38

    def install(self) -> None:
        self.weights: dict[int, list[LeafRecord]] = {}  # of each optimizer, that are looked at
        self.rest: dict[int, int] = {}  # steps until it is looked at again
        self.looks: dict[int, int] = {}
        self.left: dict[int, Any] = {}  # weight → where the last pass left a gradient that is not zero
        self.given: dict[
            int, Any
        ] = {}  # the same, of what a hook on the weight was given in the pass that runs
        self.hooks: dict[int, int] = {}  # weight → where that hook was put
        self.held: dict[int, _Held] = {}  # of a weight
        self.found: dict[int, dict[int, _Held]] = {}
        self.sites: dict[int, int] = {}  # of the step
        self.recorder.signals.gradient_given.connect(self._given)
        self.recorder.signals.after_pass.connect(self._passed)
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_end.connect(self._tell)

    def _given(self, tensor: int, grad: Any, site: int) -> None:
        for number, records in self.weights.items():
            for record in records if not self.rest.get(number) else ():
                t = record.ref()
                if id(t) == tensor and _readable(grad) and grad.shape == t.shape:
                    with private.aside(), torch.no_grad():
                        self.given.setdefault(record.id, grad.detach() != 0)
                        self.hooks[record.id] = site

    def _passed(self, site: int, error: BaseException | None) -> None:
        for number, records in self.weights.items():
            if not self.rest.get(number):
                with private.aside():
                    for record in records:
                        if (grad := _gradient(record)) is not None:
                            self.left[record.id] = grad != 0
                            given = self.given.pop(record.id, None)
                            if given is not None and given.shape == grad.shape:
                                self.left[record.id] |= given

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        if number in self.found:
            return
        rest = self.rest.get(number, 0)
        if rest:
            self.rest[number] = rest - 1
            return
        with private.aside(), torch.no_grad():
            if number not in self.weights:
                weights = sorted((r for r in records if _weight(r) is not None), key=_size)
                some = (weights[-1], weights[len(weights) // 2], weights[0]) if weights else ()
                self.weights[number] = list(dict.fromkeys(some))
                return
            looked = [record for record in self.weights[number] if self._look(record)]
        looks = self.looks[number] = self.looks.get(number, 0) + 1
        known = {r.id: held for r in looked if (held := self.held[r.id]).again >= AGAIN}
        if known:
            self.found[number] = known
        if known or not looked or looks >= MOST:
            self.rest[number] = min(1 << (looks - 1), REST) if looks < MOST else sys.maxsize
            self._forget(number)

    def _look(self, record: LeafRecord) -> bool:
        """Looks at a weight before a step; whether elements of it are held back."""
        weight, grad, left = _weight(record), _gradient(record), self.left.pop(record.id, None)
        before = self.held.pop(record.id, None)
        if weight is None or grad is None or left is None or left.shape != grad.shape:
            return False
        left = left.flatten()
        places = left & (grad == 0).flatten() & (weight != 0).flatten()
        count = int(places.sum())
        if not max(LEAST, SHARE * weight.numel()) <= count < weight.numel():
            return False
        held = self.held[record.id] = _Held(places, left, weight.flatten().clone())
        both = places & before.places if before is not None else places
        if before is not None and (same := int(both.sum())) >= max(
            LEAST, SAME * int((places & before.left).sum())
        ):
            was, now = before.values[both], held.values[both]
            held.moved, held.shrunk = int((now != was).sum()), int((now.abs() < was.abs()).sum())
            held.again = before.again + 1 if held.moved >= MOVED * same else 0
        return True

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        if number in self.weights:
            self.sites[number] = site

    def _forget(self, number: int) -> None:
        for record in self.weights[number]:
            self.left.pop(record.id, None)
            self.given.pop(record.id, None)
            self.held.pop(record.id, None)

    def _tell(self) -> None:
        for number, found in self.found.items():
            if number in self.sites:
                data = {
                    "optimizer": number, "parameters": list(found), "steps": AGAIN,
                    "held": sum(int(held.places.sum()) for held in found.values()),
                    "moved": sum(held.moved for held in found.values()),
                    "shrunk": sum(held.shrunk for held in found.values()),
                    "hook": next((self.hooks[id] for id in found if id in self.hooks), None),
                }  # fmt: skip
                self.recorder.emit("held_back", self.sites[number], data)


def _weight(record: LeafRecord) -> Any:
    t = record.ref()
    if t is None or not readable(t, MAX_ELEMENTS) or not t.is_floating_point():
        return None
    return t.detach() if t.dim() > 1 and t.numel() > LEAST else None


def _gradient(record: LeafRecord) -> Any:
    t = record.ref()
    grad = private.grad_of(t) if t is not None else None
    return grad.detach() if grad is not None and _readable(grad) and grad.shape == t.shape else None


def _readable(grad: Any) -> bool:
    return grad is not None and measurable(grad) and grad.is_cpu and grad.layout is torch.strided


def _size(record: LeafRecord) -> int:
    weight = _weight(record)
    return int(weight.numel()) if weight is not None else 0
