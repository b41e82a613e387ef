"""For PyTorch Lightning: `Trainer(callbacks=[GradscopeCallback()])`."""

from __future__ import annotations

import sys
from typing import Any

from gradscope import mark
from gradscope.scope import Scope
from gradscope.trainers._training import Training

if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback
else:
    from lightning.pytorch import Callback


class GradscopeCallback(Callback):
    """Watches `fit`, `validate`, `test` and `predict`, and names the steps: "epoch 2, global_step 96", as
    `trainer.current_epoch` and `trainer.global_step` count.

    report: print at the end what was found, to stderr. options: those of `gradscope.watch` (`on_finding=`,
    `fail_on="error"`, `path=`, …). Where the program is watched already, by `gradscope run` or a `watch()`, only the
    names are given. `scope` is the watch of the newest call.
    """

    def __init__(self, report: bool = True, **options: Any):
        super().__init__()
        self._training = Training(type(self).__mro__[1].__module__.partition(".")[0], report, options)

    @property
    def scope(self) -> Scope | None:
        return self._training.scope

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._training.begin()
        mark(stage)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        mark(f"epoch {trainer.current_epoch}", global_step=trainer.global_step)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        mark("sanity check" if trainer.sanity_checking else f"validation in epoch {trainer.current_epoch}")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.training:
            self.on_train_epoch_start(trainer, pl_module)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._training.end(exception)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._training.end()
