"""For Ignite: `GradscopeHandler().attach(trainer)`."""

from __future__ import annotations

from typing import Any

from ignite.engine import Engine, Events

from gradscope import mark
from gradscope.scope import Scope
from gradscope.trainers._training import Training


class GradscopeHandler:
    """Watches `trainer.run()`, and names the steps: "epoch 2, iteration 97", as the engine's `state` counts.

    report: print at the end what was found, to stderr. options: those of `gradscope.watch` (`on_finding=`,
    `fail_on="error"`, `path=`, …). Where the program is watched already, by `gradscope run` or a `watch()`, only the
    names are given. `scope` is the watch of the newest run; one that an exception ends goes on until the next begins,
    the program ends, or `scope.stop()`.
    """

    def __init__(self, report: bool = True, **options: Any):
        self._training = Training("ignite", report, options, "GradscopeHandler")

    @property
    def scope(self) -> Scope | None:
        return self._training.scope

    def attach(self, engine: Engine) -> None:
        """Has the runs of an engine watched: of the one that trains."""
        engine.add_event_handler(Events.STARTED, self._begin)
        engine.add_event_handler(Events.ITERATION_STARTED, self._name)
        engine.add_event_handler(Events.COMPLETED, self._end)

    def _begin(self, engine: Engine) -> None:
        self._training.begin()

    def _end(self, engine: Engine) -> None:
        self._training.end()

    def _name(self, engine: Engine) -> None:
        mark(f"epoch {engine.state.epoch}", iteration=engine.state.iteration)
