"""Lets sampling sleep on where a model is called without gradients at every step: a teacher, a target network.

Such calls wake it otherwise, since an evaluation is no part of the step that was looked at. These were.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NamedTuple

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.sampling.places import place_of

OFTEN = 4  # steps from one call to the next, at most: an evaluation comes less often


class _Known(NamedTuple):
    last: int  # step of the last call that was looked at
    apart: int  # steps from the one before to it


class QuietCalls(Hook):
    order = 22

    def install(self) -> None:
        self.known: dict[int, _Known] = {}
        self.slept_at = 0
        self.recorder.signals.before_call.connect(self._called)
        self.recorder.signals.asleep.connect(self._asleep)
        self.recorder.services.at_every_step = self._at_every_step

    def _called(self, module: Any, record: ModuleRecord, site: int) -> None:
        if torch.is_grad_enabled():
            return
        place, now = place_of(sys._getframe(2)), self.recorder.steps
        known = self.known.get(place)
        if known is None or now > known.last:
            self.known[place] = _Known(now, now - known.last if known is not None else OFTEN + 1)

    def _asleep(self) -> None:
        self.slept_at = self.recorder.steps

    def _at_every_step(self, caller: FrameType) -> bool:
        known = self.known.get(place_of(caller))
        return known is not None and known.apart <= OFTEN and known.last + OFTEN >= self.slept_at
