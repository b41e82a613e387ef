"""Steps of torch's own optimizers whose hooks torch's compiler has taken off: in 2.2 it does so when it is first asked
for."""

from __future__ import annotations

import sys
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private


class UnhookedSteps(Hook):
    order = 31  # after the optimizers

    def install(self) -> None:
        self.found = False
        self._look()
        self.recorder.signals.before_call.connect(self._look)

    def _look(self, *_: Any) -> None:
        if self.found or "torch._dynamo" not in sys.modules or not private.has_lost_hooks(torch.optim.SGD):
            return
        self.found = True
        for cls in vars(torch.optim).values():
            if isinstance(cls, type) and "step" in vars(cls) and private.has_lost_hooks(cls):
                self.patch(cls, "step", self.recorder.services.step_of_others(vars(cls)["step"]))
