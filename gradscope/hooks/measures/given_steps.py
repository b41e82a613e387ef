"""Which steps of a loss's target a loop has taken one by one before, as `future[i]`: told of the first loss that each
place's entries were the target of."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import aside
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.losses import OF_NUMBERS, SUBTRACTIONS
from gradscope.hooks.recorder.values import can_be_asked, is_whole

LOSSES = 64  # that are looked at
ENTRIES = 1 << 13  # that are looked at
MAX_SITES = 16
STEPS = 512  # of one loop
MOST = 1 << 24  # elements of a target


class GivenSteps(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        # site → axis and address of what was taken since the last loss
        self.taken: dict[int, list[tuple[int, int]]] = {}
        self.told: set[int] = set()
        self.losses = 0
        self.entries = 0
        self.recorder.functions.follow(["__getitem__"], self._entry)
        self.recorder.functions.follow(OF_NUMBERS, self._loss)
        self.recorder.functions.follow(SUBTRACTIONS, self._difference)

    def _entry(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.losses >= LOSSES or self.entries >= ENTRIES or len(args) != 2 or not torch.is_grad_enabled():
            return
        whole, index = args
        axis = 0 if type(index) is int else 1
        if axis:
            plain = (
                type(index) is tuple and len(index) == 2 and type(index[0]) is slice and type(index[1]) is int
            )
            if not plain or not is_whole(index[0]):
                return
        if not isinstance(whole, torch.Tensor) or whole.requires_grad or whole.dim() < 2:
            return
        if not whole.is_floating_point() or not can_be_asked(whole, MOST):
            return
        self.entries += 1
        site = self.recorder.sites.current(frame)
        if site in self.told or (site not in self.taken and len(self.taken) >= MAX_SITES):
            return
        entries = self.taken.setdefault(site, [])
        if len(entries) < STEPS:
            with torch.no_grad(), aside():
                entries.append((axis, result.data_ptr()))

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "target"), args, kwargs)
        self._compared(given.get("input"), given.get("target"), frame)

    def _difference(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) == 2 and all(isinstance(t, torch.Tensor) for t in args):
            answers, target = args if args[0].requires_grad else args[::-1]
            self._compared(answers, target, frame)

    def _compared(self, answers: Any, target: Any, frame: Any) -> None:
        if not self.taken or not isinstance(answers, torch.Tensor) or not answers.requires_grad:
            return
        if not isinstance(target, torch.Tensor) or target.requires_grad or answers.shape != target.shape:
            return
        if target.dim() < 2 or not can_be_asked(target, MOST):
            return
        self.losses += 1
        loss = self.recorder.sites.current(frame)
        with torch.no_grad(), aside():
            begin, size = target.data_ptr(), target.element_size()
            for site, entries in self.taken.items():
                axis = entries[0][0]
                stride = target.stride(axis) * size
                steps = [
                    (at - begin) // stride if stride and (at - begin) % stride == 0 else -1
                    for _, at in entries
                ]
                if len(steps) > 1 and all(0 <= step < target.shape[axis] for step in steps):
                    self.told.add(site)
                    data = {"loss": loss, "axis": axis, "steps": steps, "entries": target.shape[axis]}
                    self.recorder.emit("given_steps", site, data)
        self.taken = {}
