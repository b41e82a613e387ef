"""Lets two tensors swap what they hold (`torch.utils.swap_tensors`: `module.to()` of tensor subclasses,
`load_state_dict` where the program chose so). torch refuses where a weak reference to one of them
exists, so ours are let go of meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import DisableTorchFunction, TensorRef, gone
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import Live


@dataclass
class Known:
    """What was known of a tensor: as a value, as a leaf, as a buffer of a module."""

    tensor: Any
    value: dict[str, Any] | None
    leaf: LeafRecord | None
    module: int | None


class Swaps(Hook):
    needs = "torch.utils.swap_tensors"

    def install(self) -> None:
        self.patch(torch.utils, "swap_tensors", self._swap(torch.utils.swap_tensors))

    def _swap(self, real: Any) -> Any:
        recorder = self.recorder

        def swap_tensors(t1: Any, t2: Any) -> None:
            known: list[Known] = []
            try:
                with DisableTorchFunction():
                    for t in (t1, t2):
                        known.append(self._let_go(t))
            except BaseException as error:
                recorder.fault("swapping tensors", error)
            recorder.paused += 1  # torch makes views of them, to look at their nodes
            try:
                real(t1, t2)
            except BaseException:
                with DisableTorchFunction():
                    self._put_back(known)
                raise
            else:
                with DisableTorchFunction():
                    self._know(known)
            finally:
                recorder.paused -= 1

        return swap_tensors

    def _let_go(self, t: Any) -> Known:
        """Drops the weak references to this tensor."""
        recorder = self.recorder
        for let_go in recorder.signals.before_swap:
            let_go(t)
        entry = recorder.live.find(t)
        value = None
        if entry is not None:
            value = {name: getattr(entry, name) for name in Live.__slots__}
            del recorder.live[id(t)], entry
        module = recorder.modules.let_go(t)
        leaf = recorder.ledger.records.get(id(t))
        if leaf is not None and leaf.ref() is t:
            leaf.ref = gone
        else:
            leaf = None
        return Known(t, value, leaf, module)

    def _put_back(self, known: list[Known]) -> None:
        """torch has refused: all is as it was."""
        for one in known:
            if one.module is not None:
                self.recorder.modules.keep(one.tensor, one.module)
            if one.leaf is not None:
                one.leaf.ref = TensorRef(one.tensor)
            self._set(one.tensor, one.value)

    def _know(self, known: list[Known]) -> None:
        """Each is the same leaf or buffer, with other memory; what is neither is now the other value."""
        recorder = self.recorder
        for one in known:
            if one.module is not None:
                recorder.modules.keep(one.tensor, one.module)
            if one.leaf is not None:
                one.leaf.ref = TensorRef(one.tensor)
                entry = recorder.live.make(one.tensor)
                entry.leaf, entry.site, one.leaf.root = one.leaf, one.leaf.site, entry.root
                recorder.ledger.by_root[entry.root] = one.leaf
        if len(known) == 2 and known[0].leaf is None and known[1].leaf is None:
            self._set(known[0].tensor, known[1].value)
            self._set(known[1].tensor, known[0].value)

    def _set(self, t: Any, value: dict[str, Any] | None) -> None:
        if value is not None:
            entry = self.recorder.live.make(t)
            for name, was in value.items():
                setattr(entry, name, was)
