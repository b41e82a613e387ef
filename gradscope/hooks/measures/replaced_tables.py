"""Which lines take more entries out of a tensor than it has and then, call by call, out of what they gave themselves in
the call before. Most lines show otherwise in their first or second call, and are not looked at again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks._torch import TensorRef
from gradscope.hooks.recorder.values import has_values

TAKING = ("gather", "index_select", "take", "take_along_dim", "__getitem__")
ENOUGH = (
    3  # calls that took out of what the line had given: after that a call that was not seen changes nothing
)
MOST = 64  # lines


@dataclass
class _Line:
    """What one line took. `last`: what it gave in its last call."""

    site: int
    taken: int
    made: int
    last: TensorRef
    calls: int = 0


class ReplacedTables(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.lines: dict[Any, _Line] = {}  # by place
        self.over: set[Any] = set()  # places that need not be looked at
        self.recorder.functions.follow(TAKING, self._taken)
        self.recorder.signals.before_end.connect(self._tell)

    def _taken(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        place = frame.f_code, frame.f_lasti
        if place in self.over or not args:
            return
        table, line = args[0], self.lines.get(place)
        if not has_values(table) or not has_values(result) or table.requires_grad or not table.dim():
            self.over.add(place)
        elif line is None:
            if result.dim() and result.shape[0] > table.shape[0] and len(self.lines) < MOST:
                site = self.recorder.sites.current(frame)
                self.lines[place] = _Line(site, table.shape[0], result.shape[0], TensorRef(result))
            else:
                self.over.add(place)
        elif line.last() is table:
            line.calls += 1
            line.last = TensorRef(result)
        else:
            self.over.add(place)

    def _tell(self) -> None:
        for line in self.lines.values():
            if line.calls >= ENOUGH:
                data = {"taken": line.taken, "made": line.made, "calls": line.calls}
                self.recorder.emit("replaced_table", line.site, data)
