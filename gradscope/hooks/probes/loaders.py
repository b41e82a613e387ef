"""Notes each DataLoader that is gone through: where it was made, whether it draws its samples in a random order, of a
chosen subset how many, and how many samples at the end of an ordered dataset are in no batch."""

from __future__ import annotations

import functools
import operator
import sys
import weakref
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import distributed
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.datasets import print_of_dataset, row_numbers
from gradscope.hooks.variables import first_argument

PLACES = 16  # that ask for the length of loaders of one line
DRAWING = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)


@dataclass
class _Ordered:
    """The passes by one loop over a loader in order that drops what does not fill its last batch."""

    numbers: Any = None  # the range that the latest pass takes its numbers from
    samples: int = 0
    passes: int = 0

    def begin(self, numbers: Any) -> None:
        self.count()
        self.numbers, self.samples = numbers, operator.length_hint(numbers)

    def count(self) -> None:
        """Takes the latest pass for whole if it came to the end: a loop that breaks leaves samples out by itself."""
        if self.numbers is not None and not operator.length_hint(self.numbers):
            self.passes += 1
        self.numbers = None


@dataclass
class _Counted:
    """`asked`: the sites of `len(loader)`; `length`: what the latest one gave."""

    asked: dict[int, None] = field(default_factory=dict)
    length: int = 0


@dataclass
class _Pass:
    made: int
    loop: int
    batches: int = 0
    first: int = 0  # samples of its first batch
    last: int = 0  # and of the latest one


class Loaders(Hook):
    order = 29

    def install(self) -> None:
        self.made: dict[int, tuple[Any, int]] = {}  # id of a loader → (weak reference, site)
        self.told: set[tuple[int, int]] = set()
        self.ordered: dict[tuple[int, int, int], _Ordered] = {}  # by loader's site, loop, batch size
        self.begun: dict[int, tuple[Any, _Ordered]] = {}  # by id of a sampler that is not asked yet
        self.patch(DataLoader, "__init__", self._make(DataLoader.__init__))
        self.counted: dict[int, _Counted] = {}  # by site of a loader
        self.running: weakref.WeakKeyDictionary[Any, _Pass] = weakref.WeakKeyDictionary()  # by iterator
        # site of a loader, loop → how often it was gone through to its end, and the latest time
        self.rounds: dict[tuple[int, int], tuple[int, _Pass]] = {}
        self.gone_through: set[int] = set()  # sites of loaders
        self.sites: dict[int, None] = {}  # where loaders were made
        self.patch(DataLoader, "__len__", self._count(DataLoader.__len__))
        self.patch(private.LoaderIterator, "__init__", self._iterate(private.LoaderIterator.__init__))
        self.patch(private.LoaderIterator, "__next__", self._next(private.LoaderIterator.__next__))
        self.patch(SequentialSampler, "__iter__", self._number(SequentialSampler.__iter__))
        self.recorder.signals.before_end.connect(self._tell)

    def _make(self, real: Any) -> Any:
        recorder = self.recorder

        @functools.wraps(real)
        def __init__(loader: Any, /, *args: Any, **kwargs: Any) -> None:
            real(loader, *args, **kwargs)
            if recorder.mine():
                try:
                    frame = sys._getframe(1)
                    while _makes(frame, loader) and frame.f_back is not None:  # of a subclass
                        frame = frame.f_back
                    site = recorder.sites.current(frame)
                    self.made[id(loader)] = (weakref.ref(loader), site)
                    self.sites[site] = None
                except BaseException as error:
                    recorder.fault("recording a DataLoader", error)

        return __init__

    def _count(self, real: Any) -> Any:
        recorder = self.recorder

        @functools.wraps(real)
        def __len__(loader: Any, /) -> Any:
            length = real(loader)
            known = self.made.get(id(loader))
            if known is not None and known[0]() is loader and recorder.mine():
                try:
                    counted = self.counted.setdefault(known[1], _Counted())
                    counted.length = int(length)
                    if len(counted.asked) < PLACES:
                        counted.asked[recorder.sites.current(sys._getframe(1))] = None
                except BaseException as error:
                    recorder.fault("recording a DataLoader", error)
            return length

        return __len__

    def _iterate(self, real: Any) -> Any:
        recorder = self.recorder

        @functools.wraps(real)
        def __init__(iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
            known = self.made.get(id(loader))
            known = known if known is not None and known[0]() is loader and recorder.mine() else None
            if known is not None:  # workers are given their first numbers at once
                try:
                    self._begin(loader, known[1], recorder.sites.current(sys._getframe(1)))
                except BaseException as error:
                    recorder.fault("recording a DataLoader", error)
            real(iterator, loader, *args, **kwargs)
            if known is not None:
                try:
                    loop = recorder.sites.current(sys._getframe(1))
                    self._note(loader, known[1], loop)
                    self.running[iterator] = _Pass(known[1], loop)
                    for follow in recorder.signals.loader_iterated:
                        follow(iterator, known[1], loop)
                except BaseException as error:
                    recorder.fault("recording a DataLoader", error)

        return __init__

    def _next(self, real: Any) -> Any:
        recorder = self.recorder
        followers = recorder.signals.batch_given

        @functools.wraps(real)
        def __next__(iterator: Any, /) -> Any:
            try:
                batch = real(iterator)
            except StopIteration:
                self._end(iterator)
                raise
            if (run := self.running.get(iterator)) is not None:
                run.batches += 1
                run.last = _rows(batch)
                run.first = run.first or run.last
            for follow in followers:
                try:
                    follow(iterator, batch)
                except BaseException as error:
                    recorder.fault("looking at a batch", error)
            return batch

        return __next__

    def _end(self, iterator: Any) -> None:
        """A pass has come to its end."""
        run = self.running.pop(iterator, None)
        if run is not None:
            passes, _ = self.rounds.get((run.made, run.loop), (0, run))
            self.rounds[run.made, run.loop] = passes + 1, run

    def _begin(self, loader: Any, made: int, loop: int) -> None:
        """A pass that drops what does not fill a batch: remembered until it asks its sampler."""
        batches, sampler = vars(loader).get("batch_sampler"), vars(loader).get("sampler")
        if type(batches) is not BatchSampler or type(sampler) is not SequentialSampler or among_ranks():
            return
        size = vars(batches).get("batch_size")
        if vars(batches).get("drop_last") and type(size) is int and vars(batches).get("sampler") is sampler:
            ordered = self.ordered.setdefault((made, loop, size), _Ordered())
            self.begun[id(sampler)] = weakref.ref(sampler), ordered

    def _number(self, real: Any) -> Any:
        @functools.wraps(real)
        def __iter__(sampler: Any, /) -> Any:
            numbers = real(sampler)
            known = self.begun.pop(id(sampler), None)
            if known is not None and known[0]() is sampler and type(numbers) is type(iter(range(0))):
                known[1].begin(numbers)
            return numbers

        return __iter__

    def _tell(self) -> None:
        for (made, loop, size), found in self.ordered.items():
            found.count()
            if found.passes and found.samples % size:
                data = {"loop": loop, "samples": found.samples, "batch": size, "passes": found.passes}
                self.recorder.emit("samples_dropped", made, data)

        for made in self.sites:
            if made not in self.gone_through:
                asked = next(iter(self.counted[made].asked), None) if made in self.counted else None
                self.recorder.emit("loader_left", made, {"asked": asked})
        for made, counted in self.counted.items():
            self.recorder.emit(
                "loader_counted", made, {"asked": list(counted.asked), "length": counted.length}
            )
        for (made, loop), (passes, run) in self.rounds.items():
            data = {
                "loop": loop,
                "passes": passes,
                "batches": run.batches,
                "first": run.first,
                "last": run.last,
            }
            self.recorder.emit("loader_passed", made, data)

    def _note(self, loader: Any, made: int, loop: int) -> None:
        self.gone_through.add(made)
        if (made, loop) in self.told:
            return
        self.told.add((made, loop))
        sampler, batches = vars(loader).get("sampler"), vars(loader).get("batch_sampler")
        order = "drawn" if type(sampler) in DRAWING else "given" if type(sampler) is SequentialSampler else ""
        if batches is not None and (type(batches) is not BatchSampler or batches.sampler is not sampler):
            order = ""  # it draws the batches by itself, and `sampler` is not asked
        subset = _subset(sampler)
        data = {"loop": loop, "order": order, "drawn": subset[0], "held": subset[1]}
        data["grad"] = torch.is_grad_enabled()
        if type(sampler) is RandomSampler and not vars(sampler).get("replacement") and among_ranks():
            with private.aside():
                data["content"] = print_of_dataset(vars(loader).get("dataset"))
        self.recorder.emit("loader", made, data)


def _rows(batch: Any) -> int:
    """How many samples a batch of torch's own collation has; 0 where that can't be told without asking the program's
    own classes."""
    part = batch[0] if type(batch) in (list, tuple) and batch else batch
    return part.shape[0] if type(part) is torch.Tensor and part.dim() else 0


def _makes(frame: FrameType, loader: Any) -> bool:
    """Whether it is the `__init__` of this loader."""
    return frame.f_code.co_name == "__init__" and first_argument(frame) is loader


def among_ranks() -> bool:
    """Whether there may be other ranks with the same data."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def _subset(sampler: Any) -> tuple[int, int]:
    """How many samples a chosen subset has, and how many its dataset has at least: by the largest number among them
    (a program's `__len__` is not called once more)."""
    rows = row_numbers(sampler.indices if type(sampler) is SubsetRandomSampler else ())
    return (len(rows), int(max(rows, default=-1)) + 1) if rows is not None else (0, 0)
