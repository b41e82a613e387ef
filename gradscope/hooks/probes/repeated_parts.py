"""Finds lists of layers that hold one and the same layer, or one and the same parameters, in several places. Each is
looked at once, at the first backward after its first call."""

from __future__ import annotations

from typing import Any

from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks.recorder.parts import own, parameters

MOST = 16  # that are told of


class RepeatedParts(Hook):
    order = 43

    def install(self) -> None:
        self.seen = 0  # modules with lower numbers were looked at
        self.told = 0
        self.recorder.signals.before_pass.connect(self._before_pass)

    def _before_pass(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        for record, module in self.recorder.modules.since(self.seen):
            if self.told < MOST and issubclass(type(module), (nn.Sequential, nn.ModuleList)):
                self._look(record.id, module, site)
        self.seen = self.recorder.modules.count

    def _look(self, number: int, module: Any, site: int) -> None:
        places: dict[tuple[int, ...], list[tuple[str, Any]]] = {}
        for name, child in own(module, "_modules"):
            held = parameters(child)
            if any(p.dim() > 1 for p in held):
                places.setdefault(tuple(map(id, held)), []).append((name, child))
        for same in places.values():
            if len(same) > 1:
                self.told += 1
                data = {
                    "module": number, "cls": type(same[0][1]).__name__, "names": [name for name, _ in same],
                    "parameters": [self.recorder.ledger.of(p).id for p in parameters(same[0][1])],
                    "one": all(child is same[0][1] for _, child in same),
                }  # fmt: skip
                self.recorder.emit("repeated_part", site, data)
