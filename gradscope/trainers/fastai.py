"""For fastai: `Learner(…, cbs=GradscopeCallback())`."""

from __future__ import annotations

from typing import Any

from fastai.callback.core import Callback

from gradscope import mark
from gradscope.scope import Scope
from gradscope.trainers._training import Training


class GradscopeCallback(Callback):
    """Watches `learn.fit()` and its like, and names the steps: "epoch 2, train_iter 96", as the learner counts.

    report: print at the end what was found, to stderr. options: those of `gradscope.watch` (`on_finding=`,
    `fail_on="error"`, `path=`, …). Where the program is watched already, by `gradscope run` or a `watch()`, only the
    names are given. `scope` is the watch of the newest fit.
    """

    def __init__(self, report: bool = True, **options: Any):
        super().__init__()
        self._training = Training("fastai", report, options)

    @property
    def scope(self) -> Scope | None:
        return self._training.scope

    def before_fit(self) -> None:
        self._training.begin()

    def before_train(self) -> None:
        self._name()

    def before_batch(self) -> None:
        if self.training:
            self._name()

    def before_validate(self) -> None:
        mark(f"validation in epoch {self.learn.epoch}")

    def after_fit(self) -> None:
        self._training.end()

    def _name(self) -> None:
        mark(f"epoch {self.learn.epoch}", train_iter=self.learn.train_iter)
