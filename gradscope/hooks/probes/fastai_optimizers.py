"""fastai's own optimizers, which are no `torch.optim.Optimizer`: their steps, and their `zero_grad`, which fills in
place. Its `OptimWrapper` holds one of torch's, which is seen without this."""

from __future__ import annotations

import sys
from typing import Any

from gradscope.hooks import Hook


class FastaiOptimizers(Hook):
    order = 31  # after torch's

    def install(self) -> None:
        self.found = False
        self._look()
        self.recorder.signals.before_call.connect(self._look)  # a program imports it when it has begun

    def _look(self, *_: Any) -> None:
        if self.found or (cls := getattr(sys.modules.get("fastai.optimizer"), "Optimizer", None)) is None:
            return
        self.found = True
        services = self.recorder.services
        self.patch(cls, "step", services.step_of_others(cls.step))
        self.patch(cls, "zero_grad", services.clearing_of_others(cls.zero_grad))
