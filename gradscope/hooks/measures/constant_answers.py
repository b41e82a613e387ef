"""Compares a loss with what the best constant answer would have had: the shares of the classes, the mean of the
targets, or their median, for every sample; also a loss by hand that begins with the difference of answers and targets.
And measures how far the answers differ from sample to sample, and the targets from batch to batch."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.losses import SUBTRACTIONS
from gradscope.hooks.recorder.values import can_be_asked, measurable

_REGRESSION = ("input", "target", "size_average", "reduce", "reduction", "weight")
_BINARY = ("input", "target", "weight", "size_average", "reduce", "reduction", "pos_weight")
_CLASSES = (
    "input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing",
)  # fmt: skip
ARGUMENTS = {
    "mse_loss": _REGRESSION,
    "l1_loss": _REGRESSION,
    "smooth_l1_loss": (*_REGRESSION[:-1], "beta"),
    "huber_loss": ("input", "target", "reduction", "delta", "weight"),
    "binary_cross_entropy": _BINARY,
    "binary_cross_entropy_with_logits": _BINARY,
    "cross_entropy": _CLASSES,
    "nll_loss": _CLASSES,
}
BOUNDS = {"smooth_l1_loss": "beta", "huber_loss": "delta"}  # up to which they are squares
HALVINGS = 40
MAX_ELEMENTS = 1_000_000
MAX_COLUMNS = 4096  # numbers of one sample, or classes
SEVERAL = 4  # samples
LAST = 8  # calls
ENOUGH = 128  # samples: of fewer the shares of the classes are a guess
SOME = 128  # samples whose answers are compared with each other
MOST_KEPT = 200_000  # numbers of targets, of which a median is taken
FIRST = 16  # calls that are all compared, then ever fewer
MOST_BY_HAND = 32  # places of differences that are looked at
MEANS = {"l1_loss": torch.abs, "mse_loss": torch.square}  # of a difference: what a loss by hand may be


@dataclass
class _Place:
    """What one line's loss was given."""

    name: str
    columns: int
    calls: int = 0
    batches: int = 0
    samples: int = 0
    total: torch.Tensor | None = None  # of the targets, by column; how many there were of each class
    squares: torch.Tensor | None = None
    of_batches: torch.Tensor | None = (
        None  # the square of the sum of each batch by its samples, all of them together
    )
    kept: list[torch.Tensor] = field(default_factory=list)  # rows of targets, for a median
    room: int = MOST_KEPT
    answered: float = 0.0  # the mean of the last answers that were looked at
    differ: deque[float] = field(
        default_factory=lambda: deque(maxlen=LAST)
    )  # the answers, from sample to sample
    bound: float = 0.0  # of `BOUNDS`
    first: dict[str, float] | None = None  # of a difference: what each of `MEANS` was at its first call

    def due(self) -> bool:
        """Counts a call; whether it is compared."""
        self.calls += 1
        return not self.calls % max(1, self.calls // FIRST)


class ConstantAnswers(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.places: dict[int, _Place] = {}
        self.by_hand: dict[Any, _Place | None] = {}  # by where it stands; None: no answers and targets
        self.recorder.functions.follow(tuple(ARGUMENTS), self._loss)
        self.recorder.functions.follow(SUBTRACTIONS, self._subtracted)
        self.recorder.signals.before_end.connect(self._tell)

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        site = self.recorder.sites.current(frame)
        place = self.places.get(site)
        if place is not None and not place.due():
            return
        given = by_name(ARGUMENTS[name], args, kwargs)
        answers, target = given.get("input"), given.get("target")
        if answers is None or target is None or not _is_plain(given, result):
            return
        if (
            not _is_compared(answers)
            or not _is_compared(target)
            or not answers.requires_grad
            or target.requires_grad
        ):
            return
        classes = name in ("cross_entropy", "nll_loss")
        if not (_are_classes(answers, target) if classes else _are_alike(answers, target)):
            return
        columns = answers.shape[1] if classes else target[0].numel()
        if place is None:
            place = self.places[site] = _Place(name, columns, calls=1)
        bound = given.get(BOUNDS.get(name, ""), 1.0)
        if (
            place.columns != columns
            or type(bound) not in (int, float)
            or bound <= 0
            or place.bound not in (0.0, bound)
        ):
            return
        place.bound = float(bound)
        ignored = given.get("ignore_index", -100)

        def add(answers: torch.Tensor, target: torch.Tensor) -> None:
            if classes:
                _count(place, target, ignored)
            else:
                _add(place, target.reshape(len(target), -1).double())
            _answer(place, answers)

        self.recorder.arrivals.when_here((answers, target), add)

    def _subtracted(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """The same of what a loss by hand begins with: answers, and as many targets."""
        key = frame.f_code, frame.f_lasti
        if key in self.by_hand:
            place = self.by_hand[key]
            if place is None or not place.due():
                return
        elif not torch.is_grad_enabled() or len(self.by_hand) >= MOST_BY_HAND:
            return
        self.by_hand.setdefault(key, None)
        sides = _sides(args)
        if sides is None or kwargs:
            return
        answers, target = sides
        columns = target[0].numel()
        place = self.by_hand[key]
        if place is None:
            place = self.by_hand[key] = _Place("l1_loss", columns, calls=1)
            self.places[self.recorder.sites.current(frame)] = place
        if place.columns != columns:
            return

        def add(answers: torch.Tensor, target: torch.Tensor) -> None:
            if place.first is None:
                apart = (answers - target).double()
                place.first = {name: float(of(apart).mean()) for name, of in MEANS.items()}
            _add(place, target.reshape(len(target), -1).double())
            _answer(place, answers)

        self.recorder.arrivals.when_here((answers, target), add)

    def _tell(self) -> None:
        for site, place in self.places.items():
            if place.samples < ENOUGH:
                continue
            assert place.total is not None
            firsts = place.first or {}
            for name in firsts or (place.name,):
                best, spread = _best(place, name)
                data = {
                    "name": name, "best": best, "spread": spread, "differ": list(place.differ),
                    "mean": float(place.total.mean()) / place.samples, "answered": place.answered,
                    "apart": _apart(place), "first": firsts.get(name),
                }  # fmt: skip
                self.recorder.emit("constant_answer", site, data)


def _sides(args: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Of a difference the answers, which have a graph, and the targets, which have none."""
    if len(args) != 2 or not all(map(_is_compared, args)):
        return None
    answers, target = args if args[0].requires_grad else args[::-1]
    alike = answers.requires_grad and not target.requires_grad and _are_alike(answers, target)
    return (answers, target) if alike else None


def _answer(place: _Place, answers: torch.Tensor) -> None:
    place.answered = float(answers.mean())
    some = answers[:: max(1, len(answers) // SOME)]
    place.differ.append(float(some.reshape(len(some), -1).std(dim=0).mean()))


def _is_plain(given: dict[str, Any], result: Any) -> bool:
    """Whether it is a mean in which all samples count the same."""
    weighed = any(given.get(key) is not None for key in ("weight", "pos_weight", "size_average", "reduce"))
    mean = given.get("reduction", "mean") == "mean" and not given.get("label_smoothing")
    return mean and not weighed and measurable(result) and result.dim() == 0


def _is_compared(t: Any) -> bool:
    return can_be_asked(t, MAX_ELEMENTS) and t.dim() > 0 and len(t) >= SEVERAL and not t.is_complex()


def _are_classes(answers: torch.Tensor, target: torch.Tensor) -> bool:
    return (
        answers.dim() == 2
        and target.dim() == 1
        and target.dtype == torch.int64
        and answers.shape[1] <= MAX_COLUMNS
    )


def _are_alike(answers: torch.Tensor, target: torch.Tensor) -> bool:
    return target.is_floating_point() and answers.shape == target.shape and target[0].numel() <= MAX_COLUMNS


def _count(place: _Place, target: torch.Tensor, ignored: Any) -> None:
    kept = target[(target != ignored) & (target >= 0) & (target < place.columns)]
    _sum_up(place, torch.bincount(kept, minlength=place.columns).double(), len(kept))


def _sum_up(place: _Place, total: torch.Tensor, samples: int) -> None:
    if not samples:
        return
    of_batch = total.square() / samples
    place.total = total if place.total is None else place.total + total
    place.of_batches = of_batch if place.of_batches is None else place.of_batches + of_batch
    place.samples += samples
    place.batches += 1


def _add(place: _Place, rows: torch.Tensor) -> None:
    squares = rows.square().sum(0)
    place.squares = squares if place.squares is None else place.squares + squares
    _sum_up(place, rows.sum(0), len(rows))
    if (place.name == "l1_loss" or place.name in BOUNDS) and (
        some := rows[: place.room // rows.shape[1]]
    ).numel():
        place.kept.append(some.float())
        place.room -= some.numel()


def _apart(place: _Place) -> float:
    """Which share of the variance of the targets lies between the batches: 1 where each has one number or one class
    alone, about 0 where their samples are drawn at random."""
    assert place.total is not None and place.of_batches is not None
    mean = place.total.square() / place.samples
    whole = float(((place.squares if place.squares is not None else place.total) - mean).sum())
    between = float((place.of_batches - mean).sum())
    free = place.samples - place.batches
    return 1 - (1 - between / whole) * (place.samples - 1) / free if whole > 0 and free else 0.0


def _best(place: _Place, name: str) -> tuple[float, float]:
    """The mean of this loss for the best constant answer, and how far the targets differ from sample to sample; of
    targets that are one class alone that of answers which prefer no class."""
    assert place.total is not None
    mean = place.total / place.samples
    if place.squares is None:
        if int(place.total.count_nonzero()) == 1:  # the right one of several candidates has one place, always
            return math.log(place.columns), 0.0
        return float(torch.special.entr(mean).sum()), 1.0
    variance = (place.squares / place.samples - mean.square()).clamp(min=0)
    spread = float(variance.sqrt().mean())
    if name == "mse_loss":
        return float(variance.mean()), spread
    if name == "l1_loss":
        rows = torch.cat(place.kept)
        return float((rows - rows.median(dim=0).values).abs().mean()), spread
    if name in BOUNDS:
        return _best_of_huber(torch.cat(place.kept), place.bound, name), spread
    bounded = mean.clamp(0, 1)
    return float((torch.special.entr(bounded) + torch.special.entr(1 - bounded)).mean()), spread


def _best_of_huber(rows: torch.Tensor, bound: float, name: str) -> float:
    """Its lowest mean for one number in each column: where as much pulls up as down."""
    low, high = rows.amin(0), rows.amax(0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        up = (rows - middle).clamp(-bound, bound).mean(0) > 0
        low, high = torch.where(up, middle, low), torch.where(up, high, middle)
    apart = (rows - low).abs()
    loss = torch.where(apart < bound, apart.square() / 2, bound * (apart - bound / 2)).mean()
    return float(loss if name == "huber_loss" else loss / bound)
