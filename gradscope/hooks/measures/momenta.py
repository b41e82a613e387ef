"""Whether what an optimizer of the program's own keeps for a parameter holds anything of earlier steps: after each of
its first steps a tensor of its state is compared with the gradient of that very step. One parameter of each, on the
CPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import readable

STEPS = 12  # that are looked at
ENOUGH = 4  # of them, in a row, to say so
MAX_ELEMENTS = 1_000_000
NEAR = 1e-4  # of the size
OTHER = 0.999  # cosine above which a gradient is that of the step before
ONE = 0.01  # about 1: what a mean of one and the same gradient comes to, which is no multiple of it at first
MOST = 16  # optimizers


@dataclass
class _Kept:
    """One parameter of an optimizer, and by which number each tensor of its state is a multiple of the gradient."""

    record: LeafRecord
    steps: int = 0
    last: Any = None  # its gradient in the step before
    factors: dict[str, list[float]] = field(default_factory=dict)
    all: dict[str, list[float]] = field(
        default_factory=dict
    )  # also where the gradient was that of the step before
    others: set[str] = field(default_factory=set)  # keys of what is no multiple


class Momenta(Hook):
    order = 38

    def install(self) -> None:
        self.kept: dict[int, _Kept | None] = {}
        self.sites: dict[int, int] = {}
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_end.connect(self._tell)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        if number not in self.kept and len(self.kept) < MOST:
            own = not type(optimizer).__module__.startswith("torch.") and records
            self.kept[number] = _Kept(max(records, key=_size)) if own else None

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        known = self.kept.get(number)
        if known is None or known.steps >= STEPS:
            return
        known.steps += 1
        self.sites[number] = site
        with private.aside(), torch.no_grad():
            _look(optimizer, known)

    def _tell(self) -> None:
        for number, known in self.kept.items():
            for key, every in known.all.items() if known is not None else ():
                if known is None or key in known.others:
                    continue
                factors = known.factors.get(key, [])
                if not _is_one(factors, ENOUGH) and abs(every[0] - 1) > ONE:
                    factors = every  # a mean of equal gradients grows in its first steps
                if _is_one(factors, ENOUGH if factors is not every else 2 * ENOUGH):
                    data = {"optimizer": number, "key": key, "factor": factors[0], "steps": len(factors)}
                    self.recorder.emit("momentum_anew", self.sites[number], data)


def _is_one(factors: list[float], enough: int) -> bool:
    """Whether they are one and the same number, often enough."""
    return len(factors) >= enough and max(factors) - min(factors) <= NEAR * abs(factors[0])


def _look(optimizer: Any, known: _Kept) -> None:
    t = known.record.ref()
    grad = private.grad_of(t) if t is not None else None
    if grad is None or not readable(grad, MAX_ELEMENTS) or not grad.is_floating_point():
        return
    grad = grad.detach().flatten().double()
    last, known.last = known.last, grad.clone()
    size = float(grad.norm())
    if not size:
        return
    alike = last is None or abs(float(grad @ last)) > OTHER * size * float(last.norm())
    state = getattr(optimizer, "state", None)
    state = state.get(t) if isinstance(state, dict) else None
    for key, value in list(state.items()) if isinstance(state, dict) else ():
        if type(key) is not str or not isinstance(value, torch.Tensor) or value.shape != t.shape:
            continue
        if not readable(value, MAX_ELEMENTS) or not value.is_floating_point():
            continue
        value = value.detach().flatten().double()
        factor = float(value @ grad) / size**2
        if factor and float((value - factor * grad).norm()) <= NEAR * abs(factor) * size:
            known.all.setdefault(key, []).append(factor)
            if not alike:  # one that is like the one before tells less
                known.factors.setdefault(key, []).append(factor)
        else:
            known.others.add(key)


def _size(record: LeafRecord) -> int:
    t = record.ref()
    return int(t.numel()) if t is not None and readable(t, MAX_ELEMENTS) else 0
