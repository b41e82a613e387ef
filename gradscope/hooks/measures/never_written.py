"""Parameters of the program's own that get a gradient before anything has written to them: where they were made of what
`torch.empty` gave they hold whatever was in that memory. On the CPU only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks._torch import TensorRef
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import few_of

MOST = 256  # parameters that are held, and results of `empty`
ELEMENTS = 256  # of each that are compared
EMPTY = ("empty", "empty_like", "new_empty")
WRITES = (
    "fill_", "zero_", "normal_", "uniform_", "random_", "exponential_", "constant_", "eye_", "orthogonal_",
    "trunc_normal_", "bernoulli_", "kaiming_normal_", "kaiming_uniform_", "xavier_normal_", "xavier_uniform_",
    "__setitem__", "copy_", "index_put_", "index_copy_", "scatter_", "masked_scatter_", "add_", "mul_", "ones_",
    "zeros_",
)  # fmt: skip


@dataclass
class _Made:
    """A parameter as it was made."""

    ref: Any
    site: int
    version: int
    memory: int
    numbers: Any
    empty: bool


class NeverWritten(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.empty: list[Any] = []  # weak references
        self.made: dict[int, _Made] = {}  # id → parameter that nothing has written to yet
        self.told: list[tuple[int, dict[str, Any]]] = []
        self.recorder.functions.follow(EMPTY, self._empty)
        self.recorder.functions.follow(WRITES, self._written)
        self.recorder.signals.parameter_made.connect(self._parameter)
        self.recorder.signals.data_set.connect(self._set)
        self.recorder.signals.before_pass.connect(self._pass)
        self.recorder.signals.before_step.connect(self._step)
        self.recorder.signals.before_swap.connect(self._forget)
        self.recorder.signals.before_end.connect(self._tell)

    def _forget(self, t: Any) -> None:
        self.empty = []
        self.made.pop(id(t), None)

    def _empty(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if type(result) is torch.Tensor and result.is_floating_point():
            self.empty = [*self.empty[-8:], TensorRef(result)]

    def _parameter(self, made: Any, data: Any, site: int) -> None:
        if len(self.made) >= MOST or not made.requires_grad or not made.is_floating_point():
            return
        with private.aside():
            numbers = few_of(made, ELEMENTS)
            if numbers is not None:
                empty = any(ref() is data for ref in self.empty) and not private.version_of(data)
                self.made[id(made)] = _Made(
                    TensorRef(made), site, private.version_of(made), made.data_ptr(), numbers, empty
                )

    def _written(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        t = args[0] if args else None
        if not self.made or not isinstance(t, torch.Tensor) or t.layout is not torch.strided or t.is_meta:
            return
        with private.aside():
            if not private.memory_of(t):
                return
            first = t.data_ptr()
        for key, one in list(self.made.items()):
            held = one.ref()
            if held is None or one.memory <= first < one.memory + max(held.nbytes, 1):
                del self.made[key]

    def _set(self, t: Any, data: Any, site: int) -> None:
        self.made.pop(id(t), None)

    def _pass(self, roots: Any, others: Any, site: int, fills: bool, frame: Any) -> None:
        """Lets go of what has been written to."""
        if not self.made:
            return
        with private.aside():
            for key, one in list(self.made.items()):
                if not _as_made(one):
                    del self.made[key]

    def _step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        for record in records if self.made else ():
            held = record.ref()
            one = self.made.get(id(held))
            if one is not None and one.ref() is held and record.passes:
                del self.made[id(held)]
                data = {"parameter": record.id, "empty": one.empty, "elements": held.numel()}
                self.told.append((one.site, data))

    def _tell(self) -> None:
        for site, data in self.told:
            self.recorder.emit("never_written", site, data)


def _as_made(one: _Made) -> bool:
    held = one.ref()
    if held is None or private.version_of(held) != one.version or held.data_ptr() != one.memory:
        return False
    now = few_of(held, ELEMENTS)
    return now is not None and now.shape == one.numbers.shape and _bits(now) == _bits(one.numbers)


def _bits(numbers: Any) -> bytes:
    """NaN is equal to nothing, itself neither."""
    return bytes(numbers.view(torch.uint8).tolist())
