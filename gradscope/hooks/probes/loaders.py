"""Notes each DataLoader that is gone through: where it was made, whether it draws its samples in a random order, and of
a chosen subset how many."""

from __future__ import annotations

import functools
import sys
import weakref
from typing import Any

from torch import distributed
from torch.utils.data import (
    DataLoader,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.datasets import print_of_dataset

DRAWING = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)


class Loaders(Hook):
    order = 29

    def install(self) -> None:
        self.made: dict[int, tuple[Any, int]] = {}  # id of a loader → (weak reference, site)
        self.told: set[tuple[int, int]] = set()
        self.patch(DataLoader, "__init__", self._make(DataLoader.__init__))
        self.patch(private.LoaderIterator, "__init__", self._iterate(private.LoaderIterator.__init__))

    def _make(self, real: Any) -> Any:
        recorder = self.recorder

        @functools.wraps(real)
        def __init__(loader: Any, /, *args: Any, **kwargs: Any) -> None:
            real(loader, *args, **kwargs)
            if recorder.mine():
                try:
                    site = recorder.sites.current(sys._getframe(1))
                    self.made[id(loader)] = (weakref.ref(loader), site)
                except BaseException as error:
                    recorder.fault("recording a DataLoader", error)

        return __init__

    def _iterate(self, real: Any) -> Any:
        recorder = self.recorder

        @functools.wraps(real)
        def __init__(iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
            real(iterator, loader, *args, **kwargs)
            known = self.made.get(id(loader))
            if known is not None and known[0]() is loader and recorder.mine():
                try:
                    loop = recorder.sites.current(sys._getframe(1))
                    self._note(loader, known[1], loop)
                    for follow in recorder.signals.loader_iterated:
                        follow(iterator, known[1], loop)
                except BaseException as error:
                    recorder.fault("recording a DataLoader", error)

        return __init__

    def _note(self, loader: Any, made: int, loop: int) -> None:
        if (made, loop) in self.told:
            return
        self.told.add((made, loop))
        sampler = vars(loader).get("sampler")
        order = "drawn" if type(sampler) in DRAWING else "given" if type(sampler) is SequentialSampler else ""
        subset = _subset(sampler)
        data = {"loop": loop, "order": order, "drawn": subset[0], "held": subset[1]}
        if type(sampler) is RandomSampler and not vars(sampler).get("replacement") and _among_ranks():
            with private.aside():
                data["content"] = print_of_dataset(vars(loader).get("dataset"))
        self.recorder.emit("loader", made, data)


def _among_ranks() -> bool:
    """Whether there may be other ranks with the same data."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def _subset(sampler: Any) -> tuple[int, int]:
    """How many samples a chosen subset has, and how many its dataset has at least: by the largest number among them
    (a program's `__len__` is not called once more)."""
    chosen: Any = sampler.indices if type(sampler) is SubsetRandomSampler else ()
    if type(chosen).__module__ == "numpy":
        chosen = chosen.tolist()
    if not isinstance(chosen, (list, tuple, range)):
        return 0, 0
    if not all(type(number) is int or type(number).__module__ == "numpy" for number in chosen):
        return 0, 0
    return len(chosen), int(max(chosen, default=-1)) + 1
