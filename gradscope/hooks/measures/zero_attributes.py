"""Tensors that a module holds in plain attributes, neither parameters nor buffers, and that are nothing but zeros:
those that stay the very same tensor, all zeros and never written to. Looked at before the steps 1, 2, 4, 8, … of each
optimizer, and at the end."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks._torch import TensorRef, version_of
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.recorder.parts import TORCHS_OWN, attributes
from gradscope.hooks.recorder.values import can_be_asked

MANY = 256  # attributes of the run
MOST = 1 << 20  # elements of one
LOOKS = 2


class _Held(NamedTuple):
    """One attribute, and its tensor as it was met."""

    record: ModuleRecord
    name: str
    ref: TensorRef
    version: int


class ZeroAttributes(Hook):
    order = 38

    def install(self) -> None:
        self.seen = 0  # modules with lower numbers were looked at
        self.steps: dict[int, int] = {}  # of each optimizer
        self.held: dict[tuple[int, str], _Held] = {}
        self.looks: dict[tuple[int, str], int] = {}
        self.site = 0  # of the last step
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_end.connect(self._tell)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        count = self.steps[number] = self.steps.get(number, 0) + 1
        if count & (count - 1):
            return
        with private.aside():
            for key, one in list(self.held.items()):
                self._again(key, one)
            for record, module in self.recorder.modules.since(self.seen):
                self._meet(record, module)
        self.seen = self.recorder.modules.count

    def _meet(self, record: ModuleRecord, module: Any) -> None:
        for name, t in list(attributes(module).items()):
            if name in TORCHS_OWN or type(t) is not torch.Tensor or len(self.held) >= MANY:
                continue
            if can_be_asked(t, MOST) and t.dtype.is_floating_point and not t.requires_grad and t.numel() > 1:
                self.held[record.id, name] = _Held(record, name, TensorRef(t), version_of(t))
                self._ask((record.id, name), t)

    def _again(self, key: tuple[int, str], one: _Held) -> None:
        module, t = one.record.ref(), one.ref()
        if module is None:
            return  # a program may be done with it
        if t is None or attributes(module).get(one.name) is not t or version_of(t) != one.version:
            self._drop(key)
        elif can_be_asked(t, MOST):
            self._ask(key, t)

    def _ask(self, key: tuple[int, str], t: torch.Tensor) -> None:
        def tell(some: torch.Tensor) -> None:
            if bool(some):
                self._drop(key)
            elif key in self.held:
                self.looks[key] = self.looks.get(key, 0) + 1

        self.recorder.arrivals.when_here((t.any(),), tell)

    def _drop(self, key: tuple[int, str]) -> None:
        self.held.pop(key, None)
        self.looks.pop(key, None)

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        self.site = site

    def _tell(self) -> None:
        with private.aside():
            for key, one in list(self.held.items()):
                self._again(key, one)
        for (module, name), looks in list(self.looks.items()):
            if looks >= LOOKS:
                self.recorder.emit(
                    "zero_attribute", self.site, {"module": module, "name": name, "looks": looks}
                )
