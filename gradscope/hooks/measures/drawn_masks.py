"""Which places that draw numbers evenly, as a dropout of the program's own does, run in a module's evaluation as well
as in its training: the module is that of the nearest function whose first argument is one, or the one called."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks.recorder.parts import in_training
from gradscope.hooks.recorder.sites import kind_of
from gradscope.hooks.variables import first_argument

DRAWING = ("rand", "rand_like", "bernoulli", "bernoulli_", "uniform_")
FRAMES = 4  # of the program's, from the draw outwards
CALLS = 200  # of a place whose module is looked for
MOST = 64  # places


class DrawnMasks(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.calls: dict[tuple[Any, int], int] = {}  # by place: code and instruction
        self.seen: dict[tuple[Any, int], dict[str, Any]] = {}  # what is told of it
        self.sites: dict[tuple[Any, int], int] = {}  # of its first call in evaluation
        self.recorder.functions.follow(DRAWING, self._draw)
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
            place, {"name": name, "module": type(module).__name__, "trained": 0, "evaluated": 0}
        )
        training = in_training(module)
        if training == torch.is_grad_enabled():
            told["trained" if training else "evaluated"] += 1
            if not training and place not in self.sites:
                self.sites[place] = self.recorder.sites.current(frame)

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
