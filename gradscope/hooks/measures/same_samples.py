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
    bare: str  # the same without its settings
    rows: frozenset[bytes] = frozenset()
    samples: int = 0  # that it gave in its first pass
    largest: int = 0  # batch
    passes: bool = False  # a backward pass was made between its batches


@dataclass
class _Evaluated:
    """`like`: what was trained on and has the same print; None where nothing has."""

    made: int
    loop: int
    like: _Trained | None
    exactly: bool  # it has the same settings, too
    found: set[bytes] = field(default_factory=set)
    batches: int = 0
    samples: int = 0
    largest: int = 0
    passes: bool = False  # the same: it is trained on as well


class SameSamples(Hook):
    order = 31  # behind the loaders

    def install(self) -> None:
        self.datasets = Numbered()
        self.trained: dict[int, _Trained] = {}  # by number
        self.evaluated: dict[int, _Evaluated] = {}
        self.followed: WeakKeyDictionary[Any, _Trained | _Evaluated] = WeakKeyDictionary()  # by iterator
        self.known: WeakKeyDictionary[Any, _Trained | _Evaluated] = WeakKeyDictionary()
        self.counted: WeakKeyDictionary[Any, _Trained | _Evaluated] = WeakKeyDictionary()  # first passes
        self.recorder.signals.loader_iterated.connect(self._iterated)
        self.latest: _Trained | _Evaluated | None = None  # what the last batch came from
        self.recorder.signals.batch_given.connect(self._given)
        self.recorder.signals.after_pass.connect(self._passed)
        self.recorder.signals.before_end.connect(self._tell)

    def _passed(self, site: int, failed: BaseException | None) -> None:
        if self.latest is not None and failed is None:
            self.latest.passes = True

    def _iterated(self, iterator: Any, made: int, loop: int) -> None:
        dataset = vars(iterator).get("_dataset")
        number = self.datasets.number(dataset) if type(dataset) is not Subset else None
        if number is None:
            return
        known = self.trained.get(number) or self.evaluated.get(number)
        if known is None and (self.trained or torch.is_grad_enabled()):
            known = self._begin(number, dataset, made, loop)
            self.counted[iterator] = known
            if isinstance(known, _Trained):
                self.followed[iterator] = known
        if known is not None:
            self.known[iterator] = known
        if isinstance(known, _Evaluated) and known.like is not None and known.like.rows - known.found:
            self.followed[iterator] = known

    def _begin(self, number: int, dataset: Any, made: int, loop: int) -> _Trained | _Evaluated:
        """With gradients it may be evaluated all the same, as where both phases are turns of one loop."""
        with private.aside():
            content = print_of_dataset(dataset)
            bare = print_of_dataset(dataset, settings=False)
        like = next((t for t in self.trained.values() if content and t.content == content), None)
        exactly = like is not None
        like = like or next((t for t in self.trained.values() if bare and t.bare == bare), None)
        if torch.is_grad_enabled() and not (exactly and like is not None and like.passes):
            self.trained[number] = trained = _Trained(made, loop, content, bare)
            return trained
        self.evaluated[number] = evaluated = _Evaluated(made, loop, like, exactly)
        return evaluated

    def _given(self, iterator: Any, batch: Any) -> None:
        self.latest = self.known.get(iterator)
        counted = self.counted.get(iterator) if self.counted else None
        if counted is not None:
            size = next((len(t) for t in tensors_of(batch)), 0)
            counted.samples, counted.largest = counted.samples + size, max(counted.largest, size)
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
        seen = [one for one in self.evaluated.values() if not one.passes]
        asked = any(not one.passes for one in self.trained.values())
        if asked or any(one.like is None for one in seen):
            return  # something else is evaluated, too: this is the training's own score
        for one in seen:
            if one.like is None or not (one.exactly or _as_many(one, one.like)):
                continue
            if len(one.like.rows) > 1 and one.found == one.like.rows:
                data = {
                    "loop": one.loop,
                    "trained": one.like.made,
                    "training": one.like.loop,
                    "rows": len(one.found),
                    "exactly": one.exactly,
                }
                self.recorder.emit("same_samples", one.made, data)


def _as_many(evaluated: _Evaluated, trained: _Trained) -> bool:
    """Whether the one gave as many samples as the other, which may have left out a last batch that is too small."""
    return 0 <= evaluated.samples - trained.samples < max(trained.largest, 1)


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
