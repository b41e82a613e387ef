"""Notes leaves whose `requires_grad` was set while sampling slept: nobody saw the call, but the
flag tells that there was one since the last look."""

from __future__ import annotations

import sys
from types import FrameType

from gradscope.hooks import Hook
from gradscope.hooks._torch import DisableTorchFunction


class Flips(Hook):
    order = 22

    def install(self) -> None:
        self.recorder.on_wake.append(self._look)

    def _look(self) -> None:
        flipped: dict[bool, list[int]] = {}
        with DisableTorchFunction():
            for record in self.recorder.ledger.records.values():
                t = record.ref()
                if t is not None and record.registered and bool(t.requires_grad) != record.was_grad:
                    record.was_grad = not record.was_grad
                    flipped.setdefault(record.was_grad, []).append(record.id)
        for to, leaves in flipped.items():
            self.recorder.emit("flipped", self._site(), {"leaves": sorted(leaves), "to": to})

    def _site(self) -> int:
        """The call of the program's at which it was noticed."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and self.recorder.sites.kind(frame.f_code) == "own":
            frame = frame.f_back
        return self.recorder.sites.current(frame)
