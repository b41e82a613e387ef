"""Counts the classes that a classification loss is given as its targets, also one of two classes, and those of one-hot
rows that a loss of numbers is given: how many samples of each, which calls had samples of a single one, the weights of
the classes, and which class the last scores answered.

Where most calls that are looked at had a single one, the passes that are not are asked too: of each class there may be
as many batches as sampling sleeps."""

from __future__ import annotations

import sys
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.losses import OF_CLASSES, OF_TWO
from gradscope.hooks.recorder.values import can_be_asked, measurable

ARGUMENTS = ("input", "target", "weight", "size_average", "ignore_index")
SEVERAL = 4  # samples: of fewer it says nothing that they are of one class
MAX_CLASSES = 64
MAX_PLACES = 1_000_000  # of one call, of each of which there is a label
MAX_CALLS = 256  # of each place
MAX_NUMBERS = 100_000  # of one-hot rows
OF_ROWS = ("mse_loss",)  # takes one-hot rows for the classes they stand for, or any other numbers
OF_ROWS_BACKWARD = (
    "MseLossBackward0", "BinaryCrossEntropyWithLogitsBackward0", "BinaryCrossEntropyBackward0",
)  # fmt: skip
FEW = 1024  # samples: Python counts them sooner than torch
LAST = 16  # calls of which the answers are kept: what a network answers changes as it learns


@dataclass
class Counted:
    """What one place was given. `alone`: the class of each call, -1 where there were several; `begun`: before which of
    them a loop over a loader began, the site that made it, that of the loop."""

    name: str
    classes: int
    trained: bool
    ignored: int = -1  # the class that is left out
    samples: Counter[int] = field(default_factory=Counter)
    alone: list[int] = field(default_factory=list)
    begun: list[tuple[int, int, int]] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    answers: deque[Counter[tuple[int, int]]] = field(default_factory=lambda: deque(maxlen=LAST))
    rows: bool = False  # one-hot
    other: bool = False  # the targets were to be one-hot, and some were not

    def compare(self, target: torch.Tensor, answered: torch.Tensor) -> None:
        """Both (samples,), of whole numbers."""
        pairs = zip(target.tolist(), answered.tolist(), strict=True)
        self.answers.append(Counter(pair for pair in pairs if pair[0] in range(self.classes)))

    def weigh(self, weight: torch.Tensor) -> None:
        self.weights = weight.double().tolist()

    @property
    def mostly_alone(self) -> bool:
        """Whether at least half of the calls so far had a single class."""
        return 2 * self.alone.count(-1) <= len(self.alone) < MAX_CALLS

    def begin(self, made: int, loop: int) -> None:
        if len(self.begun) < MAX_CALLS:
            self.begun.append((len(self.alone), made, loop))

    def count_one_hot(self, target: torch.Tensor) -> None:
        """(samples, classes)"""
        if self.other:
            return
        ones = target == 1
        if bool((ones | (target == 0)).all()) and bool((ones.sum(1) == 1).all()):
            self.count(ones.int().argmax(1))
        else:
            self.other = True

    def count(self, target: torch.Tensor) -> None:
        samples: dict[int, int]
        if len(target) <= FEW:
            samples = Counter(target.flatten().tolist())
        else:
            found, counts = target.unique(return_counts=True)
            samples = dict(zip(found.tolist(), counts.tolist(), strict=True))
        self.samples.update({int(label): n for label, n in samples.items() if label in range(self.classes)})
        label = next(iter(samples))
        self.alone.append(int(label) if len(samples) == 1 and label in range(self.classes) else -1)


class Labels(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.counted: dict[tuple[int, bool], Counted] = {}
        self.loader: tuple[int, int] | None = (
            None  # the last that was gone through: sites that made it, of the loop
        )
        self.recorder.functions.follow((*OF_CLASSES, *OF_TWO, *OF_ROWS), self._loss)
        self.recorder.signals.before_pass.connect(self._before)
        self.recorder.signals.loader_iterated.connect(self._iterated)
        self.recorder.signals.before_end.connect(self._tell)

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(ARGUMENTS, args, kwargs)
        scores, target, weight = (given.get(key) for key in ARGUMENTS[:3])
        if scores is None or target is None or not measurable(scores):
            return
        rows = _is_one_for_each_class(scores, target)
        if rows:
            classes, counts = target.shape[1], True
        elif name in OF_ROWS:
            return
        elif name in OF_TWO:
            classes, counts = 2, _is_of_two(target)
        else:
            classes, counts = scores.shape[-1], scores.dim() == 2 and _is_counted(target)
            if scores.dim() > 2 and _leaves_one_out(given.get("ignore_index"), scores.shape[1]):
                classes, counts = scores.shape[1], _is_counted_at_places(target)
        if not counts or classes > MAX_CLASSES:
            return
        recorder = self.recorder
        key = (recorder.sites.current(frame), torch.is_grad_enabled())
        counted = self.counted.get(key)
        if counted is None:
            ignored = given.get("ignore_index") if name in OF_CLASSES else None
            ignored = ignored if type(ignored) is int and 0 <= ignored < classes else -1
            counted = self.counted[key] = Counted(name, classes, key[1], ignored, rows=rows)
            if self.loader is not None:
                counted.begin(*self.loader)
        if (
            len(counted.alone) >= MAX_CALLS
            or classes != counted.classes
            or counted.other
            or rows != counted.rows
        ):
            return
        if rows:
            recorder.arrivals.when_here((target,), counted.count_one_hot)
            return
        if (
            name in OF_CLASSES
            and weight is not None
            and can_be_asked(weight, MAX_CLASSES)
            and weight.numel() == classes
        ):
            recorder.arrivals.when_here((weight,), counted.weigh)
        if scores.dim() > 2:
            recorder.arrivals.when_here((target,), lambda target: counted.count(target.flatten()))
            return
        recorder.arrivals.when_here((target,), counted.count)
        if name in OF_CLASSES:
            with torch.no_grad(), private.aside():
                answered = scores.detach().argmax(1)
            recorder.arrivals.when_here((target, answered), counted.compare)

    def _before(self, t_outputs: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        if self.recorder.segment.looked or len(t_outputs) != 1:
            return
        trained = [counted for counted in self.counted.values() if counted.trained]
        if len(trained) != 1 or not trained[0].mostly_alone:
            return
        node, rows = private.grad_fn_of(t_outputs[0]), trained[0].rows
        if node is None or private.name_of(node) not in (OF_ROWS_BACKWARD if rows else ("NllLossBackward0",)):
            return
        try:
            target = private.saved_by(node, "_saved_target")
        except RuntimeError:  # an earlier pass has freed it
            return
        if rows:
            if _is_one_for_each_class(target, target) and target.shape[1] == trained[0].classes:
                self.recorder.arrivals.when_here((target,), trained[0].count_one_hot)
        elif _is_counted(target):
            self.recorder.arrivals.when_here((target,), trained[0].count)

    def _iterated(self, iterator: Any, made: int, loop: int) -> None:
        self.loader = made, loop
        for counted in self.counted.values():
            counted.begin(made, loop)

    def _tell(self) -> None:
        for (site, _), counted in self.counted.items():
            if counted.other:
                continue
            data = {
                "name": counted.name,
                "classes": counted.classes,
                "trained": counted.trained,
                "ignored": counted.ignored,
                "samples": {str(label): count for label, count in sorted(counted.samples.items())},
                "alone": counted.alone,
                "begun": counted.begun,
                "weights": counted.weights,
                "answers": [[*pair, n] for pair, n in sorted(sum(counted.answers, Counter()).items())],
            }
            self.recorder.emit("labels", site, data)


def _is_one_for_each_class(scores: Any, target: Any) -> TypeGuard[torch.Tensor]:
    """Whether it is one number for each class of each of several samples, of which one may be 1 and all others 0."""
    if not can_be_asked(target, MAX_NUMBERS) or target.dim() != 2 or target.shape != scores.shape:
        return False
    return len(target) >= SEVERAL and 1 < target.shape[1] <= MAX_CLASSES


def _is_counted(target: Any) -> TypeGuard[torch.Tensor]:
    """Whether it is one class for each of several samples."""
    if not can_be_asked(target, sys.maxsize) or target.dtype != torch.int64:
        return False
    return target.dim() == 1 and len(target) >= SEVERAL


def _leaves_one_out(ignored: Any, classes: int) -> bool:
    """Whether it is one of the classes that a loss leaves out."""
    return type(ignored) is int and 0 <= ignored < classes <= MAX_CLASSES


def _is_counted_at_places(target: Any) -> TypeGuard[torch.Tensor]:
    """Whether it is one class for each place of several samples, as for the points of pictures."""
    return can_be_asked(target, MAX_PLACES) and target.dtype == torch.int64 and target.dim() > 1


def _is_of_two(target: Any) -> TypeGuard[torch.Tensor]:
    """Whether it is one number for each of several samples, which tells one of two classes where it is 0 or 1."""
    if not can_be_asked(target, sys.maxsize) or not target.dtype.is_floating_point:
        return False
    return target.dim() in (1, 2) and len(target) >= SEVERAL and target.numel() == len(target)
