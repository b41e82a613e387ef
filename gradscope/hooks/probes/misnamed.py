"""Finds attributes that look as if they froze something and do nothing: `requires_grad` set on a
module, or misspelled on a tensor. Looked for at the first two passes after each was first seen, at an
optimizer's first step (what was trained before is tuned now), at the first pass from a place that had none,
at the 4th, 8th, 16th pass and so on (a part of the training may begin in the same loop), and at the end:
what lives in a function is gone by then."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks.recorder.parts import parameters

MEANT = "requires_grad"


class Misnamed(Hook):
    order = 42

    def install(self) -> None:
        self.told: set[tuple[str, int]] = set()
        self.last = 0  # site of the last pass: what is found at the end was so when it ran
        self.modules = _Newest(self.recorder.modules.records)
        self.leaves = _Newest(self.recorder.ledger.records)
        self.stepped: set[int] = set()  # optimizers
        self.sites: set[int] = set()  # of passes
        self.passes = 0
        self.recorder.signals.before_pass.connect(self._before_pass)
        self.recorder.signals.before_step.connect(self._before_step)
        self.recorder.signals.before_end.connect(self._look_at_all)

    def _before_pass(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        self.last = site
        self.passes += 1
        if site not in self.sites or self.passes & (self.passes - 1) == 0:
            self.sites.add(site)
            self._look_at_all()
        self._look(self.modules.twice(), self.leaves.twice(), site)

    def _before_step(self, optimizer: Any, number: int, leaves: Any) -> None:
        if number not in self.stepped:
            self.stepped.add(number)
            self._look_at_all()

    def _look_at_all(self) -> None:
        if self.last:
            recorder = self.recorder
            self._look(recorder.modules.records.values(), recorder.ledger.records.values(), self.last)

    def _look(self, modules: Iterable[Any], leaves: Iterable[Any], site: int) -> None:
        recorder = self.recorder
        for module in list(modules):
            held = module.ref()
            if held is None:
                continue
            for name in _misnamed(held):
                trained = [recorder.ledger.of(p).id for p in parameters(held) if p.requires_grad]
                self._tell("module", module.id, name, trained, site)
        for leaf in list(leaves):
            t = leaf.ref()
            if t is None:
                continue
            for name in _misnamed(t):
                if name != MEANT and t.requires_grad:
                    self._tell("tensor", leaf.id, name, [leaf.id], site)

    def _tell(self, holder: str, id: int, name: str, trained: list[int], site: int) -> None:
        if trained and (holder, id) not in self.told:
            self.told.add((holder, id))
            self.recorder.emit(
                "misnamed", site, {"holder": holder, "id": id, "name": name, "parameters": trained}
            )


class _Newest:
    """Records that were not there at the last look but one: each is given twice."""

    def __init__(self, records: dict[int, Any]):
        self.records = records
        self.known = -1  # the newest number
        self.before: list[Any] = []

    def twice(self) -> list[Any]:
        new: list[Any] = []
        for record in reversed(self.records.values()):
            if record.id <= self.known:
                break
            new.append(record)
        if new:
            self.known = new[0].id
        found, self.before = [*self.before, *new[::-1]], new[::-1]
        return found


def _misnamed(holder: Any) -> Iterator[str]:
    """Attributes that are False and named like `requires_grad`."""
    for name, value in list(vars(holder).items()):
        if value is False and not name.startswith("_") and _close(name):
            yield name


def _close(name: str) -> bool:
    return name == MEANT or bool(difflib.get_close_matches(name, [MEANT], n=1, cutoff=0.85))
