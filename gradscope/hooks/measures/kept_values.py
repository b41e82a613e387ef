"""Watches for values that the program keeps from step to step with the graph that a backward pass
has been through: outputs in a list, a score computed of them. Losses are watched in growth.py."""

from __future__ import annotations

from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks._torch import DisableTorchFunction, has_grad_fn
from gradscope.hooks.measures.growth import LOOKS, MAX_NOTED, MIN_KEPT, apart, been_through, held
from gradscope.hooks.recorder.values import Live

MAX_WALK = 200  # nodes looked at for what a pass has freed
MAX_LINES = 3  # told


class KeptValues(Hook):
    order = 86  # after the losses

    def install(self) -> None:
        self.passes = 0
        self.ended = False
        self.seen: set[Live] = set()
        self.noted: dict[int, list[tuple[Live, int]]] = {}  # site → (value, steps until then)
        self.kept: dict[int, tuple[int, int, int, bool]] = {}  # site → (values, nodes, bytes, numbers)
        self.oldest: dict[int, int] = {}  # site → steps before the first one kept
        self.recorder.signals.before_pass.connect(self._before_pass)
        self.recorder.signals.before_end.connect(self._tell)

    def _before_pass(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        if not accumulate:
            return
        self.passes += 1
        if self.passes in LOOKS and self.noted:
            self._look()
        if self.passes <= MAX_NOTED:
            self._note()
        else:
            self.seen.clear()

    def _note(self) -> None:
        """Remembers every value with a graph that came since the last pass."""
        steps = self.recorder.steps
        for entry in list(self.recorder.live.values()):
            if entry in self.seen:
                continue
            t = entry()
            if t is not None and entry.leaf is None and has_grad_fn(t):
                self.seen.add(entry)
                self.noted.setdefault(entry.site, []).append((entry, steps))

    def _look(self) -> None:
        steps = self.recorder.steps
        with DisableTorchFunction():
            for site, found in list(self.noted.items()):
                past = [(entry(), number) for entry, number in found if number < steps]
                alive = [t for t, _ in past if t is not None and has_grad_fn(t)]
                if len(past) >= MIN_KEPT and not alive:
                    del self.noted[site]  # as nearly all values are
                elif len(alive) < len(past):
                    if not self.ended:
                        self.kept.pop(
                            site, None
                        )  # it was a cycle of references that nothing had collected yet
                elif len({number for _, number in past}) < MIN_KEPT:
                    continue
                elif been_through(alive[0], MAX_WALK) and apart(alive) >= MIN_KEPT:
                    self.kept[site] = (len(alive), *held(alive), alive[0].dim() == 0)
                    self.oldest[site] = past[0][1]

    def _tell(self) -> None:
        """Once it is known that they stayed."""
        self.ended = True  # what a function kept is gone by now
        self._look()
        most = sorted(self.kept.items(), key=lambda item: -item[1][1])[:MAX_LINES]
        for site, (length, nodes, size, numbers) in most:
            data = {
                "site": site, "length": length, "nodes": nodes, "bytes": size, "how": "values", "first": [],
                "numbers": numbers, "step": self.oldest[site] + 1,
            }  # fmt: skip
            self.recorder.emit("keeps_graph", site, data)
