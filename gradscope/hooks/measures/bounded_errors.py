"""The gradient of what a line compares with a number: of the elements as far beyond it as others lie on the other side
of 0. A loss that is linear, or flat, for large errors does so on both sides."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import aside, grad_fn_of, transforms
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.values import can_be_asked

ORDERINGS = ["lt", "le", "gt", "ge"]
FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_ELEMENTS = 1 << 16
FEW = 4  # elements on either side
EVEN = 1e-3  # of their mean: how far what is constant may vary
FAR = 1.5  # times the number: how far those on the other side must reach


@dataclass
class Seen:
    name: str
    bound: float
    beyond: int  # elements on the side of the number
    across: int  # as far on the other side
    grows: bool  # the gradient of the latter, in proportion to them; else it is zero
    largest: float  # in size, of the latter
    even: float  # the gradient of the former where that of the latter grows: constant
    most: float  # the largest of the others, in size


class BoundedErrors(Hook):
    order = 94  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, 64)
        self.seen: dict[int, Seen] = {}  # site → the first call that showed it
        self.recorder.functions.follow(ORDERINGS, self._call)
        self.recorder.signals.before_end.connect(self._tell)

    def _call(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 2 or not getattr(args[0], "requires_grad", False) or not torch.is_grad_enabled():
            return
        error, bound = args
        number = isinstance(bound, int | float) or (
            isinstance(bound, torch.Tensor) and bound.dim() == 0 and not bound.requires_grad
        )
        node = grad_fn_of(error)
        if not number or node is None or error.dim() == 0 or transforms() is not None:
            return
        site = self.recorder.sites.current(frame)
        if site in self.seen or not self.looks.due(site):
            return
        if not can_be_asked(error, MAX_ELEMENTS) or error.is_complex() or error.device.type != "cpu":
            return
        with aside():
            kept, at = error.detach().clone(), float(bound)
        if at != 0:
            node.register_prehook(self._hook(site, name, error.output_nr, kept, at))

    def _hook(self, site: int, name: str, output: int, error: torch.Tensor, bound: float) -> Any:
        recorder = self.recorder

        def arrived(gradients: Any) -> None:
            if threading.get_ident() != recorder.thread or transforms() is not None:
                return
            try:
                came = gradients[output]
                if came is not None and came.shape == error.shape:
                    with aside(), torch.no_grad():
                        found = _compare(name, error, came.detach(), bound)
                    if found is not None:
                        self.seen.setdefault(site, found)
            except BaseException as problem:
                recorder.fault("comparing the gradients of errors of both signs", problem)

        return arrived

    def _tell(self) -> None:
        for site, seen in self.seen.items():
            self.recorder.emit("bounded_errors", site, asdict(seen))


def _compare(name: str, error: torch.Tensor, gradient: torch.Tensor, bound: float) -> Seen | None:
    """What a gradient is on both sides, where it is constant beyond the bound and not so on the other side."""
    side = 1 if bound > 0 else -1
    size = abs(bound)
    here, there = error * side > size, error * side < -size
    near, far, errors = gradient[here].double(), gradient[there].double(), error[there].double()
    if far.numel() < FEW or not bool(near.isfinite().all() & far.isfinite().all()):
        return None
    largest, most = float(errors.abs().max()), float(far.abs().max())
    within = gradient[(error.abs() < size) & (error * side < 0)]
    if most == 0:
        cut = bool(within.any()) and bool(near.all())
        return Seen(name, bound, near.numel(), far.numel(), False, largest, 0.0, most) if cut else None
    if near.numel() < FEW or not _is_even(near) or not _is_even(far / errors) or largest < FAR * size:
        return None
    return Seen(name, bound, near.numel(), far.numel(), True, largest, float(near.abs().mean()), most)


def _is_even(numbers: torch.Tensor) -> bool:
    """Whether all are one number, and not 0."""
    mean = abs(float(numbers.mean()))
    return mean > 0 and float(numbers.std()) <= EVEN * mean
