"""Watches gradient clipping, below the public functions: programs import those by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks._ledger import LeafRecord


class Clipping(Hook):
    order = 35

    def install(self) -> None:
        clip = private.clip_grad
        self.patch(clip, "_clip_grads_with_norm_", self._by_norm(clip._clip_grads_with_norm_))
        self.patch(
            clip,
            "_group_tensors_by_device_and_dtype",
            self._by_value(clip._group_tensors_by_device_and_dtype),
        )

    def _by_norm(self, real: Any) -> Any:
        def _clip_grads_with_norm_(parameters: Any, max_norm: Any, *args: Any, **kwargs: Any) -> Any:
            if self.recorder.mine():
                tensors = parameters if isinstance(parameters, list) else [parameters]
                self._note("norm", lambda: self._of(tensors), len(tensors), max_norm, sys._getframe(1))
            return real(parameters, max_norm, *args, **kwargs)

        return _clip_grads_with_norm_

    def _by_value(self, real: Any) -> Any:
        """`clip_grad_value_` groups its gradients first; the other clips are seen by their norm."""

        def _group_tensors_by_device_and_dtype(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            if frame.f_code.co_name == "clip_grad_value_" and self.recorder.mine():
                self._note("value", lambda: self._by_gradient(tensors[0]), len(tensors[0]), None, frame)
            return real(tensors, *args, **kwargs)

        return _group_tensors_by_device_and_dtype

    def _note(
        self, call: str, find: Callable[[], list[LeafRecord]], given: int, limit: Any, frame: Any
    ) -> None:
        recorder = self.recorder
        try:
            with private.aside():
                if recorder.replay.comes("clip", frame):
                    recorder.replay.take()
                    return
                site = recorder.sites.current(frame)
                records = find()
                recorder.emit(
                    "clip", site,
                    {
                        "call": call, "given": given, "states": recorder.ledger.states(records),
                        "limit": float(limit) if isinstance(limit, (int, float)) else None,
                    },
                )  # fmt: skip
        except Exception as error:
            recorder.fault("recording a clip", error)

    def _of(self, tensors: list[Any]) -> list[LeafRecord]:
        ledger, found = self.recorder.ledger, []
        for t in tensors:
            record = ledger.records.get(id(t))
            if record is not None and record.ref() is t:
                found.append(record)
            elif t.requires_grad or private.grad_of(t) is not None:
                found.append(ledger.of(t))
        return found

    def _by_gradient(self, gradients: list[Any]) -> list[LeafRecord]:
        wanted = {id(g) for g in gradients if g is not None}
        alive = ((r, r.ref()) for r in self.recorder.ledger.records.values())
        return [r for r, t in alive if t is not None and id(private.grad_of(t)) in wanted]
