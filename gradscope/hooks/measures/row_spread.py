"""How much the rows of what two trained branches give differ, where a loss compares both: at the first call of its line
and at the last that was looked at."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.losses import OF_NUMBERS
from gradscope.hooks.recorder.values import can_be_asked

COSINES = ("cosine_similarity", "normalize")
FIRST = 32  # calls of a line that are looked at in any case, then ever more rarely
MAX_SITES = 64
ROWS = 8
MAX_ELEMENTS = 1_000_000


class RowSpread(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.told: dict[int, dict[str, Any]] = {}
        self.recorder.functions.follow((*OF_NUMBERS, *COSINES), self._compared)
        self.recorder.signals.before_end.connect(self._tell)

    def _compared(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = [one for one in args[:2] if isinstance(one, torch.Tensor)]
        if not given or not all(one.requires_grad and one.dim() == 2 for one in given):
            return
        if len({one.shape for one in given}) != 1 or len(given[0]) < ROWS or given[0].shape[1] < 2:
            return
        site = self.recorder.sites.current(frame)
        if not self.looks.due(site) or not all(can_be_asked(one, MAX_ELEMENTS) for one in given):
            return
        self.recorder.arrivals.when_here(tuple(given), lambda *there: self._measure(site, name, there))

    def _measure(self, site: int, name: str, given: tuple[torch.Tensor, ...]) -> None:
        shares = [_share(one.double(), of_directions=name in COSINES) for one in given]
        told = self.told.setdefault(site, {"name": name, "first": max(shares), "calls": 0})
        told["last"] = max(shares)
        told["rows"] = len(given[0])
        told["calls"] += 1

    def _tell(self) -> None:
        for site, data in self.told.items():
            self.recorder.emit("row_spread", site, data)


def _share(rows: torch.Tensor, *, of_directions: bool) -> float:
    """Which share of their squares the rows owe to what differs from one to the next: 0 where all are alike."""
    if of_directions:
        rows = rows / rows.norm(dim=1, keepdim=True).clamp(min=1e-12)
    whole = float(rows.square().sum(dim=1).mean())
    mean = float(rows.mean(dim=0).square().sum())
    return max(0.0, 1 - mean / whole) if whole > 0 else 0.0
