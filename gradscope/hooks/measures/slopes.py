"""Compares what the backward of a user's own Function says with the slope of its forward, where forward gives each
element of its result by one element of what it was given: both are read off the elements of one call."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from gradscope.hooks import Hook
from gradscope.hooks._torch import aside, grad_fn_of, transforms
from gradscope.hooks.recorder.sites import own_line
from gradscope.hooks.recorder.values import can_be_asked

FIRST, EVERY, LAST = 3, 8, 128  # calls that are looked at, per place of `apply`, of those that are recorded
MAX_ELEMENTS = 1 << 16
PIECES = 24  # into which the elements are cut, by the size of what forward was given
EACH = 4  # elements in the smallest piece
STRAIGHT = 0.05  # of its height: how far the elements of a piece may lie from its chord
EVEN = 0.3  # of its largest: how far what backward multiplies by may vary within a piece
LEVELS = 2  # results between the two ends: fewer are those of a sign
COLUMNS = 16  # channels that are looked at alone
NEARLY_ALL = 0.75  # of the pieces of a channel
FEW = 8  # pieces in which the slope can be told


@dataclass
class Compared:
    name: str
    line: int  # where its forward is defined
    argument: int  # its position
    calls: int = 0
    pieces: list[tuple[float, float, float]] = field(default_factory=list)  # where, slope, what backward says
    flat: list[tuple[int, float, float]] = field(default_factory=list)  # elements, where they begin, the same


class Slopes(Hook):
    order = 72  # after the one that calls it

    def install(self) -> None:
        self.places: dict[tuple[int, str], Compared] = {}
        self.recorder.signals.function_applied.connect(self._applied)
        self.recorder.signals.before_end.connect(self._tell)

    def _applied(self, cls: Any, args: Any, result: Any, frame: Any) -> None:
        tensors = [p for p, a in enumerate(args) if isinstance(a, torch.Tensor)]
        if not isinstance(result, torch.Tensor) or not torch.is_grad_enabled():
            return
        learned = [p for p in tensors if args[p].requires_grad and args[p].shape == result.shape]
        if len(learned) != 1:
            return
        given = args[learned[0]]
        line = own_line(cls.forward, self.recorder.sites.main)
        if line is None or given is result or given.numel() < PIECES * EACH:
            return
        if not can_be_asked(given, MAX_ELEMENTS) or not can_be_asked(result, MAX_ELEMENTS):
            return
        site = self.recorder.sites.current(frame)
        place = self.places.setdefault((site, cls.__name__), Compared(cls.__name__, line, learned[0]))
        node = grad_fn_of(result)
        place.calls += 1
        if place.calls > LAST or (place.calls > FIRST and place.calls % EVERY):
            return
        if place.argument != learned[0] or not isinstance(node, BackwardCFunction):
            return
        with aside():
            kept = given.detach().clone(), result.detach().clone()
        node.register_hook(self._hook(place, tensors.index(learned[0]), kept))

    def _hook(self, place: Compared, edge: int, kept: tuple[torch.Tensor, torch.Tensor]) -> Any:
        recorder = self.recorder

        def returned(gradients: Any, arrived: Any) -> None:
            if threading.get_ident() != recorder.thread or transforms() is not None:
                return
            try:
                back = gradients[edge]
                came = arrived[0] if len(arrived) == 1 else None
                if back is not None and came is not None and back.shape == came.shape == kept[0].shape:
                    recorder.arrivals.when_here((*kept, came, back), lambda *all: compare(place, *all))
            except BaseException as error:
                recorder.fault("comparing a custom backward with its forward", error)

        return returned

    def _tell(self) -> None:
        for (site, _), place in self.places.items():
            if len(place.pieces) >= FEW or place.flat:
                data = {
                    "function": place.name,
                    "line": place.line,
                    "argument": place.argument,
                    "pieces": place.pieces if len(place.pieces) >= FEW else (),
                    "flat": place.flat,
                }
                self.recorder.emit("slopes", site, data)


def compare(
    place: Compared, x: torch.Tensor, y: torch.Tensor, came: torch.Tensor, back: torch.Tensor
) -> None:
    """Adds the pieces in which the slope of y over x can be told, with what was made of the gradient there."""
    whole = [t.detach().double() for t in (x, y, came, back)]
    if bool((whole[0] == whole[1]).all()) or not all(bool(t.isfinite().all()) for t in whole):
        return
    x, y, came, back = _ordered(*(t.flatten() for t in whole))
    asked = came.abs() > 1e-6 * came.abs().max()
    place.flat += _flat_ends(x, y, came, back, asked)
    told = _pieces(x, y, came, back, asked)
    place.pieces += told or _of_columns(whole)


def _ordered(x: torch.Tensor, *others: torch.Tensor) -> list[torch.Tensor]:
    order = x.argsort()
    return [t[order] for t in (x, *others)]


def _of_columns(whole: list[torch.Tensor]) -> list[tuple[float, float, float]]:
    """The same of each channel alone, where every one has a slope of its own: those in which nearly all pieces can be
    told, since of many small pieces a few are straight by chance."""
    found = []
    for axis in dict.fromkeys((whole[0].dim() - 1, 1)):
        if whole[0].dim() < 2 or whole[0].numel() < FEW * EACH * whole[0].shape[axis]:
            continue
        columns = zip(*(t.movedim(axis, 0)[:COLUMNS].flatten(1) for t in whole), strict=True)
        for column in columns:
            x, y, came, back = _ordered(*column)
            told = _pieces(x, y, came, back, came.abs() > 1e-6 * came.abs().max())
            if len(told) >= NEARLY_ALL * min(PIECES, len(x) // EACH):
                found += told
        if found:
            break
    return found


def _pieces(
    x: torch.Tensor, y: torch.Tensor, came: torch.Tensor, back: torch.Tensor, asked: torch.Tensor
) -> list[tuple[float, float, float]]:
    """Where the result is straight: where that is, its slope, and by what backward multiplies there."""
    found = []
    count = min(PIECES, len(x) // EACH)
    pieces = zip(*(t.tensor_split(count) for t in (x, y, came, back, asked)), strict=True)
    for given, made, arrived, returned, here in pieces:
        wide, high = given[-1] - given[0], made[-1] - made[0]
        flat = float(wide) <= 1e-4 * float(given.abs().max()) or not float(high)
        if flat or int(here.sum()) < EACH // 2:
            continue
        chord = made[0] + (given - given[0]) * (high / wide)
        if float((made - chord).abs().max()) > STRAIGHT * abs(float(high)):
            continue
        said = returned[here] / arrived[here]
        said = said[said != 0]
        if len(said) and float(said.max() - said.min()) > EVEN * float(said.abs().max()):
            continue  # it depends on the gradient too: clipped, or of one sign only
        found.append((float(given.mean()), float(high / wide), float(said.mean()) if len(said) else 0.0))
    return found


def _flat_ends(
    x: torch.Tensor, y: torch.Tensor, came: torch.Tensor, back: torch.Tensor, asked: torch.Tensor
) -> list[tuple[int, float, float]]:
    """The ends in which the result stays the same for longer than in any step before: how many elements, from where on,
    and by what backward multiplies there; those in which it multiplies none by zero."""
    levels, counts = y.unique_consecutive(return_counts=True)
    if len(levels) < LEVELS + 2 or len(levels) != len(y.unique()):
        return []
    ends = counts.cumsum(0)
    widths = x[ends - 1] - x[ends - counts]
    found = []
    for end, edge in ((0, int(ends[0]) - 1), (-1, int(ends[-2]))):
        inside = slice(0, edge + 1) if end == 0 else slice(edge, len(x))
        if counts[end] < EACH or widths[end] <= 2 * widths[1:-1].max():
            continue
        said = (back[inside] / came[inside])[asked[inside]]
        if len(said) and bool((said != 0).all()):
            found.append((int(counts[end]), float(x[edge]), float(said.mean())))
    return found
