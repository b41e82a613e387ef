"""Watches gradient clipping, below the public functions: programs import those by name."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import measurable
from gradscope.hooks.variables import variables

CLAMPS = ("clamp_", "clip_", "clamp_min_", "clamp_max_")


class Clipping(Hook):
    order = 35

    def install(self) -> None:
        clip = private.clip_grad
        if private.CLIPS_BELOW:
            self.patch(clip, "_clip_grads_with_norm_", self._by_norm(clip._clip_grads_with_norm_))
        else:
            self._within(clip, "clip_grad_norm_")
        self.patch(
            clip,
            "_group_tensors_by_device_and_dtype",
            self._by_value(clip._group_tensors_by_device_and_dtype),
        )

        self.by_hand: dict[int, bool] = {}  # by line: whether it only ever met gradients that steps had used
        self.places: dict[int, Any] = {}  # where the gradients lie in memory: of which parameters
        self.told: set[int] = set()  # lines that were told of since the last step
        self.recorder.functions.follow(CLAMPS, self._clamped)
        self.recorder.signals.after_step.connect(self._after_step)

    def _after_step(self, optimizer: Any, number: int, site: int) -> None:
        self.places.clear()
        self.told.clear()

    def _clamped(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """A gradient that the program itself limits in place. Only a line that does so behind the step is told of:
        one that does it in time is no call of a clip."""
        t = args[0] if args else None
        if (
            type(t) is not torch.Tensor
            or t.requires_grad
            or not measurable(t)
            or not self.recorder.ledger.records
        ):
            return
        site = self.recorder.sites.current(frame)
        if site in self.told or self.by_hand.get(site) is False:
            return
        with private.aside():
            if not self.places:
                alive = ((r, r.ref()) for r in self.recorder.ledger.records.values())
                held = ((r, private.grad_of(p)) for r, p in alive if p is not None)
                self.places = {g.data_ptr(): r for r, g in held if g is not None and measurable(g)}
            record = self.places.get(t.data_ptr())
        if record is None or record.state not in ("used", "stale", "fresh"):
            return
        self.told.add(site)
        self.by_hand[site] = late = record.state == "used"
        if late:
            self._note("value", lambda: [record], 1, None, frame)

    def _by_norm(self, real: Any) -> Any:
        def _clip_grads_with_norm_(parameters: Any, max_norm: Any, *args: Any, **kwargs: Any) -> Any:
            if self.recorder.mine():
                if not isinstance(parameters, (torch.Tensor, list)):
                    parameters = list(parameters)  # a generator gives them once
                tensors = parameters if isinstance(parameters, list) else [parameters]
                self._note("norm", lambda: self._of(tensors), len(tensors), max_norm, sys._getframe(1))
            return real(parameters, max_norm, *args, **kwargs)

        return _clip_grads_with_norm_

    def _within(self, module: Any, name: str) -> None:
        """Before 2.6 all is done in the public function: its code is replaced, so that it is met by
        whatever name the program has it."""
        function = inspect.unwrap(getattr(module, name))
        code = function.__code__
        real = FunctionType(code, module.__dict__, name, function.__defaults__, function.__closure__)
        real.__kwdefaults__ = function.__kwdefaults__
        module.gradscope_clips = self._by_norm(real)
        function.__code__ = _clips.__code__.replace(co_name=name, co_qualname=name)

        def undo() -> None:
            function.__code__ = code
            del module.gradscope_clips

        self._undo.append(undo)

    def _by_value(self, real: Any) -> Any:
        """`clip_grad_value_` groups its gradients first; the other clips are seen by their norm."""

        def _group_tensors_by_device_and_dtype(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            if frame.f_code.co_name == "clip_grad_value_" and self.recorder.mine():
                self._note(
                    "value",
                    lambda: self._by_gradient(tensors[0]),
                    len(tensors[0]),
                    lambda: variables(frame).get("clip_value"),
                    frame,
                )
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
                limit = limit() if isinstance(limit, FunctionType) else limit
                recorder.emit(
                    "clip", site,
                    {
                        "call": call, "given": given, "states": recorder.ledger.states(records)[0],
                        "limit": float(limit) if isinstance(limit, (int, float)) else None,
                    },
                )  # fmt: skip
        except BaseException as error:
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


def _clips(*args: Any, **kwargs: Any) -> Any:
    """Stands in for the code of a clip; the name is one of the module that it is put in."""
    return gradscope_clips(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821
