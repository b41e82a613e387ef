"""Which lines compare positions 0, 1, … with one length for each sample, as a mask of padding is made, and how far both
go. A line where the lengths do not go beyond the positions, as is right, is not looked at again."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.values import can_be_asked

ORDERINGS = ("lt", "le", "gt", "ge")
FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_SITES = 256
MAX_ELEMENTS = 1_000_000
MOST = 64  # pairs that are told


class ComparedLengths(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.beyond = Unbroken()
        self.recorder.functions.follow(ORDERINGS, self._compared)
        self.recorder.signals.before_end.connect(self._tell)

    def _compared(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 2 or not all(isinstance(one, torch.Tensor) for one in (*args, result)):
            return
        if result.dim() < 2 or any(one.requires_grad for one in args):
            return
        site = self.recorder.sites.current(frame)
        if site in self.beyond.broken or not self.looks.due(site):
            return
        if not all(can_be_asked(one, MAX_ELEMENTS) for one in (*args, result)):
            return
        self.recorder.arrivals.when_here((*args, result), lambda *given: self._count(site, *given))

    def _count(self, site: int, left: torch.Tensor, right: torch.Tensor, result: torch.Tensor) -> None:
        found = _lengths(left, right, result.shape) or _lengths(right, left, result.shape)
        if found is None:
            self.beyond.end(site)
            return
        places, lengths = found
        longest = int(lengths.max())
        if longest <= places:
            self.beyond.end(site)
            return
        told = self.beyond.hold(site, pairs=[], elements=0, alike=0, varied=False)
        if [places, longest] not in told["pairs"] and len(told["pairs"]) < MOST:
            told["pairs"].append([places, longest])
        true = int(result.sum())
        told["elements"] += result.numel()
        told["alike"] += max(true, result.numel() - true)
        told["varied"] |= int(lengths.min()) != longest

    def _tell(self) -> None:
        for site, found in self.beyond.told.items():
            self.recorder.emit("compared_lengths", site, found)


def _lengths(
    positions: torch.Tensor, lengths: torch.Tensor, shape: tuple[int, ...]
) -> tuple[int, torch.Tensor] | None:
    """How many positions there are, and the lengths, where it is so of these two."""
    wide = [axis for axis, size in enumerate(shape) if size > 1]
    if len(wide) != 2 or lengths.is_complex() or positions.is_complex():
        return None
    for along, across in (wide, wide[::-1]):
        own, other = _line(positions, shape, along, across), _line(lengths, shape, across, along)
        if own is not None and other is not None and torch.equal(own, torch.arange(len(own)).to(own.dtype)):
            whole = bool((other == other.round()).all()) if other.is_floating_point() else True
            return (len(own), other) if whole and bool((other >= 0).all()) else None
    return None


def _line(t: torch.Tensor, shape: tuple[int, ...], along: int, across: int) -> torch.Tensor | None:
    """Its numbers along one axis of what both are broadcast to, where they are the same at each place of the other."""
    spread = t.reshape((1,) * (len(shape) - t.dim()) + tuple(t.shape))
    if spread.shape[along] != shape[along]:
        return None
    first = spread.narrow(across, 0, 1)
    if spread.shape[across] > 1 and not bool((spread == first).all()):
        return None
    return first.flatten()
