"""Sums over all places of sequences that are divided by the number of those that a mask counts, and how much of them
stands where the mask is false: at the first calls of each line."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.measures.zero_ones import ends
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import can_be_asked

CALLS = 8  # of each sum that are looked at
SITES = 32
MOST = 1 << 18  # elements
HELD = 8  # sums of a step, and counts
RESULTS = 4096  # of one of them


@dataclass
class _Sum:
    """What a call has added up: copies of ours, until the step."""

    site: int
    results: torch.Tensor  # in a row
    of: torch.Tensor


class UnmaskedSums(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.calls: dict[int, int] = {}  # of the sums at each site
        self.sums: deque[_Sum] = deque(maxlen=HELD)
        self.counts: deque[_Sum] = deque(maxlen=HELD)
        self.found: dict[
            tuple[int, int, int], dict[str, Any]
        ] = {}  # sites of the division, the sum, the count
        self.recorder.functions.follow(["sum"], self._sum)
        self.recorder.functions.follow(["div"], self._divided)
        self.recorder.signals.before_step.connect(self._step)
        self.recorder.signals.before_end.connect(self._tell)

    def _step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        self.sums.clear()
        self.counts.clear()

    def _sum(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        t = args[0] if args else None
        if not isinstance(t, torch.Tensor) or not isinstance(result, torch.Tensor) or t.dim() != 2:
            return
        if t.is_complex() or (t.requires_grad and not t.is_floating_point()) or t.shape[1] < 3:
            return
        site = self.recorder.sites.current(frame)
        calls = self.calls.get(site, 0)
        if calls >= CALLS or (not calls and len(self.calls) >= SITES):
            return
        if not can_be_asked(t, MOST) or not can_be_asked(result, RESULTS):
            return
        self.calls[site] = calls + 1
        keep = self._keep if t.requires_grad else self._count
        self.recorder.arrivals.when_here((t, result), lambda t, result: keep(site, t, result))

    def _keep(self, site: int, t: torch.Tensor, result: torch.Tensor) -> None:
        self.sums.append(_Sum(site, result.flatten().double(), t.clone()))

    def _count(self, site: int, t: torch.Tensor, result: torch.Tensor) -> None:
        if not bool(((t == 0) | (t == 1)).all()) or not (ends(t) or ends(t.flip(1))):
            self.calls[site] = CALLS
            return
        self.counts.append(_Sum(site, result.flatten().double(), t == 1))

    def _divided(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.sums or not self.counts or len(args) != 2:
            return
        above, below = args
        if not getattr(above, "requires_grad", False) or not can_be_asked(above, RESULTS):
            return
        site = self.recorder.sites.current(frame)
        if isinstance(below, torch.Tensor):
            if can_be_asked(below, RESULTS) and not below.is_complex():
                self.recorder.arrivals.when_here(
                    (above, below), lambda above, below: self._compare(site, above, below)
                )
        elif type(below) in (int, float):
            self.recorder.arrivals.when_here(
                (above,), lambda above: self._compare(site, above, torch.tensor(below, device="cpu"))
            )

    def _compare(self, site: int, above: torch.Tensor, below: torch.Tensor) -> None:
        """Which sum is above, by its numbers, and of which mask the count is below."""
        numbers, divisor = above.flatten().double().abs(), below.flatten().double()
        total = next((s for s in reversed(self.sums) if torch.equal(s.results.abs(), numbers)), None)
        counts = [c for c in self.counts if torch.equal(c.results, divisor)]
        if total is None or not counts or any(not torch.equal(c.of, counts[0].of) for c in counts):
            return
        mask, values = counts[0].of, total.of
        if values.shape != mask.shape or not bool((~mask).any()) or not bool(values[mask].any()):
            return  # all that it counts was taken out: its count is the wrong one
        outside = values[~mask].double()
        told = self.found.setdefault(
            (site, total.site, counts[0].site),
            {"calls": 0, "elements": 0, "left_out": 0, "other": 0, "outside": 0.0, "whole": 0.0},
        )
        told["calls"] += 1
        told["elements"] += mask.numel()
        told["left_out"] += outside.numel()
        told["other"] += int((outside != 0).sum())
        told["outside"] += float(outside.abs().sum())
        told["whole"] += float(values.double().abs().sum())

    def _tell(self) -> None:
        for (site, total, count), told in self.found.items():
            outside, whole = told.pop("outside"), told.pop("whole")
            if outside > 0:
                data = {**told, "share": outside / whole, "sum": total, "count": count}
                self.recorder.emit("unmasked_sum", site, data)
