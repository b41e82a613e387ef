"""Lets sampling sleep through what is computed without gradients again and again between two steps: an agent that
collects data, an evaluation of many batches.

The first of them is looked at as a whole, up to the step behind it: what becomes of its results is known then. Of a
later one, whose calls come from the same places, a few rounds are looked at, and then a few of every so many. A call
with gradients, or from any other place, wakes it.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.sampling.places import place_of

LONG = 64  # equal rounds in a row of the first one
LOOKS = 12  # of a later one, before it sleeps
AGAIN = 4  # when it wakes after so many calls:
CALLS = 1_000


class Rollouts(Hook):
    order = 23  # after quiet_calls, which it asks first

    def install(self) -> None:
        self.alike = 0  # rounds in a row that were equal
        self.longest = 0  # most of them since the last step
        self.familiar = 0  # of the last rounds, whose calls all came from known places
        self.round: set[int] = set()  # places of its calls without gradients
        self.here: set[int] = set()  # those of all rounds since the last step
        self.known: set[int] = set()  # those of rollouts that were looked at
        self.calls = 0  # that were slept through since it began to rest
        self.slept = 0  # in the run
        self.site = 0  # of the last call that was looked at
        self.often = self.recorder.services.at_every_step
        self.recorder.services.at_every_step = self._sleeps_through
        self.recorder.signals.before_call.connect(self._called)
        self.recorder.signals.segment_ended.connect(self._segment)
        self.recorder.signals.awake.connect(self._awake)
        self.recorder.signals.before_end.connect(self._tell)

    def _called(self, module: Any, record: ModuleRecord, site: int) -> None:
        if not torch.is_grad_enabled():
            self.round.add(place_of(sys._getframe(2)))
            self.site = site

    def _segment(self, is_step: bool, same: bool, count: int) -> None:
        self.here |= self.round
        familiar = bool(self.round) and self.round <= self.known
        self.round.clear()
        if is_step:
            if self.longest >= LONG:
                self.known |= self.here
            self.alike = self.longest = self.familiar = 0
            self.here.clear()
            return
        if not self.recorder.history.recent[-1].looked:
            return
        self.alike = self.alike + 1 if same else 0
        self.longest = max(self.longest, self.alike)
        self.familiar = self.familiar + 1 if same and familiar else 0
        if self.familiar >= LOOKS and not torch.is_grad_enabled():
            self.calls = 0
            self.recorder.resting = self.recorder.services.rest()

    def _sleeps_through(self, caller: FrameType) -> bool:
        """Whether a call from here need not be looked at."""
        if not self.recorder.resting:
            return self.often(caller)
        if self.recorder.modules.current >= 0:  # within the call that it began to rest at
            return True
        self.calls += 1
        return not torch.is_grad_enabled() and self.calls <= CALLS and place_of(caller) in self.known

    def _awake(self) -> None:
        if self.recorder.resting:
            self.recorder.resting = False
            self.slept += self.calls
            self.familiar = LOOKS - AGAIN

    def _tell(self) -> None:
        self._awake()
        if self.slept:
            self.recorder.emit("rested", self.site, {"calls": self.slept})
