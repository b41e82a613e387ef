"""Counts which classes a network's answers, the places of the highest scores that were found with gradients off, are
compared with by `==`: an evaluation that has no loss."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.values import can_be_asked, measurable

HIGHEST = ("argmax", "max")
MAX_CLASSES = 64
MAX_SAMPLES = 100_000  # of one call
FIRST = 64  # calls of a line that are counted in any case, then ever more rarely
MAX_SITES = 32
LAST = 16  # calls that are kept: what a network answers changes as it learns


class ComparedAnswers(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.last: Any = None  # weak reference to the last answers
        self.classes = 0
        self.looks = Looks(FIRST, MAX_SITES)
        self.found: dict[
            tuple[int, int], deque[Counter[tuple[int, int]]]
        ] = {}  # (site, classes) → of each call
        self.recorder.functions.follow(HIGHEST, self._answer)
        self.recorder.functions.follow(("eq", "__eq__"), self._compare)
        self.recorder.signals.before_end.connect(self._tell)

    def _answer(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if torch.is_grad_enabled() or not args or not measurable(args[0]) or args[0].dim() < 2:
            return
        answers = result if name == "argmax" else getattr(result, "indices", None)
        axis = by_name(("input", "dim"), args, kwargs).get("dim")
        if not isinstance(answers, torch.Tensor) or type(axis) is not int:
            return
        shape = list(args[0].shape)
        classes = shape.pop(axis)
        if list(answers.shape) == shape and classes <= MAX_CLASSES:
            self.last, self.classes = private.TensorRef(answers), classes

    def _compare(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        answers = self.last() if self.last is not None else None
        if answers is None or len(args) != 2:
            return
        labels = args[1] if args[0] is answers else args[0] if args[1] is answers else None
        if (
            not can_be_asked(labels, MAX_SAMPLES)
            or labels.dtype != torch.int64
            or labels.shape != answers.shape
        ):
            return
        site, classes = self.recorder.sites.current(frame), self.classes
        if not self.looks.due(site):
            return

        def count(labels: torch.Tensor, answers: torch.Tensor) -> None:
            kept = self.found.setdefault((site, classes), deque(maxlen=LAST))
            known = (labels >= 0) & (labels < classes)
            pairs = torch.bincount(labels[known] * classes + answers[known], minlength=classes * classes)
            rows = ((divmod(pair, classes), n) for pair, n in enumerate(pairs.tolist()) if n)
            kept.append(Counter(dict(rows)))

        self.recorder.arrivals.when_here((labels, answers), count)

    def _tell(self) -> None:
        for (site, classes), kept in self.found.items():
            rows = [[*pair, n] for pair, n in sorted(sum(kept, Counter()).items())]
            self.recorder.emit("answers_compared", site, {"classes": classes, "answers": rows})
