"""How often the third of four numbers in a row is smaller than the first, or the fourth than the second, where a line
takes one from the other: sides of boxes, if they are corners."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.losses import SUBTRACTIONS
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_ELEMENTS = 1 << 20
MAX_SITES = 256
SIDES = 4  # numbers of a box
SLACK = 1e-3  # of the largest number: how far a centre may lie outside of where its box allows


class BoxSides(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.found: dict[int, dict[str, Any]] = {}
        self.recorder.functions.follow(SUBTRACTIONS, self._call)
        self.recorder.signals.before_end.connect(self._tell)

    def _call(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if (
            len(args) != 2
            or not isinstance(result, torch.Tensor)
            or result.requires_grad
            or name.startswith("r")
        ):
            return
        base = _box(args[0], args[1])
        if base is None:
            return
        site = self.recorder.sites.current(frame)
        if not self.looks.due(site) or not can_be_asked(base, MAX_ELEMENTS) or not base.is_floating_point():
            return

        def look(side: torch.Tensor, base: torch.Tensor) -> None:
            told = self.found.setdefault(
                site, {"name": name, "below": 0, "sides": 0, "boxes": 0, "centres": 0, "calls": 0}
            )
            first, second, third, fourth = base.reshape(-1, SIDES).unbind(1)
            least = -SLACK * float(base.abs().max())
            centres = (
                (first - third / 2 >= least) & (second - fourth / 2 >= least) & (third >= 0) & (fourth >= 0)
            )
            told["below"] += int((side < 0).sum())
            told["sides"] += side.numel()
            told["boxes"] += len(first)
            told["centres"] += int(centres.sum())
            told["calls"] += 1

        self.recorder.arrivals.when_here((result, base), look)

    def _tell(self) -> None:
        for site, found in self.found.items():
            if found["below"]:
                self.recorder.emit("box_sides", site, found)


def _box(one: Any, other: Any) -> torch.Tensor | None:
    """The rows of four numbers of which one value is the third or fourth where the other is the first or second."""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return None
    base = one._base
    if base is None or base is not other._base or one.shape != other.shape:
        return None
    if base.dim() < 2 or base.shape[-1] != SIDES or base.stride(-1) != 1 or not base.is_contiguous():
        return None
    ahead = (one.storage_offset() - other.storage_offset()) == 2
    place = (other.storage_offset() - base.storage_offset()) % SIDES
    return base if ahead and place < 2 else None
