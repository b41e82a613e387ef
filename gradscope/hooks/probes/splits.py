"""Notes what `random_split` drew in one of several processes: ranks that draw for themselves divide the data each in
its own way."""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from torch.utils.data import Subset, random_split

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.datasets import print_of_dataset
from gradscope.hooks.probes.loaders import among_ranks
from gradscope.hooks.variables import variables

_SPLITS = random_split.__code__
_BETWEEN = 4  # frames
_ELEMENTS = 4096  # looked at of the numbers of each part


@dataclass
class _Split:
    """One call. `used`: the parts that a loader went through."""

    site: int
    content: str
    sizes: list[int] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)  # a digest of the numbers of each part
    parts: list[Callable[[], Any]] = field(default_factory=list)
    used: set[int] = field(default_factory=set)


class Splits(Hook):
    order = 30

    def install(self) -> None:
        self.splits: list[_Split] = []
        self.missing = 0  # parts that the latest one has not made yet
        self.patch(Subset, "__init__", self._made(Subset.__init__))
        self.recorder.signals.loader_iterated.connect(self._iterated)
        self.recorder.signals.before_end.connect(self._tell)

    def _made(self, real: Any) -> Any:
        """A name that the program has imported would lead past `random_split` itself."""
        recorder = self.recorder

        def __init__(subset: Any, /, *args: Any, **kwargs: Any) -> None:
            real(subset, *args, **kwargs)
            if (recorder.several or among_ranks()) and recorder.mine():
                try:
                    frame = _split(sys._getframe(1))
                    if frame is not None:
                        with private.aside():
                            self._note(subset, frame)
                except BaseException as error:
                    recorder.fault("recording a split of data", error)

        return __init__

    def _note(self, part: Any, frame: FrameType) -> None:
        numbers, dataset = vars(part).get("indices"), vars(part).get("dataset")
        if type(numbers) is not list:
            return
        if not self.missing:
            if (lengths := variables(frame).get("lengths")) is None:
                return
            self.missing = len(lengths)
            site = self.recorder.sites.current(frame.f_back)
            self.splits.append(_Split(site, print_of_dataset(dataset)))
        self.missing -= 1
        split = self.splits[-1]
        split.sizes.append(len(numbers))
        split.drawn.append(_digest(numbers))
        split.parts.append(weakref.ref(part))

    def _iterated(self, iterator: Any, made: int, loop: int) -> None:
        dataset = vars(iterator).get("_dataset")
        for split in self.splits:
            split.used |= {number for number, part in enumerate(split.parts) if part() is dataset}

    def _tell(self) -> None:
        for split in self.splits:
            data = {
                "content": split.content, "sizes": split.sizes, "drawn": split.drawn, "used": sorted(split.used),
            }  # fmt: skip
            self.recorder.emit("split", split.site, data)


def _split(frame: FrameType | None) -> FrameType | None:
    """The frame of `random_split`, where it makes the part: a comprehension of it, and others who watch the same call,
    stand between."""
    for _ in range(_BETWEEN):
        if frame is None or frame.f_code is _SPLITS:
            return frame
        frame = frame.f_back
    return None


def _digest(numbers: Sequence[int]) -> str:
    kept = numbers[:: 1 + len(numbers) // _ELEMENTS]
    return hashlib.sha1(repr([int(number) for number in kept]).encode()).hexdigest()[:16]
