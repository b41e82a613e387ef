"""Names the parameters of modules that are never called: `functional.linear(x, *net.parameters())`, MAML's inner steps.
Modules are learned when they are called; what an optimizer holds of others is looked for at its first step."""

from __future__ import annotations

import sys
from typing import Any

from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.modules import held_modules, module_variables, users_frames
from gradscope.hooks.recorder.parts import parameters


class UncalledModules(Hook):
    order = 42

    def install(self) -> None:
        self.known: set[int] = set()  # numbers of optimizers that were looked at
        self.recorder.signals.before_step.connect(self._before_step)

    def _before_step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        if number in self.known:
            return
        self.known.add(number)
        alone = {id(p) for r in records if not r.registered and type(p := r.ref()) is nn.Parameter}
        if not alone:
            return
        try:
            self._look(alone, sys._getframe(1))
        except BaseException as error:
            self.recorder.fault("naming the parameters of modules that were not called", error)

    def _look(self, alone: set[int], frame: Any) -> None:
        modules, seen = self.recorder.modules, set[int]()
        for known in users_frames(frame, self.recorder.sites.main):
            for _, module in (*module_variables(known), *held_modules(known, seen)):
                own = {id(p) for p in parameters(module)}
                if modules.find(module) is None and not alone.isdisjoint(own):
                    modules.register_root(module, known, self.recorder.sites.current(known))
                    alone -= own
