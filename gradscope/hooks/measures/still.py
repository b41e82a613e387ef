"""Which parameters that no optimizer holds have kept their numbers, up to the rounding of a mean of several copies of
them, since the steps of the beginning: also while nothing else looked, and where `.data` was written. A few elements
of one parameter of each root are compared before every step, those of all where it has stayed, ever more seldom; on
the CPU only. What moves is left alone."""

from __future__ import annotations

from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import are_same, few_of

LOOKS = (3, 10)  # steps of the run before which parameters are taken down
MOST = 500  # parameters
ROUNDING = 1e-6
EACH = 2000  # steps; then every sixteenth


class Still(Hook):
    order = 38

    def install(self) -> None:
        self.count = 0
        self.site = 0  # of the last step
        self.kept: dict[int, list[tuple[LeafRecord, Any]]] = {}  # by root: the smallest stands first
        self.taken: set[int] = set()
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_end.connect(self._tell)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        self.count += 1
        with private.aside():
            if self.count in LOOKS:
                self._take_down()
            elif self.kept and (self.count < EACH or not self.count % 16):
                self._compare()

    def _take_down(self) -> None:
        for record in list(self.recorder.ledger.records.values()):
            if record.declared and not record.optimizers and record.id not in self.taken:
                some = few_of(record.ref())
                if some is not None and len(self.taken) < MOST:
                    self.taken.add(record.id)
                    self.kept.setdefault(record.root, []).append((record, some))
        for held in self.kept.values():
            held.sort(key=lambda one: int(one[1].numel()))

    def _compare(self) -> None:
        """The first of each root; all of them now and then, and where the first has moved."""
        whole = not self.count & (self.count - 1)
        for root, held in list(self.kept.items()):
            alive = [one for one in held if one[0].ref() is not None]
            if not alive:
                continue  # what became of them is known no more: they stay as they were
            if whole or not _stayed(*alive[0]):
                stayed = [one for one in alive if _stayed(*one)]
                self.taken |= {record.id for record, _ in alive}
                if stayed:
                    self.kept[root] = stayed
                else:
                    del self.kept[root]

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        self.site = site

    def _tell(self) -> None:
        with private.aside():
            still = [
                record.id
                for held in self.kept.values()
                for record, old in held
                if record.ref() is None or _stayed(record, old)
            ]
        if still:
            self.recorder.emit("still", self.site, {"parameters": still})


def _stayed(record: LeafRecord, old: Any) -> bool:
    now = few_of(record.ref())
    if are_same(now, old):
        return True
    return now is not None and now.dtype == old.dtype and _as_good_as(now, old)


def _as_good_as(now: Any, old: Any) -> bool:
    return now.shape == old.shape and bool(((now - old).abs() <= ROUNDING * old.abs()).all())
