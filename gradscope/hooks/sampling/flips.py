"""Notes leaves whose `requires_grad` was set while sampling slept: nobody saw the call, but the
flag tells that there was one since the last look."""

from __future__ import annotations

import sys
from types import FrameType

from gradscope.hooks import Hook
from gradscope.hooks._torch import DisableTorchFunction
from gradscope.hooks.recorder.leaf import LeafRecord


class Flips(Hook):
    order = 22

    def install(self) -> None:
        self.flags: dict[int, bool] = {}  # of registered leaves, when sampling went to sleep
        self.optimizers: list[int] = []  # that there were then
        self.recorder.signals.asleep.connect(self._remember)
        self.recorder.signals.awake.connect(self._compare)

    def _remember(self) -> None:
        self.flags = {record.id: flag for record, flag in self._now()}
        self.optimizers = list(self.recorder.optimizers)

    def _compare(self) -> None:
        flipped: dict[bool, list[int]] = {}
        before = {number: self.recorder.optimizers[number] for number in self.optimizers}
        for record, flag in self._now():
            if record.was_grad and not flag:
                record.freeze(self.recorder.passes, before)
            record.was_grad = flag
            if self.flags.get(record.id, flag) is not flag:
                flipped.setdefault(flag, []).append(record.id)
        for to, leaves in flipped.items():
            self.recorder.emit("flipped", self._site(), {"leaves": leaves, "to": to})

    def _now(self) -> list[tuple[LeafRecord, bool]]:
        with DisableTorchFunction():
            leaves = ((r, r.ref()) for r in self.recorder.ledger.records.values() if r.registered)
            return [(record, bool(t.requires_grad)) for record, t in leaves if t is not None]

    def _site(self) -> int:
        """The call of the program's at which it was noticed."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and self.recorder.sites.kind(frame.f_code) == "own":
            frame = frame.f_back
        return self.recorder.sites.current(frame)
