"""How steep the loss of a small model bends along its own updates: from each of some passes to the next, the change of
the gradient along the change of the parameters, by the square of that. Along a direction of one curvature it is that
curvature, whatever the length of the update; the largest that is found in a run and that at its end are those of the
steepest and of the flattest direction, where a loss is nearly a parabola."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import readable

MAX_ELEMENTS = 64  # of all that a pass fills: larger models have curvatures of all kinds
MAX_PARAMETERS = 8
FIRST = 16  # passes, each compared with the one before; then two in a row ever more rarely
MOST = 8  # sets of parameters


@dataclass
class _Filled:
    """The passes that fill the same parameters, with these and their gradients at the last that was looked at."""

    site: int = 0  # of the last pass
    passes: int = 0
    values: torch.Tensor | None = None
    gradient: torch.Tensor | None = None
    at: list[int] = field(default_factory=list)  # number of the second pass of each pair
    curvatures: list[float] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)  # of the gradient
    rates: list[float] = field(default_factory=list)  # the update's, by that of the gradient before
    cosines: list[float] = field(default_factory=list)  # of the two gradients
    mostly: list[int] = field(default_factory=list)  # the parameter that the update changes most


class Curvatures(Hook):
    order = 46  # after what measures the passes

    def install(self) -> None:
        self.found: dict[tuple[int, ...], _Filled | None] = {}  # parameters → their passes
        self.recorder.signals.after_pass.connect(self._after)
        self.recorder.signals.before_end.connect(self._tell)

    def _after(self, site: int, failed: BaseException | None) -> None:
        filled = self.recorder.ledger.filled
        if failed is not None or not 0 < len(filled) <= MAX_PARAMETERS:
            return
        filled = sorted(filled, key=lambda record: record.id)
        ids = tuple(record.id for record in filled)
        if ids not in self.found:
            with private.aside():
                small = len(self.found) < MOST and _is_small(filled)
            self.found[ids] = _Filled() if small else None
        known = self.found[ids]
        if known is None:
            return
        known.passes += 1
        known.site = site
        n = known.passes
        if n > FIRST and not _begins_a_pair(n) and not _begins_a_pair(n - 1):
            return
        with private.aside(), torch.no_grad():
            _look(known, filled)

    def _tell(self) -> None:
        for ids, known in self.found.items():
            if known is not None and known.at:
                data = {
                    "passes": known.passes, "parameters": list(ids), "at": known.at,
                    "curvatures": known.curvatures, "lengths": known.lengths, "rates": known.rates,
                    "cosines": known.cosines, "mostly": known.mostly,
                }  # fmt: skip
                self.recorder.emit("curvatures", known.site, data)


def _begins_a_pair(number: int) -> bool:
    """Whether it is a power of two, or one and a half times one."""
    whole = number // 3 if number % 3 == 0 else number
    return not whole & (whole - 1)


def _look(known: _Filled, filled: list[LeafRecord]) -> None:
    values, gradients, owners = [], [], []
    for record in filled:
        t = record.ref()
        grad = private.grad_of(t) if t is not None else None
        if t is None or grad is None or not readable(t, MAX_ELEMENTS) or not readable(grad, MAX_ELEMENTS):
            known.values = None
            return
        values.append(t.detach().double().reshape(-1))
        gradients.append(grad.detach().double().reshape(-1))
        owners += [record.id] * t.numel()
    value, gradient = torch.cat(values), torch.cat(gradients)
    one_after = known.passes <= FIRST or _begins_a_pair(known.passes - 1)
    if one_after and known.values is not None and known.gradient is not None:
        _compare(known, value, gradient, owners)
    known.values, known.gradient = value, gradient


def _is_small(filled: list[LeafRecord]) -> bool:
    tensors = [r.ref() for r in filled]
    return (
        all(t is not None and readable(t, MAX_ELEMENTS) and t.is_floating_point() for t in tensors)
        and sum(t.numel() for t in tensors if t is not None) <= MAX_ELEMENTS
    )


def _compare(known: _Filled, value: torch.Tensor, gradient: torch.Tensor, owners: list[int]) -> None:
    assert known.values is not None and known.gradient is not None
    step, change = value - known.values, gradient - known.gradient
    length, before, now = float(step.norm()), float(known.gradient.norm()), float(gradient.norm())
    if not (length > 0 and before > 0 and now > 0):
        return
    known.at.append(known.passes)
    known.curvatures.append(float(step @ change) / length**2)
    known.lengths.append(now)
    known.rates.append(length / before)
    known.cosines.append(float(gradient @ known.gradient) / (before * now))
    known.mostly.append(owners[int(step.abs().argmax())])
