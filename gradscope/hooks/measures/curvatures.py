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
FIRST = 4  # passes, each compared with the one before; then each that is a power of two and the one after it
MOST = 8  # lines


@dataclass
class _Line:
    """The passes of one line, with parameters and gradients at the last that was looked at."""

    passes: int = 0
    parameters: list[int] = field(default_factory=list)
    values: torch.Tensor | None = None
    gradient: torch.Tensor | None = None
    at: list[int] = field(default_factory=list)  # number of the second pass of each pair
    curvatures: list[float] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)  # of the gradient
    rates: list[float] = field(
        default_factory=list
    )  # length of the update, by that of the gradient before it
    cosines: list[float] = field(default_factory=list)  # of the two gradients
    mostly: list[int] = field(default_factory=list)  # the parameter that the update changes most


class Curvatures(Hook):
    order = 46  # after what measures the passes

    def install(self) -> None:
        self.lines: dict[int, _Line | None] = {}
        self.recorder.signals.after_pass.connect(self._after)
        self.recorder.signals.before_end.connect(self._tell)

    def _after(self, site: int, failed: BaseException | None) -> None:
        filled = self.recorder.ledger.filled
        if failed is not None or not filled:
            return
        if site not in self.lines:
            self.lines[site] = _Line() if len(self.lines) < MOST and _is_small(filled) else None
        line = self.lines[site]
        if line is None:
            return
        line.passes += 1
        n = line.passes
        if n > FIRST and n & (n - 1) and (n - 1) & (n - 2):
            return
        with private.aside(), torch.no_grad():
            self._look(line, filled)

    def _look(self, line: _Line, filled: list[LeafRecord]) -> None:
        held = [(r.id, r.ref()) for r in sorted(filled, key=lambda record: record.id)]
        ids = [id for id, _ in held]
        values, gradients, owners = [], [], []
        for id, t in held:
            grad = private.grad_of(t) if t is not None else None
            if (
                t is None
                or grad is None
                or not readable(t, MAX_ELEMENTS)
                or not readable(grad, MAX_ELEMENTS)
                or grad.shape != t.shape
            ):
                line.values = None
                return
            values.append(t.detach().double().reshape(-1))
            gradients.append(grad.detach().double().reshape(-1))
            owners += [id] * t.numel()
        value, gradient = torch.cat(values), torch.cat(gradients)
        one_after = line.passes <= FIRST or not (line.passes - 1) & (line.passes - 2)
        if one_after and line.values is not None and line.gradient is not None and line.parameters == ids:
            _compare(line, value, gradient, owners)
        line.parameters, line.values, line.gradient = ids, value, gradient

    def _tell(self) -> None:
        for site, line in self.lines.items():
            if line is not None and line.at:
                data = {
                    "passes": line.passes, "parameters": line.parameters, "at": line.at,
                    "curvatures": line.curvatures, "lengths": line.lengths, "rates": line.rates,
                    "cosines": line.cosines, "mostly": line.mostly,
                }  # fmt: skip
                self.recorder.emit("curvatures", site, data)


def _is_small(filled: list[LeafRecord]) -> bool:
    tensors = [r.ref() for r in filled]
    return (
        len(filled) <= MAX_PARAMETERS
        and all(t is not None and readable(t, MAX_ELEMENTS) and t.is_floating_point() for t in tensors)
        and sum(t.numel() for t in tensors if t is not None) <= MAX_ELEMENTS
    )


def _compare(line: _Line, value: torch.Tensor, gradient: torch.Tensor, owners: list[int]) -> None:
    assert line.values is not None and line.gradient is not None
    step, change = value - line.values, gradient - line.gradient
    length, before, now = float(step.norm()), float(line.gradient.norm()), float(gradient.norm())
    if not (length > 0 and before > 0 and now > 0):
        return
    line.at.append(line.passes)
    line.curvatures.append(float(step @ change) / length**2)
    line.lengths.append(now)
    line.rates.append(length / before)
    line.cosines.append(float(gradient @ line.gradient) / (before * now))
    line.mostly.append(owners[int(step.abs().argmax())])
