"""Where a gradient goes that the program reads.

To look at a gradient is no use of it: one that is printed, or of which a norm becomes a number, is as
unused as before. It is *taken* when its values, or what was computed from them, go on: into the memory of
a leaf, into the gradient of another, into a graph, or into a computation after its own life (it was kept
over the next pass, or over a `zero_grad()`). What leaves torch as numbers can't be followed: it was
*handed out*.

Followed are the tensors that hold such values, by their memory, and only while there are any.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradscope.hooks.recorder.learn import CONVERSIONS

if TYPE_CHECKING:
    from gradscope.hooks.recorder.leaf import LeafRecord
    from gradscope.hooks.recorder.state import State
    from gradscope.hooks.recorder.values import Live

MAX_FOLLOWED = 4096
ALL = 16  # parts that a tensor may have before those between are left out
MAX_PLACES = 8  # where a leaf's gradient was taken, told of each


class Part(NamedTuple):
    """What a tensor has of one gradient."""

    record: LeafRecord
    passes: int  # of its leaf, when it was read: they tell this gradient from the next
    whole: bool  # as many numbers as the gradient has, and no summary such as a norm


class GradientUses:
    """The memory that holds gradients' values, and whose."""

    def __init__(self, state: State, leaves: dict[int, LeafRecord]):
        self.state = state
        self.leaves = leaves  # memory → its leaf: the ledger's
        self.held: dict[int, set[Part]] = {}  # memory → what it has of gradients
        self.gradients: dict[int, LeafRecord] = {}  # of them, those that are a leaf's `.grad` itself

    def read(self, record: LeafRecord, grad: Any, site: int) -> None:
        """The program reads `.grad`."""
        live = self.state.live
        root = (live.find(grad) or live.make(grad)).root
        if len(self.held) >= MAX_FOLLOWED:
            self._forget()
        self.held[root] = {Part(record, record.passes, True)}
        self.gradients[root] = record
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            self._take({Part(record, record.passes, True)}, site)  # other processes may get it

    def _forget(self) -> None:
        """Drops what was read of gradients long gone."""
        for root, parts in list(self.held.items()):
            if all(part.record.passes > part.passes + 1 or part.record.ref() is None for part in parts):
                del self.held[root]
                self.gradients.pop(root, None)
        if len(self.held) >= MAX_FOLLOWED:
            self.held.clear()
            self.gradients.clear()

    def of(self, entries: Iterable[Live]) -> set[Part]:
        """What these tensors have of gradients."""
        held = self.held
        return {part for entry in entries if entry.root in held for part in held[entry.root]}

    def consumed(self, name: str, parts: set[Part], entries: list[Live], writes: Any, site: int) -> None:
        """An op was given these tensors, and wrote to some. Called before it is noted."""
        if name in CONVERSIONS:
            for part in parts:
                if part.whole:
                    part.record.handed += not part.record.handed_since
                    part.record.handed_since = True
            return
        leaves = self.leaves
        beside = any(entry.root in leaves for entry in entries)
        whole = {part for part in parts if part.whole}
        late = any(self._is_over(part) for part in whole)
        if (beside and whole) or any(entries[i].root in leaves for i in writes):
            self._take(parts, site)
        elif late:
            self._take(whole, site)
        for position in writes:
            root = entries[position].root
            owner = self.gradients.get(root)
            if owner is not None:  # `q.grad.copy_(p.grad)`
                self._take({part for part in whole if part.record is not owner}, site)
            else:
                self.held[root] = _few(self.held.get(root, set()) | parts)

    def made(self, parts: set[Part], outs: list[Any], site: int) -> None:
        """What the op gave has its part of the same gradients."""
        live, held = self.state.live, self.held
        for t in outs:
            if t.requires_grad:
                self._take(parts, site)
                continue
            entry = live.find(t)
            if entry is None or entry.root in held:
                continue
            numbers = t.numel()
            held[entry.root] = _few(
                {
                    part if not part.whole or _reaches(numbers, part.record) else part._replace(whole=False)
                    for part in parts
                }
            )

    def given(self, tensors: Iterable[Any], site: int) -> None:
        """Tensors that a backward pass starts from, or that become a leaf's values."""
        if not self.held:
            return
        found = (self.state.live.find(t) for t in tensors if isinstance(t, torch.Tensor))
        self._take(self.of(entry for entry in found if entry is not None), site)

    def put(self, record: LeafRecord, grad: Any, site: int) -> None:
        """The program makes `grad` the gradient of a leaf."""
        entry = self.state.live.find(grad) if self.held else None
        if entry is not None and entry.root in self.held:
            parts = self.held[entry.root]
            self._take({p for p in parts if p.record is not record or self._is_over(p)}, site)

    @staticmethod
    def _is_over(part: Part) -> bool:
        """Whether the gradient is no more what it was: another pass came, or it was cleared."""
        record = part.record
        return record.passes != part.passes or record.state in ("none", "zero")

    @staticmethod
    def _take(parts: Iterable[Part], site: int) -> None:
        for part in parts:
            record = part.record
            record.taken += not record.taken_since
            record.taken_since = True
            if len(record.taken_at) < MAX_PLACES:
                record.taken_at.add(site)


def _few(parts: set[Part]) -> set[Part]:
    """Of each leaf's gradients the oldest and the newest: whether one is over, and whose they are, does not depend on
    those between. A running average has parts of all."""
    if len(parts) <= ALL:
        return parts
    found: dict[tuple[int, bool], tuple[Part, Part]] = {}
    for part in parts:
        key = (id(part.record), part.whole)
        first, last = found.get(key, (part, part))
        found[key] = (
            part if part.passes < first.passes else first,
            part if part.passes > last.passes else last,
        )
    return {part for both in found.values() for part in both}


def _reaches(numbers: Any, record: LeafRecord) -> bool:
    """Whether a tensor of so many numbers can hold all of this leaf's gradient."""
    leaf = record.ref()
    size = leaf.numel() if leaf is not None else 0
    return type(numbers) is not int or type(size) is not int or numbers >= size
