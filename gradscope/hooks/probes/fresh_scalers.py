"""Watches gradient scalers that begin with their first scale beside an optimizer that goes on from a loaded state: how
many of their first updates lowered it, each for a step that was left out."""

from __future__ import annotations

import functools
import sys
import weakref
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks._torch import GradScaler
from gradscope.hooks.recorder.values import can_be_asked

UPDATES = 64  # that are looked at


@dataclass
class _Fresh:
    """`load`, `step`: sites; `scale`: after the last update looked at; `before`: what another scaler had come to before
    the load, None where none had been updated."""

    optimizer: int
    load: int
    step: int
    before: float | None
    first: float | None = None
    scale: float | None = None
    updates: int = 0
    lowered: int = 0

    def look(self, scale: torch.Tensor) -> None:
        now = float(scale)
        if self.first is None:
            self.first = now
        else:
            self.updates += 1
            self.lowered += self.scale is not None and now < self.scale
        self.scale = now


class FreshScalers(Hook):
    order = 34  # behind the scalers: what they patch is patched again

    def install(self) -> None:
        # by the optimizer whose state was loaded, until a scaler steps it: the site
        self.loaded: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.met: weakref.WeakSet[Any] = weakref.WeakSet()  # scalers that have stepped, or were given a state
        self.fresh: weakref.WeakKeyDictionary[Any, _Fresh] = weakref.WeakKeyDictionary()
        self.told: list[_Fresh] = []
        self.last: float | None = None
        self.patch(GradScaler, "load_state_dict", self._load(vars(GradScaler)["load_state_dict"]))
        self.patch(GradScaler, "step", self._step(vars(GradScaler)["step"]))
        self.patch(GradScaler, "update", self._update(vars(GradScaler)["update"]))
        self.recorder.signals.optimizer_loaded.connect(self._optimizer_loaded)
        self.recorder.signals.before_end.connect(self._tell)

    def _optimizer_loaded(self, optimizer: Any, site: int) -> None:
        if vars(optimizer).get("state"):
            self.loaded[optimizer] = site

    def _load(self, real: Any) -> Any:
        @functools.wraps(real)
        def load_state_dict(scaler: Any, /, *args: Any, **kwargs: Any) -> Any:
            result = real(scaler, *args, **kwargs)
            try:
                if self.recorder.mine():
                    self.met.add(scaler)
                    self.fresh.pop(scaler, None)
            except BaseException as error:
                self.recorder.fault("recording a gradient scaler", error)
            return result

        return load_state_dict

    def _step(self, real: Any) -> Any:
        recorder = self.recorder

        @functools.wraps(real)
        def step(scaler: Any, /, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                if recorder.mine() and scaler.is_enabled() and scaler not in self.met:
                    self.met.add(scaler)
                    load = self.loaded.get(optimizer)
                    if load is not None and can_be_asked(scaler._scale, 1):
                        site = recorder.sites.current(sys._getframe(1))
                        number = recorder.services.optimizer_number(optimizer, site)
                        fresh = self.fresh[scaler] = _Fresh(number, load, site, self.last)
                        self.told.append(fresh)
                        recorder.arrivals.when_here((scaler._scale,), fresh.look)
            except BaseException as error:
                recorder.fault("recording a gradient scaler", error)
            return real(scaler, optimizer, *args, **kwargs)

        return step

    def _update(self, real: Any) -> Any:
        recorder = self.recorder

        @functools.wraps(real)
        def update(scaler: Any, /, *args: Any, **kwargs: Any) -> Any:
            result = real(scaler, *args, **kwargs)
            try:
                if recorder.mine() and scaler.is_enabled() and can_be_asked(scaler._scale, 1):
                    fresh = self.fresh.get(scaler)
                    if fresh is not None and fresh.updates < UPDATES:
                        recorder.arrivals.when_here((scaler._scale,), fresh.look)
                    elif fresh is None and not self.loaded and scaler._scale.is_cpu:
                        with private.aside():
                            self.last = float(scaler._scale)
            except BaseException as error:
                recorder.fault("recording a gradient scaler", error)
            return result

        return update

    def _tell(self) -> None:
        for fresh in self.told:
            if fresh.lowered and fresh.first is not None:
                data = {
                    "optimizer": fresh.optimizer, "step": fresh.step, "first": fresh.first, "last": fresh.scale,
                    "updates": fresh.updates, "lowered": fresh.lowered, "before": fresh.before,
                }  # fmt: skip
                self.recorder.emit("scaler_anew", fresh.load, data)
