"""Losses that compare what a network has made of one loader's batch with a batch of another loader, where both draw the
order of their samples by themselves: which rows each asked for first."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.utils.data import BatchSampler, RandomSampler

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.datasets import tensors_of
from gradscope.hooks.recorder.losses import OF_ALL, SUBTRACTIONS
from gradscope.hooks.recorder.values import measurable

SHOWN = 6  # rows
MOST = 16  # loaders


@dataclass(eq=False)
class _Turn:
    """One pass over a loader: what it gave last, and the rows that it asked for first."""

    made: int
    loop: int
    number: int  # in the order in which they began
    rows: list[int] = field(default_factory=list)
    batch: list[tuple[Any, int]] = field(default_factory=list)  # weak reference, address

    def gave(self, t: torch.Tensor) -> bool:
        return any(address == t.data_ptr() and ref() is not None for ref, address in self.batch)


@dataclass
class _Pair:
    inputs: _Turn
    targets: _Turn
    count: int = 0


class ShuffledApart(Hook):
    order = 93  # after the mode that calls it

    def install(self) -> None:
        self.asked: WeakKeyDictionary[Any, list[int]] = WeakKeyDictionary()  # by iterator
        self.turns: WeakKeyDictionary[Any, _Turn] = WeakKeyDictionary()
        self.begun = 0
        self.fed: set[int] = set()  # loaders whose present batch a module was given
        self.pairs: dict[tuple[int, int, int], _Pair] = {}  # sites of the loss and of both loaders
        iterator = private.LoaderIterator
        if hasattr(iterator, "_next_index"):
            self.patch(iterator, "_next_index", self._next_index(iterator._next_index))
            signals = self.recorder.signals
            signals.loader_iterated.connect(self._iterated)
            signals.batch_given.connect(self._given)
            signals.module_input.connect(self._called)
            signals.before_swap.connect(self._forget)
            signals.before_end.connect(self._tell)
            self.recorder.functions.follow((*OF_ALL, *SUBTRACTIONS), self._compared)

    def _forget(self, t: Any) -> None:
        for turn in self.turns.values():
            turn.batch = []

    def _next_index(self, real: Any) -> Any:
        @functools.wraps(real)
        def _next_index(iterator: Any, /) -> Any:
            index = real(iterator)
            if iterator not in self.asked:
                self.asked[iterator] = index[:SHOWN] if type(index) is list else []
            return index

        return _next_index

    def _iterated(self, iterator: Any, made: int, loop: int) -> None:
        asked = vars(iterator).get("_index_sampler")
        order = vars(asked).get("sampler") if issubclass(type(asked), BatchSampler) else None
        if type(order) is RandomSampler and len(self.turns) < MOST:
            self.begun += 1
            self.turns[iterator] = _Turn(made, loop, self.begun)

    def _given(self, iterator: Any, batch: Any) -> None:
        turn = self.turns.get(iterator) if len(self.turns) > 1 else None
        if turn is None:
            return
        turn.rows = turn.rows or [row for row in self.asked.get(iterator, ()) if type(row) is int]
        with private.aside():
            turn.batch = [(private.TensorRef(t), t.data_ptr()) for t in tensors_of(batch)]
        self.fed.discard(turn.made)

    def _called(self, given: list[Any], *_: Any) -> None:
        if len(self.turns) > 1:
            with private.aside():
                self.fed.update(turn.made for t in given if (turn := self._turn(t)) is not None)

    def _compared(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(self.turns) < 2 or not torch.is_grad_enabled():
            return
        sides = [*args[:2], *((kwargs or {}).get(side) for side in ("input", "target", "other"))]
        tensors = [t for t in sides if isinstance(t, torch.Tensor)]
        given = [turn for t in tensors if not t.requires_grad and (turn := self._turn(t)) is not None]
        if len(tensors) != 2 or len(given) != 1 or len(self.fed) != 1 or given[0].made in self.fed:
            return
        inputs = next((turn for turn in self.turns.values() if turn.made in self.fed and turn.batch), None)
        if inputs is None or not inputs.rows or not given[0].rows or inputs.rows == given[0].rows:
            return
        if _size(inputs) == _size(given[0]):
            key = self.recorder.sites.current(frame), inputs.made, given[0].made
            self.pairs.setdefault(key, _Pair(inputs, given[0])).count += 1

    def _turn(self, t: Any) -> _Turn | None:
        """The pass over a loader whose present batch a tensor is of."""
        if not isinstance(t, torch.Tensor) or t.layout is not torch.strided or not measurable(t):
            return None
        return next((turn for turn in self.turns.values() if turn.gave(t)), None)

    def _tell(self) -> None:
        for (site, inputs, targets), pair in self.pairs.items():
            data = {
                "inputs": inputs, "targets": targets, "loop": pair.inputs.loop, "other": pair.targets.loop,
                "first": pair.inputs.number < pair.targets.number, "calls": pair.count,
                "rows": pair.inputs.rows, "others": pair.targets.rows,
            }  # fmt: skip
            self.recorder.emit("shuffled_apart", site, data)


def _size(turn: _Turn) -> int:
    first = turn.batch[0][0]() if turn.batch else None
    return len(first) if first is not None else -1
