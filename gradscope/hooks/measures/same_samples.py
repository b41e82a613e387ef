"""Datasets that are evaluated and hold the very samples of one that is trained on: two objects with the same print, of
which one's rows are found among those that the other one gives."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.utils.data import Subset

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.datasets import Numbered, print_of_dataset, tensors_of

ROWS = 16  # of the training's, that are looked for
MOST_BATCHES = 2000  # looked through


@dataclass
class _Trained:
    """`rows`: digests of some that it gave."""

    made: int
    loop: int
    content: str
    rows: frozenset[bytes] = frozenset()


@dataclass
class _Evaluated:
    """`like`: what was trained on and has the same print; None where nothing has."""

    made: int
    loop: int
    like: _Trained | None
    found: set[bytes] = field(default_factory=set)
    batches: int = 0


class SameSamples(Hook):
    order = 31  # behind the loaders

    def install(self) -> None:
        self.datasets = Numbered()
        self.trained: dict[int, _Trained] = {}  # by number
        self.evaluated: dict[int, _Evaluated] = {}
        self.followed: WeakKeyDictionary[Any, _Trained | _Evaluated] = WeakKeyDictionary()  # by iterator
        self.recorder.signals.loader_iterated.connect(self._iterated)
        self.recorder.signals.batch_given.connect(self._given)
        self.recorder.signals.before_end.connect(self._tell)

    def _iterated(self, iterator: Any, made: int, loop: int) -> None:
        dataset = vars(iterator).get("_dataset")
        number = self.datasets.number(dataset) if type(dataset) is not Subset else None
        if number is None:
            return
        if torch.is_grad_enabled():
            if number not in self.trained:
                with private.aside():
                    self.trained[number] = _Trained(made, loop, print_of_dataset(dataset))
                self.followed[iterator] = self.trained[number]
            return
        if number in self.trained or not self.trained:
            return
        known = self.evaluated.get(number)
        if known is None:
            with private.aside():
                content = print_of_dataset(dataset)
            like = next((t for t in self.trained.values() if content and t.content == content), None)
            known = self.evaluated[number] = _Evaluated(made, loop, like)
        if known.like is not None and known.like.rows - known.found:
            self.followed[iterator] = known

    def _given(self, iterator: Any, batch: Any) -> None:
        followed = self.followed.get(iterator) if self.followed else None
        if followed is None:
            return
        with private.aside():
            if isinstance(followed, _Trained):
                followed.rows = frozenset(_rows(batch, ROWS))
                del self.followed[iterator]
            elif followed.like is not None:
                followed.found.update(followed.like.rows.intersection(_rows(batch)))
                followed.batches += 1
                if followed.found == followed.like.rows or followed.batches == MOST_BATCHES:
                    del self.followed[iterator]

    def _tell(self) -> None:
        seen = list(self.evaluated.values())
        if any(one.like is None for one in seen):
            return  # something else is evaluated, too: this is the training's own score
        for one in seen:
            if one.like is not None and len(one.like.rows) > 1 and one.found == one.like.rows:
                data = {
                    "loop": one.loop,
                    "trained": one.like.made,
                    "training": one.like.loop,
                    "rows": len(one.found),
                }
                self.recorder.emit("same_samples", one.made, data)


def _rows(batch: Any, most: int | None = None) -> list[bytes]:
    """A digest of each sample of a batch: of all its tensors."""
    tensors = tensors_of(batch)
    count = min((len(t) for t in tensors), default=0)
    if not count or any(len(t) != count for t in tensors):
        return []
    found = []
    for row in range(min(count, most or count)):
        digest = hashlib.blake2b(digest_size=16)
        for t in tensors:
            digest.update(t[row].detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        found.append(digest.digest())
    return found
