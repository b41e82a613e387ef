"""Watches for values that the program keeps from step to step with the graph that a backward pass
has been through, or that none ever goes through: outputs in a list, a score computed of them, actions in a memory of
episodes. Losses are watched in growth.py."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import DisableTorchFunction, grad_fn_of, has_grad_fn
from gradscope.hooks.behind import nodes_behind
from gradscope.hooks.measures.growth import (
    LOOKS,
    MAX_NOTED,
    MAX_WALK,
    MIN_KEPT,
    OUTLIVED,
    apart,
    been_through,
    held,
)
from gradscope.hooks.recorder.values import Live

NEAREST = 200  # nodes looked at for what a pass has freed
MAX_LINES = 3  # told
MAX_ASKED = 20  # passes of a line that are walked, before each hundredth
LARGER = 4  # times that what the graphs have saved is larger than the values, where no pass goes through them
SAMPLE = 24  # values of a line whose graphs are walked for those of another line


class KeptValues(Hook):
    order = 86  # after the losses

    def install(self) -> None:
        self.passes = 0
        self.ended = False
        self.seen: set[Live] = set()
        self.noted: dict[int, list[tuple[Live, int]]] = {}  # site → (value, steps until then)
        self.kept: dict[int, tuple[int, int, int, bool]] = {}  # site → (values, nodes, bytes, numbers)
        # of `kept`, those that no pass goes through → of how many steps they are
        self.unused: dict[int, int] = {}
        self.oldest: dict[int, int] = {}  # site → steps before the first one kept
        # sites of values that a pass went through when they had been found to be unused
        self.used: set[int] = set()
        self.asked: Counter[int] = Counter()  # passes of a line that were walked for those
        self.recorder.signals.before_pass.connect(self._before_pass)
        self.recorder.signals.before_expected_pass.connect(self._expected)
        self.recorder.signals.before_end.connect(self._tell)

    def _before_pass(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        self._expected(roots, args, site, accumulate, frame)
        if not accumulate:
            return
        self.passes += 1
        if self.passes in LOOKS and self.noted:
            self._look()
        if self.passes <= MAX_NOTED:
            self._note()
        else:
            self.seen.clear()

    def _expected(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        """Whether this pass is what such values were kept for: the first of a line may come after many steps."""
        if not self.unused:
            return
        self.asked[site] += 1
        if self.asked[site] > MAX_ASKED and self.asked[site] % 100:
            return
        with DisableTorchFunction():
            begun = [grad_fn_of(t) for t in roots if isinstance(t, torch.Tensor) and has_grad_fn(t)]
            behind = set(nodes_behind(begun, MAX_WALK))
            for kept in list(self.unused):
                if any(grad_fn_of(t) in behind for t in self._alive(kept)):
                    self._forget(kept)
                    self.used.add(kept)

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
        with DisableTorchFunction():
            whole = [site for site in list(self.noted) if self._look_at(site) and site not in self.used]
            found = {site: self._alive(site) for site in whole}
            whole = _not_behind_others(found)[:MAX_LINES]
            del found  # who else holds them is asked
            for site in whole:
                if self._is_held(site):
                    self._look_at_unused(site)

    def _look_at(self, site: int) -> bool:
        """Whether these are values of many steps, whose graph no pass has freed."""
        past = self._past(site)
        alive = [t for t, _ in past if t is not None and has_grad_fn(t)]
        if len(past) >= MIN_KEPT and not alive:
            del self.noted[site]  # as nearly all values are
        elif len(alive) < len(past):
            if not self.ended:  # it was a cycle of references that nothing had collected yet
                self._forget(site)
        elif len({number for _, number in past}) < MIN_KEPT:
            return False
        elif been_through(alive[0], NEAREST):
            self._forget(site)
            if apart(alive) >= MIN_KEPT:
                self._keep(site, alive, held(alive), past[0][1])
        else:
            return bool(self.recorder.steps - past[0][1] > OUTLIVED)
        return False

    def _past(self, site: int) -> list[tuple[Any, int]]:
        """(value, None where it is gone; steps until then) of what a line made in the steps that are over."""
        steps = self.recorder.steps
        return [(entry(), number) for entry, number in self.noted.get(site, ()) if number < steps]

    def _alive(self, site: int) -> list[Any]:
        return [t for t, _ in self._past(site) if t is not None]

    def _is_held(self, site: int) -> bool:
        """Whether the program holds the first of them, and not only the graph of another value, which has saved it."""
        for entry, _ in self.noted[site]:
            t = entry()
            if t is not None:
                return bool(gc.get_referrers(t))
        return False

    def _look_at_unused(self, site: int) -> None:
        alive = self._alive(site)
        nodes, size = held(alive)
        if size > LARGER * sum(t.numel() * t.element_size() for t in alive) and apart(alive) >= MIN_KEPT:
            numbers = {number for _, number in self._past(site)}
            self._keep(site, alive, (nodes, size), min(numbers))
            self.unused[site] = len(numbers)

    def _keep(self, site: int, alive: list[Any], held_by: tuple[int, int], oldest: int) -> None:
        self.kept[site] = (len(alive), *held_by, alive[0].dim() == 0)
        self.oldest[site] = oldest

    def _forget(self, site: int) -> None:
        self.kept.pop(site, None)
        self.unused.pop(site, None)

    def _tell(self) -> None:
        """Once it is known that they stayed."""
        self.ended = True  # what a function kept is gone by now
        self._look()
        most = sorted(self.kept.items(), key=lambda item: -item[1][1])[:MAX_LINES]
        for site, (length, nodes, size, numbers) in most:
            data = {
                "site": site, "length": length, "nodes": nodes, "bytes": size, "how": "values", "first": [],
                "numbers": numbers, "unused": self.unused.get(site, 0), "step": self.oldest[site] + 1,
            }  # fmt: skip
            self.recorder.emit("keeps_graph", site, data)


def _not_behind_others(found: dict[int, list[Any]]) -> list[int]:
    """The sites of values that the program itself keeps: others live since the graphs of these have saved them."""
    behind = {
        site: set(nodes_behind(map(grad_fn_of, alive[:SAMPLE]), MAX_WALK)) for site, alive in found.items()
    }
    return [
        site
        for site, alive in found.items()
        if not any(grad_fn_of(alive[0]) in nodes for other, nodes in behind.items() if other != site)
    ]
