"""Measures what a loss of numbers compares, in training and in evaluation: mean and spread of the targets and of the
answers, and how far these follow each other. The same of differences: what is trained less what is not, or one of two
with gradients off, of which the first stands for the answers."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.losses import OF_NUMBERS, SUBTRACTIONS
from gradscope.hooks.recorder.values import can_be_asked

ARGUMENTS = ("input", "target")
LEAST = 32  # numbers
MOST = 100_000
MAX_PLACES = 64
FIRST = 4  # differences of a place that are measured, then ever more rarely


class Units(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.last: dict[tuple[int, bool], dict[str, Any]] = {}
        self.looks = Looks(FIRST, MAX_PLACES)
        self.recorder.functions.follow(OF_NUMBERS, self._loss)
        self.recorder.functions.follow(SUBTRACTIONS, self._difference)
        self.recorder.signals.before_end.connect(self._tell)

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(ARGUMENTS, args, kwargs)
        answers: Any = given.get("input")
        targets: Any = given.get("target")
        if _comparable(answers, targets) and not targets.requires_grad:
            self._measure(name, answers, targets, self.recorder.sites.current(frame))

    def _difference(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 2 or not _comparable(*args):
            return
        answers, targets = args if args[0].requires_grad else args[::-1]
        if not answers.requires_grad:
            answers, targets = args
        if targets.requires_grad or (torch.is_grad_enabled() and not answers.requires_grad):
            return
        site = self.recorder.sites.current(frame)
        if self.looks.due(site):
            self._measure(name, answers, targets, site)

    def _measure(self, name: str, answers: torch.Tensor, targets: torch.Tensor, site: int) -> None:
        key = (site, answers.requires_grad)
        if len(self.last) >= MAX_PLACES and key not in self.last:
            return

        def tell(answers: torch.Tensor, targets: torch.Tensor) -> None:
            self.last[key] = {
                "name": name,
                **_measured(answers.double().flatten(), targets.double().flatten()),
            }

        self.recorder.arrivals.when_here((answers, targets), tell)

    def _tell(self) -> None:
        for (site, trained), data in self.last.items():
            self.recorder.emit("units", site, {"trained": trained, **data})


def _comparable(answers: Any, targets: Any) -> bool:
    """Whether both are numbers of one form, and enough of them."""
    pair = (answers, targets)
    if not all(isinstance(t, torch.Tensor) and t.is_floating_point() and can_be_asked(t, MOST) for t in pair):
        return False
    return bool(answers.shape == targets.shape and targets.numel() >= LEAST)


def _measured(answers: torch.Tensor, targets: torch.Tensor) -> dict[str, Any]:
    """Both (numbers,), in double precision."""
    spreads = [float(t.std()) for t in (answers, targets)]
    together = float(((answers - answers.mean()) * (targets - targets.mean())).mean())
    return {
        "numbers": len(targets),
        "target_mean": float(targets.mean()),
        "target_spread": spreads[1],
        "answer_mean": float(answers.mean()),
        "answer_spread": spreads[0],
        "correlation": together / (spreads[0] * spreads[1]) if spreads[0] and spreads[1] else 0.0,
    }
