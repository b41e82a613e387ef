"""Ids that a mask puts in the place of others, which are what a classification loss asks for one place later: those
that a model is given in training, some of them its own."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeGuard

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import aside
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.losses import OF_CLASSES
from gradscope.hooks.recorder.values import readable

FIRST = 4  # mixtures of a place that are looked at, then ever more rarely
MAX_SITES = 16
MOST = 1 << 18  # ids
PLACES = 3  # of a row, at least
ROWS = 4


class _Mixed(NamedTuple):
    """Where ids were mixed, what they were before, in either order, and what came of it (`ids[mask] = …`: nothing)."""

    site: int
    before: tuple[torch.Tensor, ...]
    result: torch.Tensor | None


class MixedInPlace(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks, self.found = Looks(FIRST, MAX_SITES), Unbroken(MAX_SITES)
        self.last: _Mixed | None = None
        self.recorder.functions.follow(["where"], self._where)
        self.recorder.functions.precede(["__setitem__"], self._written)
        self.recorder.functions.follow(OF_CLASSES, self._loss)
        self.recorder.signals.before_end.connect(self._tell)

    def _where(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 3 or kwargs or not all(_is_rows(t) for t in (*args[1:], result)):
            return
        if args[1].shape == args[2].shape == result.shape:
            self._keep(args[1:], result, frame)

    def _written(self, name: str, args: Any, kwargs: Any, frame: Any) -> None:
        if len(args) != 3 or not _is_rows(args[0]) or not isinstance(args[1], torch.Tensor):
            return
        if args[1].dtype is torch.bool and args[1].shape == args[0].shape:
            self._keep(args[:1], None, frame)

    def _keep(self, before: Any, result: Any, frame: Any) -> None:
        site = self.recorder.sites.current(frame)
        self.last = None
        if self.found.is_open(site) and self.looks.due(site):
            with torch.no_grad(), aside():
                kept = tuple(t.clone() for t in before)
                self.last = _Mixed(site, kept, result.clone() if result is not None else None)

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.last is None or not torch.is_grad_enabled():
            return
        target = by_name(("input", "target"), args, kwargs).get("target")
        mixed, self.last = self.last, None
        if (
            not isinstance(target, torch.Tensor)
            or target.dtype is not torch.int64
            or not readable(target, MOST)
        ):
            return
        if target.numel() != mixed.before[0].numel():
            return
        loss = self.recorder.sites.current(frame)
        with torch.no_grad(), aside():
            wanted = target.reshape(mixed.before[0].shape)
            own = [ids for ids in mixed.before if torch.equal(ids[:, 1:], wanted[:, :-1])]
            if len(own) != 1 or bool((wanted == wanted[:, :1]).all()):
                self.found.end(mixed.site)
                return
            told = self.found.hold(mixed.site, loss=loss, first=0, rows=0)
            told["rows"] += len(wanted)
            if mixed.result is not None:
                told["first"] += int((mixed.result[:, 0] != own[0][:, 0]).sum())

    def _tell(self) -> None:
        for site, data in self.found.told.items():
            self.recorder.emit("mixed_in_place", site, data)


def _is_rows(t: Any) -> TypeGuard[torch.Tensor]:
    plain = isinstance(t, torch.Tensor) and t.dtype is torch.int64 and t.dim() == 2
    return plain and t.shape[0] >= ROWS and t.shape[1] >= PLACES and readable(t, MOST)
