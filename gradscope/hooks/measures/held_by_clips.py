"""For how many samples the larger of two errors is the one that a clamp holds where it is: no gradient comes from
there. Looked at in the first calls of a clamp, then ever more rarely."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.behind import nodes_behind
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.values import readable

FIRST = 8  # clamps of a line that are looked at in any case, then ever more rarely
PLACES = 16
MOST = 100_000  # elements
LEAST = 8
NEAR = 12  # nodes between a maximum and the clamp


class HeldByClips(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, PLACES)
        # of the last clamp: its node's number, its site, its bound, where it holds its input
        self.clamp: tuple[int, int, float, torch.Tensor] | None = None
        self.found: dict[int, dict[str, Any]] = {}
        self.recorder.functions.follow(["clamp", "clip"], self._clamped)
        self.recorder.functions.follow(["max", "maximum", "fmax"], self._largest)
        self.recorder.signals.before_end.connect(self._tell)

    def _clamped(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "min", "max"), args, kwargs)
        value: Any = given.get("input")
        low: Any = given.get("min")
        high: Any = given.get("max")
        if (
            not isinstance(value, torch.Tensor)
            or not value.requires_grad
            or not isinstance(result, torch.Tensor)
        ):
            return
        plain = isinstance(low, int | float) and isinstance(high, int | float)
        both = isinstance(low, torch.Tensor) and isinstance(high, torch.Tensor)
        if not (plain and low < 0 < high) and not (both and not low.requires_grad and not high.requires_grad):
            return
        if not all(readable(t, MOST) for t in (value, low, high) if isinstance(t, torch.Tensor)):
            return
        if value.numel() < LEAST or (node := private.grad_fn_of(result)) is None:
            return
        site = self.recorder.sites.current(frame)
        if not self.looks.due(site):
            return
        with private.aside(), torch.no_grad():
            bound = float(high) if plain else float((high - low).abs().mean()) / 2
            held = (value < low) | (value > high)
        self.clamp = private.sequence_of(node), site, bound, held

    def _largest(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.clamp is None or len(args) != 2 or kwargs:
            return
        number, clamp, bound, held = self.clamp
        if not all(isinstance(t, torch.Tensor) and t.requires_grad and t.shape == held.shape for t in args):
            return
        if not all(readable(t, MOST) for t in args):
            return
        behind = [self._is_behind(number, t) for t in args]
        if behind[0] == behind[1]:
            return
        self.clamp = None
        place = int(behind[1])
        with private.aside(), torch.no_grad():
            still = int(((args[place] > args[1 - place]) & held).sum())
        told = self.found.setdefault(
            self.recorder.sites.current(frame),
            {"place": place, "clamp": clamp, "bound": bound, "held": 0, "elements": 0, "calls": 0},
        )
        told["calls"] += 1
        told["held"] += still
        told["elements"] += held.numel()

    @staticmethod
    def _is_behind(number: int, t: torch.Tensor) -> bool:
        return any(
            private.sequence_of(node) == number for node in nodes_behind([private.grad_fn_of(t)], NEAR)
        )

    def _tell(self) -> None:
        for site, found in self.found.items():
            if found["held"]:
                self.recorder.emit("held_by_clip", site, found)
