"""Counts the padding among the targets of a classification loss, at its first calls from a place: the index that an
embedding of as many rows as there are classes has named (`padding_idx`), or one that shows itself. In the tokens
that such an embedding was given it stands in one run in each row, of another length in each, all of which end at the
same place, and nowhere else; and so it stands in the targets, or one place before, as in those without their first
place. Where no embedding was
given such tokens, the targets of each of these calls have to show it by themselves."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.losses import OF_CLASSES
from gradscope.hooks.recorder.padding_runs import padding_runs
from gradscope.hooks.recorder.values import can_be_asked, measurable

EMBEDDING = ("input", "weight", "padding_idx")
ARGUMENTS = ("input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction")
MAX_ELEMENTS = 10_000_000
FIRST = 3  # calls of a place in which padding that shows itself is looked for
SURE = 2  # of them, at least, in which it does
MAX_TOKENS = 1_000_000
FEWEST_CLASSES = 8  # for targets that show it alone: fewer can be the two sides of a boundary


class PaddedTargets(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.padding: dict[int, int] = {}  # rows of an embedding → which of them is padding
        self.shown: dict[tuple[int, tuple[int, ...], bool], tuple[int, bool, torch.Tensor]] = {}
        """Rows of an embedding, form of its tokens, whether that was turned round → index, whether it comes after the
        same token in all rows, where it stands."""
        self.named: dict[
            tuple[int, ...], torch.Tensor
        ] = {}  # form of tokens → where an embedding's padding stands
        self.looked: Counter[int] = Counter()  # at these sites of an embedding, and of a loss
        self.matched: Counter[tuple[int, int]] = Counter()  # calls with the tokens' padding: loss, index
        self.alone: dict[int, list[tuple[int, bool, bool] | None]] = {}
        """Site of a loss → what its targets have shown by themselves: index, whether it comes after the same class in
        all rows, whether the tokens of an embedding have their padding at the same places."""
        self.told: set[int] = set()
        self.recorder.functions.follow(["embedding"], self._embedding)
        self.recorder.functions.follow(OF_CLASSES, self._loss)
        self.recorder.functions.follow(["gather"], self._pick)

    def _embedding(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(EMBEDDING, args, kwargs)
        padding, weight = given.get("padding_idx"), given.get("weight")
        tokens: Any = given.get("input")
        if not isinstance(weight, torch.Tensor) or weight.dim() != 2:
            return
        if isinstance(padding, int):
            self.padding[len(weight)] = padding % len(weight)
        if torch.is_grad_enabled() and isinstance(tokens, torch.Tensor) and tokens.dim() == 2:
            site = self.recorder.sites.current(frame)
            if self.looked[site] >= FIRST or not can_be_asked(tokens, MAX_TOKENS):
                return
            self.looked[site] += 1
            if tokens.dtype == torch.int64:
                rows, named = len(weight), self.padding[len(weight)] if isinstance(padding, int) else None
                self.recorder.arrivals.when_here((tokens,), lambda tokens: self._look_at(rows, named, tokens))

    def _look_at(self, rows: int, named: int | None, tokens: torch.Tensor) -> None:
        if named is not None:
            self.named[tuple(tokens.shape)] = tokens == named
            return
        for turned in (False, True):
            found = padding_runs(tokens.t() if turned else tokens)
            if found is not None:
                self.shown[rows, tuple(tokens.shape), turned] = found

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not torch.is_grad_enabled():
            return
        site = self.recorder.sites.current(frame)
        if site in self.told or (not self.padding and self.looked[site] >= FIRST):
            return
        given = by_name(ARGUMENTS, args, kwargs)
        scores: Any = given.get("input")
        target: Any = given.get("target")
        if scores is None or not measurable(scores) or not can_be_asked(target, MAX_ELEMENTS):
            return
        if scores.dim() < 2 or target.dtype != torch.int64:
            return
        if given.get("reduction", "mean") == "none" or given.get("weight") is not None:
            return  # the program may leave it out itself
        left_out = given.get("ignore_index", -100)
        self._compared(site, name, target, scores.shape[1], left_out, form_of(scores, target))

    def _pick(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """A loss by hand, which takes what its classes have at the targets."""
        given = by_name(("input", "dim", "index"), args, kwargs)
        scores: Any = given.get("input")
        picked: Any = given.get("index")
        if not torch.is_grad_enabled() or not isinstance(scores, torch.Tensor) or not scores.requires_grad:
            return
        if scores.dim() != 3 or given.get("dim") not in (-1, 2) or not can_be_asked(picked, MAX_ELEMENTS):
            return
        site = self.recorder.sites.current(frame)
        if site in self.told or self.looked[site] >= FIRST or picked.shape != (*scores.shape[:2], 1):
            return
        target = picked.squeeze(-1)
        self._compared(site, name, target, scores.shape[2], -100, (target.shape[0], target.shape[1]))

    def _compared(
        self,
        site: int,
        name: str,
        target: torch.Tensor,
        classes: int,
        left_out: object,
        form: tuple[int, int] | None,
    ) -> None:
        index = self.padding.get(classes)

        def look(target: torch.Tensor) -> None:
            if index is None:
                self._look_for(site, name, target, classes, left_out, form)
            else:
                self._tell(site, name, target, classes, index, named=True)

        if left_out != index and (index is not None or self.looked[site] < FIRST):
            self.recorder.arrivals.when_here((target,), look)

    def _look_for(
        self,
        site: int,
        name: str,
        target: torch.Tensor,
        classes: int,
        left_out: object,
        form: tuple[int, ...] | None,
    ) -> None:
        """Tells of targets that have the padding that the tokens of an embedding show, or that show it themselves in
        all these calls."""
        if self.looked[site] >= FIRST:
            return
        self.looked[site] += 1
        for (rows, _, turned), (index, marked, places) in self.shown.items():
            laid_out = _laid_out(target, places, turned)
            if rows == classes and laid_out is not None and left_out != index:
                if _same_runs(laid_out == index, places):
                    self.matched[site, index] += 1
                    if self.matched[site, index] >= SURE:  # a few rows of random tokens can look so once
                        self._tell(site, name, target, classes, index, marked=marked)
                    return
        if classes >= FEWEST_CLASSES and form is not None:
            found = padding_runs(target.reshape(form))
            named = self.named.get(form)
            beside = found is not None and named is not None and bool((found[2] == named).all())
            seen = self.alone.setdefault(site, [])
            seen.append(None if found is None else (found[0], found[1], beside))
            first = seen[0]
            if len(seen) == FIRST and first is not None and first[0] != left_out:
                if all(one is not None and one[0] == first[0] for one in seen):
                    marked, beside = (all(one is not None and one[at] for one in seen) for at in (1, 2))
                    self._tell(
                        site, name, target, classes, first[0], marked=marked, alone=True, beside=beside
                    )

    def _tell(
        self, site: int, name: str, target: torch.Tensor, classes: int, index: int, **more: bool
    ) -> None:
        if site in self.told:
            return
        self.told.add(site)
        found = {"name": name, "index": index, "classes": classes, "share": _share(target, index), **more}
        self.recorder.emit("padded_targets", site, found)


def _share(target: torch.Tensor, index: int) -> float:
    return int((target == index).sum()) / target.numel()


def form_of(scores: torch.Tensor, target: torch.Tensor) -> tuple[int, int] | None:
    """How many rows and places the targets have, as the program had them before it made one row of them and of the
    scores; None where that is not known."""
    if target.dim() == 2 and scores.dim() == 3:
        return target.shape[0], target.shape[1]
    whole, of_scores = target._base, scores._base
    if target.dim() != 1:
        return None
    if whole is not None and whole.dim() == 2 and whole.numel() == target.numel():
        return whole.shape[0], whole.shape[1]
    if of_scores is not None and of_scores.dim() == 3 and of_scores.shape[2] == scores.shape[1]:
        rows, places = of_scores.shape[:2]
        return (rows, places) if rows * places == target.numel() else None
    return None


def _laid_out(target: torch.Tensor, places: torch.Tensor, turned: bool) -> torch.Tensor | None:
    """The targets in the rows of the tokens, at as many places or at all but one; None where they are not as many."""
    rows, columns = places.shape
    for count in (columns, columns - 1):
        if target.numel() == rows * count:
            return target.reshape(count, rows).t() if turned else target.reshape(rows, count)
    return None


def _same_runs(targets: torch.Tensor, tokens: torch.Tensor) -> bool:
    """Whether the padding of the targets stands where that of the tokens does, or one place before."""
    if targets.shape == tokens.shape and bool((targets == tokens).all()):
        return True
    return bool((targets[:, : tokens.shape[1] - 1] == tokens[:, 1:]).all())
