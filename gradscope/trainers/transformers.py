"""For transformers' Trainer: `Trainer(…, callbacks=[GradscopeCallback()])`."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from gradscope import mark
from gradscope.scope import Scope
from gradscope.trainers._training import Training


class GradscopeCallback(TrainerCallback):
    """Watches `trainer.train()`, and names the steps: "epoch 2, global_step 96", as the trainer's `state` counts.

    report: print at the end what was found, to stderr. options: those of `gradscope.watch` (`on_finding=`,
    `fail_on="error"`, `path=`, …). Where the program is watched already, by `gradscope run` or a `watch()`, only the
    names are given. `scope` is the watch of the newest training; one that an exception ends goes on until the next
    begins, the program ends, or `scope.stop()`.
    """

    def __init__(self, report: bool = True, **options: Any):
        self._training = Training("transformers", report, options)

    @property
    def scope(self) -> Scope | None:
        return self._training.scope

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._training.begin()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._name(state)

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._name(state)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._training.end()

    def _name(self, state: Any) -> None:
        mark(f"epoch {int(state.epoch or 0)}", global_step=state.global_step)
