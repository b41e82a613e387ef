"""Which places that draw numbers evenly, as a dropout of the program's own does, run in a module's evaluation as well
as in its training: the module is that of the nearest function whose first argument is one, or the one called. And in
how many of the evaluations the mask that was made of them is the same everywhere: then nothing is left to chance."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks._torch import TensorRef
from gradscope.hooks.recorder.losses import ADDITIONS, ADDITIONS_IN_PLACE
from gradscope.hooks.recorder.parts import in_training
from gradscope.hooks.recorder.sites import kind_of
from gradscope.hooks.recorder.values import can_be_asked
from gradscope.hooks.variables import first_argument

DRAWING = ("rand", "rand_like", "bernoulli", "bernoulli_", "uniform_")
MASKS = ("bernoulli", "bernoulli_")  # what they give is the mask itself
CUTTING = ("lt", "le", "gt", "ge", "floor", "floor_")
MAX_ELEMENTS = 1_000_000
FRAMES = 4  # of the program's, from the draw outwards
CALLS = 200  # of a place whose module is looked for
MOST = 64  # places


class DrawnMasks(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.calls: dict[tuple[Any, int], int] = {}  # by place: code and instruction
        self.seen: dict[tuple[Any, int], dict[str, Any]] = {}  # what is told of it
        self.sites: dict[tuple[Any, int], int] = {}  # of its first call in evaluation
        # What the last draw in an evaluation gave, or a sum with it; and what is told of its place.
        self.drawn: tuple[TensorRef, dict[str, Any]] | None = None
        self.recorder.functions.follow(DRAWING, self._draw)
        self.recorder.functions.follow((*ADDITIONS, *ADDITIONS_IN_PLACE), self._added)
        self.recorder.functions.follow(CUTTING, self._cut)
        self.recorder.signals.before_end.connect(self._tell)

    def _draw(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        place = frame.f_code, frame.f_lasti
        calls = self.calls[place] = self.calls.get(place, 0) + 1
        if (calls > CALLS and calls % 16) or (place not in self.seen and len(self.seen) >= MOST):
            return
        module = self._module(frame)
        if module is None:
            return
        told = self.seen.setdefault(
            place, {"name": name, "module": type(module).__name__, "trained": 0, "evaluated": 0, "whole": 0}
        )
        training = in_training(module)
        if training == torch.is_grad_enabled():
            told["trained" if training else "evaluated"] += 1
            if training:
                return
            if place not in self.sites:
                self.sites[place] = self.recorder.sites.current(frame)
            self.drawn = TensorRef(result), told
            if name in MASKS:
                self._mask(result, told)

    def _added(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """`keep + torch.rand(…)`, which is then rounded down."""
        if self.drawn is not None and self._is_drawn(args):
            self.drawn = TensorRef(result), self.drawn[1]

    def _cut(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.drawn is None or not self._is_drawn(args):
            return
        told, number = self.drawn[1], args[-1]
        self.drawn = None
        if len(args) == 2 and isinstance(number, int | float):
            told["whole"] += not 0 < number < 1
        else:
            self._mask(result, told)

    def _is_drawn(self, args: Any) -> bool:
        last = self.drawn[0]() if self.drawn is not None else None
        return last is not None and any(one is last for one in args)

    def _mask(self, mask: Any, told: dict[str, Any]) -> None:
        """One element, and few of them, may be alike by chance: who asks is better told nothing then."""
        self.drawn = None
        if can_be_asked(mask, MAX_ELEMENTS):
            self.recorder.arrivals.when_here((mask,), lambda mask: self._count(mask, told))

    def _count(self, mask: torch.Tensor, told: dict[str, Any]) -> None:
        told["whole"] += int(bool((mask == mask.flatten()[0]).all()))

    def _module(self, frame: Any) -> Any:
        for _ in range(FRAMES):
            if frame is None:
                break
            code = frame.f_code
            if code.co_argcount and kind_of(code.co_filename, self.recorder.sites.main) != "torch":
                first = first_argument(frame)
                if issubclass(type(first), nn.Module):
                    return first
            frame = frame.f_back
        record = self.recorder.modules.inner
        return record.ref() if record is not None else None

    def _tell(self) -> None:
        for place, found in self.seen.items():
            if found["trained"] and found["evaluated"]:
                self.recorder.emit("drawn_mask", self.sites[place], found)
