"""How far the ratio of two probabilities, as PPO clips it, gets from 1, and whether its advantages come in several
steps of one policy. A `clamp` with bounds on both sides of 1 is looked at until its input differs from 1: in the first
step of a batch it is 1, in the next no more."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.behind import nodes_behind
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Unbroken
from gradscope.hooks.recorder.values import can_be_asked

NEAR = 2e-6
MAX_ELEMENTS = 100_000
MAX_VALUES = 20_000  # of advantages that are remembered
MAX_SITES = 16
MAX_NODES = 500  # behind a ratio
KNOWN_AGAIN = 0.9  # of the advantages of a call
DIFFERENT = 4  # of them, at least


class Ratios(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.one = Unbroken(MAX_SITES)
        # a policy, known by one of its parameters, and an advantage → the step before which it came first
        self.values: dict[tuple[int, float], int] = {}
        # the result of the last call, by weak reference, its site, and the policy
        self.clipped: tuple[Any, int, int] | None = None
        self.recorder.functions.follow(["clamp", "clip"], self._clamp)
        self.recorder.functions.follow(["mul"], self._weighed)
        self.recorder.signals.before_end.connect(self._tell)

    def _clamp(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "min", "max"), args, kwargs)
        low, high = given.get("min"), given.get("max")
        ratio: Any = given.get("input")
        if not isinstance(low, (int, float)) or not isinstance(high, (int, float)) or not 0 < low < 1 < high:
            return
        if not getattr(ratio, "requires_grad", False):
            return
        site = self.recorder.sites.current(frame)
        if not self.one.is_open(site):
            return
        if not can_be_asked(ratio, MAX_ELEMENTS) or ratio.numel() == 1:
            return
        self.clipped = weakref.ref(result), site, self._policy(ratio)
        self.recorder.arrivals.when_here((ratio,), lambda ratio: self._count(site, ratio))

    def _policy(self, ratio: torch.Tensor) -> int:
        """A parameter that the ratio was computed with; -1 where none is near."""
        for node in nodes_behind([private.grad_fn_of(ratio)], MAX_NODES):
            if private.accumulates(node):
                return int(self.recorder.ledger.of(node.variable).id)
        return -1

    def _count(self, site: int, ratio: torch.Tensor) -> None:
        away = float((ratio - 1).abs().max())
        if away <= NEAR:
            self.one.hold(site, again=0)
        else:
            self.one.end(site)

    def _weighed(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.clipped is None or len(args) != 2:
            return
        clipped, site, policy = self.clipped
        mine = clipped()
        if mine is None or not any(one is mine for one in args):
            return
        self.clipped = None
        weights = args[1] if args[0] is mine else args[0]
        if site in self.one.broken or not can_be_asked(weights, MAX_ELEMENTS):
            return
        if weights.requires_grad or weights.numel() == 1:
            return
        steps = self.recorder.steps
        self.recorder.arrivals.when_here(
            (weights,), lambda weights: self._compare(site, policy, weights, steps)
        )

    def _compare(self, site: int, policy: int, weights: torch.Tensor, steps: int) -> None:
        told = self.one.told.get(site)
        if told is None:
            return
        values = set(weights.flatten()[:MAX_VALUES].tolist())
        if len(values) < DIFFERENT or 2 * len(values) < min(weights.numel(), MAX_VALUES):
            return
        before = sum(self.values.get((policy, value), steps) < steps for value in values)
        told["again"] += before >= KNOWN_AGAIN * len(values)
        if len(self.values) > MAX_VALUES:
            self.values.clear()
        for value in values:
            self.values.setdefault((policy, value), steps)

    def _tell(self) -> None:
        for site, found in self.one.told.items():
            if found["again"]:
                self.recorder.emit("ratio_of_one", site, found)
