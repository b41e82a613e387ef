"""Loaders in order of which a line takes the first batch alone, again and again, from a new iterator each time: how
many times in a row with no step between, how many with a step after each, and whether the batches were the same."""

from __future__ import annotations

import hashlib
import operator
import sys
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.utils.data import BatchSampler, SequentialSampler

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.datasets import tensors_of
from gradscope.hooks.recorder.looks import Looks

FIRST = 8  # batches of a line that are compared in any case, then ever more rarely
MAX_PLACES = 32
MAX_ELEMENTS = 1_000_000
MOST_ROWS = 64
DRAWS = (
    "rand",
    "randn",
    "rand_like",
    "randn_like",
    "randint",
    "randperm",
    "bernoulli",
    "normal",
    "multinomial",
)


@dataclass
class _Place:
    """A line that asks loaders of one line for iterators. `since`: steps when the latest one was made."""

    loop: int  # site
    size: int
    drops: bool
    digest: bytes = b""
    broken: bool = False
    samples: int = 0
    given: int = 0  # batches of the latest iterator
    since: int = -1
    rounds: int = 0
    row: int = 0
    rows: list[int] = field(default_factory=list)  # how many in a row, with no step between
    stepped: int = 0  # with gradients on and a step before the next
    grad: bool = False  # in the latest round
    drawn: bool = False  # random numbers, since then, or a network in training mode ran with gradients off
    varies: bool = False  # the same in a round that is followed by another one with no step between


class FirstBatches(Hook):
    order = 31  # behind the loaders

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_PLACES)
        # by the loader's site and the place that asks
        self.places: dict[tuple[int, Any, int], _Place | None] = {}
        self.followed: WeakKeyDictionary[Any, tuple[_Place, bool]] = WeakKeyDictionary()  # by iterator
        self.asked: WeakKeyDictionary[Any, _Place] = WeakKeyDictionary()  # by sampler
        self.latest: _Place | None = None
        self.patch(SequentialSampler, "__iter__", self._number(SequentialSampler.__iter__))
        self.recorder.functions.follow(DRAWS, self._drawn)
        self.recorder.signals.before_call.connect(self._called)
        self.recorder.signals.loader_iterated.connect(self._iterated)
        self.recorder.signals.batch_given.connect(self._given)
        self.recorder.signals.before_end.connect(self._tell)

    def _steps(self) -> int:
        return sum(one["steps"] for one in self.recorder.optimizers.values())

    def _drawn(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.latest is not None and self.latest.given:
            self.latest.drawn = True

    def _called(self, module: Any, record: Any, site: int) -> None:
        if self.latest is not None and not torch.is_grad_enabled() and vars(module).get("training"):
            if vars(module).get("_parameters") or vars(module).get("_modules"):  # no loss
                self.latest.drawn = True

    def _number(self, real: Any) -> Any:
        def __iter__(sampler: Any, /) -> Any:
            numbers = real(sampler)
            place = self.asked.pop(sampler, None) if self.asked else None
            if place is not None and type(numbers) is type(iter(range(0))):
                place.samples = operator.length_hint(numbers)
            return numbers

        return __iter__

    def _iterated(self, iterator: Any, made: int, loop: int) -> None:
        frame = self.recorder.sites.of_user(sys._getframe(1))
        if frame is None:
            return
        key = made, frame.f_code, frame.f_lineno  # `f_lasti` differs once Python has specialized a call
        place = self.places.get(key)
        if place is None:
            if key in self.places or len(self.places) >= MAX_PLACES:
                self.latest = None
                return
            place = self.places[key] = _begun(iterator, loop)
        self.latest = place
        if place is None or place.broken:
            return
        steps = self._steps()
        if place.since >= 0:
            if place.given != 1:  # the one before took none, or more
                place.broken = True
                return
            self._count(place, steps)
        place.since, place.given, place.drawn, place.grad = steps, 0, False, torch.is_grad_enabled()
        place.rounds += 1
        self.asked[_sampler(iterator)] = place
        self.followed[iterator] = place, self.looks.due(place.loop)

    def _count(self, place: _Place, steps: int) -> None:
        """The latest round has come to its end."""
        if steps == place.since:
            place.row += 1
            place.varies = place.varies or place.drawn
            return
        place.stepped += place.grad
        self._end(place)

    def _end(self, place: _Place) -> None:
        if place.row and len(place.rows) < MOST_ROWS:
            place.rows.append(place.row + 1)
        place.row = 0

    def _given(self, iterator: Any, batch: Any) -> None:
        found = self.followed.get(iterator) if self.followed else None
        if found is None:
            return
        place, due = found
        place.given += 1
        if place.given > 1:
            place.broken = True
            del self.followed[iterator]
        elif due:
            digest = _digest(batch)
            place.broken = not digest or place.digest not in (b"", digest)
            place.digest = digest

    def _tell(self) -> None:
        for (made, _, _), place in self.places.items():
            if place is None or place.broken or place.given != 1 or place.rounds < 2 or not place.samples:
                continue
            place.stepped += place.grad and self._steps() > place.since
            self._end(place)
            batches = place.samples // place.size + (not place.drops and place.samples % place.size > 0)
            data = {
                "loop": place.loop, "rounds": place.rounds, "rows": place.rows, "stepped": place.stepped,
                "batches": batches, "samples": place.samples, "size": place.size, "varies": place.varies,
            }  # fmt: skip
            self.recorder.emit("first_batch_again", made, data)


def _sampler(iterator: Any) -> Any:
    batches = vars(iterator).get("_index_sampler")
    return vars(batches).get("sampler") if type(batches) is BatchSampler else None


def _begun(iterator: Any, loop: int) -> _Place | None:
    """None of a loader that does not take the samples of its dataset in order, in batches of one size."""
    batches, sampler = vars(iterator).get("_index_sampler"), _sampler(iterator)
    size = vars(batches).get("batch_size") if type(sampler) is SequentialSampler else None
    return (
        _Place(loop, size, bool(vars(batches).get("drop_last"))) if type(size) is int and size > 0 else None
    )


def _digest(batch: Any) -> bytes:
    """Of all numbers of a batch; empty where these cannot be asked."""
    found = hashlib.blake2b(digest_size=16)
    told = tensors_of(batch)
    if not told or sum(one.numel() for one in told) > MAX_ELEMENTS:
        return b""
    with private.aside():
        for one in told:
            found.update(one.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return found.digest()
