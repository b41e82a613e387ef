"""Two losses before one backward pass that are given different tensors with the very same numbers, and different
targets: in all calls that were looked at."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.losses import OF_ALL
from gradscope.hooks.recorder.values import can_be_asked

FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
MAX_SITES = 64
MAX_ELEMENTS = 1_000_000
MOST = 8  # losses before one pass
TURN = 0.618033988749895  # weights without a period, so that rows in another order give another number


class SameAnswers(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.turn = 0  # backward passes that have begun
        self.now: list[tuple[int, int, tuple[float, ...], tuple[float, ...]]] = []  # turn, site, prints
        self.pairs: dict[tuple[int, int], tuple[int, str] | None] = {}  # how often, name; None: they differed
        self.recorder.functions.follow(OF_ALL, self._loss)
        self.recorder.signals.before_pass.connect(self._pass)
        self.recorder.signals.before_expected_pass.connect(self._pass)
        self.recorder.signals.before_end.connect(self._tell)

    def _pass(self, *given: Any) -> None:
        self.turn += 1

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "target"), args[:2], kwargs)
        answer, target = given.get("input"), given.get("target")
        if (
            not isinstance(answer, torch.Tensor)
            or not isinstance(target, torch.Tensor)
            or not answer.requires_grad
        ):
            return
        site = self.recorder.sites.current(frame)
        if not self.looks.due(site) or not all(can_be_asked(t, MAX_ELEMENTS) for t in (answer, target)):
            return
        if answer.numel() < 2 or answer.is_complex() or target.is_complex():
            return
        with private.aside():
            prints = torch.stack([*_print(answer), *_print(target)])
        self.recorder.arrivals.when_here((prints,), partial(self._count, name, site, self.turn))

    def _count(self, name: str, site: int, turn: int, prints: torch.Tensor) -> None:
        numbers = tuple(prints.tolist())
        answer, target = numbers[:2], numbers[2:]
        self.now = [one for one in self.now if one[0] == turn][-MOST:]
        for _, other, same, asked in self.now:
            pair = other, site
            known = self.pairs.get(pair, (0, name))
            if known is not None:
                alike = same == answer and asked != target
                self.pairs[pair] = (known[0] + 1, name) if alike else None
        self.now.append((turn, site, answer, target))

    def _tell(self) -> None:
        for (other, site), found in self.pairs.items():
            if found is not None:
                self.recorder.emit(
                    "same_answers", site, {"other": other, "calls": found[0], "name": found[1]}
                )


def _print(t: torch.Tensor) -> list[torch.Tensor]:
    flat = t.detach().reshape(-1).double()
    weights = torch.arange(len(flat), device=flat.device, dtype=torch.float64).mul_(TURN).frac_()
    return [flat.sum(), flat.dot(weights)]
