"""Loaders that are trained on and whose sampler asks for the same batches in each pass, and not for all samples."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.utils.data import BatchSampler, RandomSampler, WeightedRandomSampler

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import readable

MOST = 50_000  # numbers of one pass


@dataclass
class _Pass:
    digest: Any = field(default_factory=lambda: hashlib.blake2b(digest_size=16))
    batches: int = 0
    drawn: int = 0
    begun: int = 0  # steps of optimizers before it


@dataclass
class _Drawn:
    """The whole passes of one loop over the loaders of one line, so far all alike."""

    sampler: str
    own: bool  # none of torch's
    line: int
    batched: bool  # draws whole batches
    now: _Pass
    first: _Pass | None = None
    passes: int = 0
    trained: bool = False
    items: set[int] = field(default_factory=set)
    varies: bool = False


class RepeatedDraws(Hook):
    order = 31  # behind the loaders

    def install(self) -> None:
        self.steps = 0
        self.drawn: dict[tuple[int, int], _Drawn] = {}  # by sites: of the loader, and of the loop
        self.followed: WeakKeyDictionary[Any, _Drawn] = WeakKeyDictionary()  # by iterator
        real = private.LoaderIterator._next_index
        self.patch(private.LoaderIterator, "_next_index", self._ask(real))
        self.recorder.signals.loader_iterated.connect(self._iterated)
        self.recorder.signals.before_step.connect(self._step)
        self.recorder.signals.before_end.connect(self._tell)

    def _step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        self.steps += 1

    def _iterated(self, iterator: Any, made: int, loop: int) -> None:
        if not torch.is_grad_enabled():
            return
        known = self.drawn.get((made, loop))
        if known is None:
            asked = vars(iterator).get("_index_sampler")
            sampler = vars(asked).get("sampler") if type(asked) is BatchSampler else asked
            cls = next((c for c in type(sampler).__mro__ if "__iter__" in vars(c)), type(sampler))
            code = getattr(vars(cls).get("__iter__"), "__code__", None)
            line = code.co_firstlineno if code is not None else 0
            own = not cls.__module__.startswith("torch.")
            known = self.drawn[made, loop] = _Drawn(cls.__name__, own, line, sampler is asked, _Pass())
            known.varies = not own and not _draws(sampler)
        if not (known.varies and known.trained):
            known.now = _Pass(begun=self.steps)
            self.followed[iterator] = known

    def _ask(self, real: Any) -> Any:
        def _next_index(iterator: Any, /) -> Any:
            known = self.followed.get(iterator) if self.followed else None
            if known is None:
                return real(iterator)
            try:
                numbers = real(iterator)
            except StopIteration:
                self._end(iterator, known)
                raise
            try:
                self._add(known, numbers)
            except BaseException as error:
                self.recorder.fault("looking at a sampler's numbers", error)
            return numbers

        return _next_index

    def _add(self, known: _Drawn, numbers: Any) -> None:
        now = known.now
        now.batches += 1
        plain = _plain(numbers) if not known.varies else None
        if plain is None or now.drawn > MOST:
            known.varies = True
            return
        now.digest.update(repr(plain).encode())
        now.drawn += len(plain)
        if known.first is None:
            known.items.update(plain)

    def _end(self, iterator: Any, known: _Drawn) -> None:
        """A pass that came to its end; with workers some of its steps are still to come, and they are told so again."""
        if not known.now.batches:
            return
        if known.first is None:
            known.first = known.now
        known.varies = known.varies or known.now.digest.digest() != known.first.digest.digest()
        known.trained = known.trained or self.steps > known.now.begun
        known.passes += 1
        known.now = _Pass(begun=self.steps)
        if known.varies and known.trained:
            del self.followed[iterator]

    def _tell(self) -> None:
        trained = [(sites, known) for sites, known in self.drawn.items() if known.trained]
        if len(trained) != 1 or trained[0][1].varies or trained[0][1].first is None:
            return
        (made, loop), known = trained[0]
        first, samples = known.first, max(known.items, default=-1) + 1
        if first is not None and len(known.items) < samples:
            data = {
                "loop": loop, "sampler": known.sampler, "own": known.own, "line": known.line, "batched": known.batched,
                "passes": known.passes, "batches": first.batches, "drawn": first.drawn, "items": len(known.items),
                "samples": samples,
            }  # fmt: skip
            self.recorder.emit("drawn_alike", made, data)


def _draws(sampler: Any) -> bool:
    """Whether a sampler of torch's leaves samples out by chance; others go through all of theirs."""
    if type(sampler) is RandomSampler:
        return vars(sampler).get("_num_samples") is not None
    return type(sampler) is WeightedRandomSampler


def _plain(numbers: Any) -> list[int] | None:
    """A batch of row numbers; None where they are something else."""
    found: list[int] = []
    if type(numbers).__module__ == "numpy":
        numbers = numbers.tolist()
    for number in numbers if type(numbers) in (list, tuple) else [numbers]:
        if type(number) is int:
            found.append(number)
        elif (
            type(number).__module__ == "numpy"
            and getattr(number, "ndim", 1) == 0
            and number.dtype.kind in "iu"
        ):
            found.append(int(number))
        elif isinstance(number, torch.Tensor) and not number.is_floating_point() and readable(number, 1):
            with private.aside():
                found.append(int(number))
        else:
            return None
    return found
