"""Lets two tensors swap what they hold (`torch.utils.swap_tensors`: `module.to()` of tensor subclasses,
`load_state_dict` where the program chose so). torch refuses where a weak reference to one of them
exists, so ours are let go of meanwhile."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._ledger import LeafRecord
from gradscope.hooks._torch import DisableTorchFunction


class Swaps(Hook):
    def install(self) -> None:
        self.patch(torch.utils, "swap_tensors", self._swap(torch.utils.swap_tensors))

    def _swap(self, real: Any) -> Any:
        @functools.wraps(real)
        def swap_tensors(t1: Any, t2: Any) -> None:
            known: list[tuple[Any, LeafRecord | None, int | None]] = []
            try:
                known = [self._let_go(t) for t in (t1, t2)]
            except Exception as error:
                self.recorder.fault("swapping tensors", error)
            try:
                real(t1, t2)
            finally:
                with DisableTorchFunction():
                    for t, record, module in known:
                        self._know(t, record, module)

        return swap_tensors

    def _let_go(self, t: Any) -> tuple[Any, LeafRecord | None, int | None]:
        """Drops the weak references to this tensor. Returns it with its record, if it is a leaf, and
        its module, if it is a buffer."""
        recorder = self.recorder
        if recorder.live.find(t) is not None:
            del recorder.live[id(t)]
        module = recorder.modules.let_go(t)
        record = recorder.ledger.records.get(id(t))
        if record is None or record.ref() is not t:
            return t, None, module
        record.ref = _nothing
        return t, record, module

    def _know(self, t: Any, record: LeafRecord | None, module: int | None) -> None:
        """It is the same leaf or buffer, with other memory."""
        if module is not None:
            self.recorder.modules.keep(t, module)
        if record is not None:
            record.ref = weakref.ref(t)
            entry = self.recorder.live.make(t)
            entry.leaf, entry.site, record.root = record, record.site, entry.root
            self.recorder.ledger.by_root[entry.root] = record


def _nothing() -> None:
    """Stands for a weak reference that is gone."""
