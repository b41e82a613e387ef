"""Watches gradient scalers: whether the loss was scaled, and who takes the scale out again."""

from __future__ import annotations

import functools
import math
import sys
import weakref
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks._torch import GradScaler
from gradscope.hooks.recorder.values import can_be_asked, find_tensors
from gradscope.tracebacks import text_of

MAX_WALK = 64  # nodes between a scaled loss and what is made of it


class Scalers(Hook):
    order = 33

    def install(self) -> None:
        self.numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.count = 0
        self.depth = 0
        self.scaled: list[tuple[Any, int]] = []  # (weak reference, node number) of what was scaled last
        for name in ("scale", "unscale_", "step", "update"):
            self.patch(GradScaler, name, self._wrap(name, vars(GradScaler)[name]))
        self.recorder.signals.before_pass.connect(self._before_pass)

    def _wrap(self, name: str, real: Any) -> Any:
        @functools.wraps(real)
        def call(scaler: Any, /, *args: Any, **kwargs: Any) -> Any:
            if self.depth or not self.recorder.mine() or not scaler.is_enabled():
                return real(scaler, *args, **kwargs)
            self.depth += 1
            failed = result = None
            try:
                result = real(scaler, *args, **kwargs)
                return result
            except Exception as error:
                failed = text_of(error)
                raise
            finally:
                self.depth -= 1
                self._note(name, scaler, args, result, failed, sys._getframe(1))

        return call

    def _note(self, name: str, scaler: Any, args: Any, result: Any, failed: str | None, frame: Any) -> None:
        recorder = self.recorder
        try:
            with private.aside():
                number = self.numbers.get(scaler)
                if number is None:
                    number = self.numbers[scaler] = self.count
                    self.count += 1
                site = recorder.sites.current(frame)
                optimizer = None
                if args and isinstance(args[0], torch.optim.Optimizer):
                    optimizer = recorder.services.optimizer_number(args[0], site)
                if name == "scale":
                    self._remember(result)
                data = {"call": name, "scaler": number, "optimizer": optimizer, "error": failed}
                self._with_scale(recorder.emit("scaler", site, data), scaler)
        except BaseException as error:
            recorder.fault("recording a gradient scaler", error)

    def _with_scale(self, first_only: dict[str, Any], scaler: Any) -> None:
        """Puts the scale into what is told of a call; from a GPU it comes before the segment is stored, or never."""
        if not can_be_asked(scaler._scale, 1):
            return

        def put(value: torch.Tensor) -> None:
            if math.isfinite(value):
                first_only["scale"] = float(value)

        self.recorder.arrivals.when_here((scaler._scale,), put)

    def _remember(self, result: Any) -> None:
        tensors: list[Any] = []
        find_tensors([result], tensors)
        self.scaled = [(w, n) for w, n in self.scaled[-7:] if w() is not None]
        for t in tensors:
            node = private.grad_fn_of(t)
            if node is not None:
                self.scaled.append((private.TensorRef(t), private.sequence_of(node)))

    def _before_pass(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        if self.count and accumulate:
            try:
                scaled = self._scaled(roots)
                if scaled:
                    self.recorder.scaled_pass = self.recorder.passes + 1
                self.recorder.emit("scaler", site, {"call": "backward", "scaled": scaled})
            except BaseException as error:
                self.recorder.fault("recording a gradient scaler", error)

    def _scaled(self, roots: Any) -> bool:
        """Whether a pass starts at a scaled loss, or at something made after one was scaled."""
        known = {id(t) for w, _ in self.scaled if (t := w()) is not None}
        numbers = {n for _, n in self.scaled}
        scaled = any(id(t) in known for t in roots)
        if not scaled and numbers:
            scaled = _above(numbers, [node for t in roots if (node := private.grad_fn_of(t)) is not None])
        self.scaled.clear()
        return scaled


def _above(numbers: set[int], nodes: list[Any]) -> bool:
    """Whether one of the nodes with these numbers is among `nodes` or shortly below them."""
    first, looked = min(numbers), 0
    while nodes and looked < MAX_WALK:
        node = nodes.pop(0)
        looked += 1
        number = private.sequence_of(node)
        if number in numbers:
            return True
        if number > first:
            nodes += [target for target, _ in node.next_functions if target is not None]
    return False
