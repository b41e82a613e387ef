"""Losses whose target lies in the window that a module was given: for every sample of a batch it is, bit for bit, the
entry at one and the same place near the end, and the samples are stretches of one series, some of which overlap.

A target that shares memory with what the module was given was cut out of it by the program, and is left alone."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import TensorRef, memory_of
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.losses import OF_NUMBERS, SUBTRACTIONS
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 6  # calls of a place that are looked at, then ever more rarely
MAX_SITES = 32
MOST = 1 << 20  # elements of a batch
SAMPLES = 8
PLACES = 4  # of a window
RECENT = 4  # inputs of modules that are remembered
TRIED = 16  # samples whose end is looked for in others
ALIKE = 3  # different numbers that two stretches have in common


class _Found(NamedTuple):
    """`place`: where in the window the target stands, of so many."""

    place: int
    places: int
    overlaps: int


class WindowTargets(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks, self.found = Looks(FIRST, MAX_SITES), Unbroken(MAX_SITES)
        self.inputs: deque[TensorRef] = deque(maxlen=RECENT)
        self.recorder.signals.module_input.connect(self._given)
        self.recorder.functions.follow(OF_NUMBERS, self._loss)
        self.recorder.functions.follow(SUBTRACTIONS, self._difference)
        self.recorder.signals.before_swap.connect(self._forget)
        self.recorder.signals.before_end.connect(self._tell)

    def _forget(self, t: Any) -> None:
        self.inputs.clear()

    def _given(self, given: list[Any], *_: Any) -> None:
        for t in given:
            if isinstance(t, torch.Tensor) and _is_batch(t) and t.dim() in (2, 3):
                self.inputs.append(TensorRef(t))

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "target"), args, kwargs)
        self._compared(name, given.get("input"), given.get("target"), frame)

    def _difference(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) == 2 and all(isinstance(t, torch.Tensor) for t in args):
            answers, targets = args if args[0].requires_grad else args[::-1]
            self._compared(name, answers, targets, frame)

    def _compared(self, name: str, answers: Any, targets: Any, frame: Any) -> None:
        if not self.inputs or not isinstance(answers, torch.Tensor) or not isinstance(targets, torch.Tensor):
            return
        if not answers.requires_grad or not _is_batch(targets) or not 1 <= targets.dim() <= 3:
            return
        inputs = [t for ref in self.inputs if (t := ref()) is not None and _may_hold(t, targets)]
        if not inputs:
            return
        site = self.recorder.sites.current(frame)
        if not self.found.is_open(site) or not self.looks.due(site):
            return
        x = inputs[-1]
        shape = list(x.shape)
        self.recorder.arrivals.when_here(
            (x, targets), lambda x, targets: self._look(site, name, shape, x, targets)
        )

    def _look(self, site: int, name: str, shape: list[int], x: torch.Tensor, targets: torch.Tensor) -> None:
        found = _place(x, targets)
        if found is None:
            self.found.end(site)
            return
        told = self.found.hold(
            site, name=name, place=found.place, places=found.places, shape=shape, samples=0, overlaps=0
        )
        if (told["place"], told["places"]) != (found.place, found.places):
            self.found.end(site)
            return
        told["samples"] += len(x)
        told["overlaps"] += found.overlaps

    def _tell(self) -> None:
        for site, data in self.found.told.items():
            if data["overlaps"]:
                self.recorder.emit("target_in_window", site, data)


def _is_batch(t: torch.Tensor) -> bool:
    plain = not t.requires_grad and t.dim() > 0 and t.shape[0] >= SAMPLES and t.is_floating_point()
    return plain and can_be_asked(t, MOST)


def _may_hold(x: torch.Tensor, targets: torch.Tensor) -> bool:
    """Whether the target is one number for each sample, or one for each of the series that a sample holds."""
    if x.shape[0] != targets.shape[0] or x.dtype != targets.dtype or x.device != targets.device:
        return False
    each = targets.numel() // len(targets)
    if each != 1 and (x.dim() != 3 or each not in x.shape[1:] or each >= x[0].numel()):
        return False
    return bool(memory_of(x) != memory_of(targets))


def _place(x: torch.Tensor, targets: torch.Tensor) -> _Found | None:
    rows = len(x)
    wanted = targets.reshape(rows, -1)
    if len(wanted[:, 0].unique()) * 2 < rows:
        return None
    for axis in range(1, x.dim()):
        series = x[:, :, None] if x.dim() == 2 else x if axis == 1 else x.transpose(1, 2)
        places, columns = series.shape[1:]
        if places < PLACES or (wanted.shape[1] > 1 and wanted.shape[1] != columns):
            continue
        same = (series == wanted[:, None, :]).all(0)  # places by columns
        if wanted.shape[1] > 1:
            same = same.all(1, keepdim=True)
        at = same.nonzero()
        if len(at) == 1 and int(at[0, 0]) * 4 >= places * 3:
            overlaps = _overlaps(series[:, :, int(at[0, 1])])
            return _Found(int(at[0, 0]), places, overlaps)
    return None


def _overlaps(stretches: torch.Tensor) -> int:
    """How many of the first stretches end in the middle of another one, which has the same numbers before that."""
    found, places = 0, stretches.shape[1]
    for row in stretches[:TRIED]:
        at = (stretches[:, PLACES - 1 : -1] == row[-1]).nonzero()
        for other, place in at[:TRIED].tolist():
            common = stretches[other, : place + PLACES]
            if torch.equal(common, row[places - len(common) :]) and len(common.unique()) >= ALIKE:
                found += 1
                break
    return found
