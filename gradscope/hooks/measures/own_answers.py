"""Whether the ids that an embedding looks up are the targets of a classification loss, place by place or each the one
or two before its target, at the first calls of each loss from a place. Of a binary cross entropy also how many answers
are right, from then on ever more rarely. Targets that were packed are compared as they were before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.losses import OF_CLASSES
from gradscope.hooks.recorder.values import are_ids, can_be_asked

OF_BITS = {"binary_cross_entropy": 0.5, "binary_cross_entropy_with_logits": 0.0}  # → what is above it says 1
ARGUMENTS = ("input", "target", "weight", "size_average", "ignore_index")
FEW = 8  # places: in fewer it says little that they are equal
MAX_ELEMENTS = 1_000_000
CALLS = 3  # of each loss
LOOKUPS = 200  # calls of embeddings whose ids are taken down
SITES = 8
STEPS = (1, 2)  # by how many places ids are moved to be the targets
PACKED = 4  # of the last packed ids are remembered


@dataclass
class _Compared:
    """What a loss's calls at one place were compared with."""

    name: str
    calls: int = 0
    alike: dict[int, int] = field(default_factory=dict)  # site of an embedding → calls with equal ids
    other: set[int] = field(default_factory=set)  # sites of those that had as many ids, and others
    before: dict[tuple[int, int, int], int] = field(
        default_factory=dict
    )  # the same with ids moved along an axis by so many places
    right: float = 0.0  # of binary answers, in the last call that was looked at


class OwnAnswers(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.ids: dict[int, Any] = {}  # site → the ids of its last call
        self.lookups = 0
        self.losses: dict[int, _Compared] = {}
        self.packed: dict[int, tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = {}
        """Address of packed ids → these, how they were before, and which places of that count."""
        self.looks = Looks(2 * CALLS)
        self.recorder.functions.follow(["embedding"], self._embedding)
        self.recorder.functions.follow(["_pack_padded_sequence"], self._pack)
        self.recorder.functions.follow(OF_CLASSES, self._loss)
        self.recorder.functions.follow(OF_BITS, self._bits)
        self.recorder.signals.before_end.connect(self._tell)

    def _embedding(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.lookups >= LOOKUPS or not torch.is_grad_enabled():
            return
        ids = by_name(("input",), args, kwargs).get("input")
        if not are_ids(ids, MAX_ELEMENTS, FEW) or ids.dim() < 2:
            return
        site = self.recorder.sites.current(frame)
        if site in self.ids or len(self.ids) < SITES:
            self.lookups += 1
            self.recorder.arrivals.when_here((ids,), lambda ids: self._keep(site, ids))

    def _keep(self, site: int, ids: torch.Tensor) -> None:
        self.ids[site] = ids.clone()

    def _pack(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) < 3 or not isinstance(result, tuple) or len(result) != 2:
            return
        ids, data, sizes = args[0], result[0], result[1]
        if not all(are_ids(one, MAX_ELEMENTS, FEW) for one in (ids, data)):
            return
        if ids.dim() != 2 or not args[2] or not data.is_cpu:
            return
        if all(one.calls >= CALLS for one in self.losses.values()) and self.losses:
            return

        def keep(ids: torch.Tensor, sizes: torch.Tensor) -> None:
            rows = torch.arange(len(ids), device="cpu").unsqueeze(1)
            counts = torch.zeros(ids.shape, dtype=torch.bool, device="cpu")
            counts[:, : len(sizes)] = rows < sizes
            self.packed[data.data_ptr()] = data, ids.clone(), counts
            while len(self.packed) > PACKED:
                del self.packed[next(iter(self.packed))]

        self.recorder.arrivals.when_here((ids, sizes), keep)

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.lookups or not torch.is_grad_enabled():
            return
        given = by_name(ARGUMENTS, args, kwargs)
        target = given.get("target")
        if not are_ids(target, MAX_ELEMENTS, FEW):
            return
        site = self.recorder.sites.current(frame)
        compared = self.losses.setdefault(site, _Compared(name))
        if compared.calls >= CALLS:
            return
        left_out = given.get("ignore_index", -100)
        before = self.packed.get(target.data_ptr()) if target.is_cpu and target.dim() == 1 else None
        if before is not None and before[0].shape == target.shape:
            self._compare(compared, before[1].flatten(), left_out, before[2].flatten())
            return
        self.recorder.arrivals.when_here(
            (target,), lambda target: self._compare(compared, target.flatten(), left_out)
        )

    def _bits(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.lookups or not torch.is_grad_enabled():
            return
        given = by_name(ARGUMENTS, args, kwargs)
        answers, target = given.get("input"), given.get("target")
        if not (can_be_asked(answers, MAX_ELEMENTS) and can_be_asked(target, MAX_ELEMENTS)):
            return
        if target.numel() < FEW:
            return
        site = self.recorder.sites.current(frame)
        compared = self.losses.setdefault(site, _Compared(name))
        if (compared.calls >= CALLS and not compared.alike) or not self.looks.due(site):
            return

        def look(answers: torch.Tensor, target: torch.Tensor) -> None:
            if compared.calls < CALLS:
                self._compare_bits(compared, target)
            if answers.shape == target.shape:
                compared.right = float(((answers > OF_BITS[name]) == (target > 0.5)).float().mean())

        self.recorder.arrivals.when_here((answers, target), look)

    def _compare_bits(self, compared: _Compared, target: torch.Tensor) -> None:
        """The same for targets of 0 and 1; of other lookups only what gives the answers before each place counts."""
        ones = target == 1
        compared.calls += 1
        if not bool((ones | (target == 0)).all()) or not 0 < int(ones.sum()) < ones.numel():
            return
        wanted = ones.long()
        for looked_up, ids in self.ids.items():
            if ids.numel() != wanted.numel():
                continue
            if torch.equal(ids.flatten(), wanted.flatten()):
                compared.alike[looked_up] = compared.alike.get(looked_up, 0) + 1
            elif torch.equal(ids[:, 1:].flatten(), wanted.reshape(ids.shape)[:, :-1].flatten()):
                compared.other.add(looked_up)

    def _compare(
        self,
        compared: _Compared,
        wanted: torch.Tensor,
        left_out: Any,
        places: torch.Tensor | None = None,
    ) -> None:
        """places: which of these targets there are; None for all."""
        if not self.ids:
            return
        compared.calls += 1
        counts = wanted != left_out if places is None else places & (wanted != left_out)
        several = int(counts.sum()) * 2 >= len(wanted) and len(wanted[counts].unique()) > 1
        for looked_up, ids in self.ids.items():
            for axis, by in _moved(ids, wanted, counts) if several else ():
                key = looked_up, axis, by
                compared.before[key] = compared.before.get(key, 0) + 1
            if ids.numel() != len(wanted):
                continue
            if several and torch.equal(ids.flatten()[counts], wanted[counts]):
                compared.alike[looked_up] = compared.alike.get(looked_up, 0) + 1
            else:
                compared.other.add(looked_up)
        if compared.calls >= CALLS and all(one.calls >= CALLS for one in self.losses.values()):
            self.ids, self.packed = {}, {}

    def _tell(self) -> None:
        for site, compared in self.losses.items():
            for looked_up, alike in compared.alike.items():
                if alike == compared.calls:
                    data = {
                        "name": compared.name, "embedding": looked_up, "calls": compared.calls,
                        "beside": sorted(compared.other), "right": compared.right,
                    }  # fmt: skip
                    self.recorder.emit("own_answers", site, data)
            for (looked_up, axis, by), before in compared.before.items():
                if before == compared.calls:
                    data = {
                        "name": compared.name, "embedding": looked_up, "calls": before, "axis": axis, "by": by,
                    }  # fmt: skip
                    self.recorder.emit("next_answers", site, data)


def _moved(ids: torch.Tensor, wanted: torch.Tensor, counts: torch.Tensor) -> Iterator[tuple[int, int]]:
    """The axes along which each target is an id that comes later, and by how many places; targets for which there is
    no such id, at a sequence's end, may be anything."""
    for axis in (0, 1) if ids.dim() == 2 else ():
        size = ids.shape[axis]
        others = ids.numel() // size
        if size <= STEPS[-1] or len(wanted) % others:
            continue
        shape = list(ids.shape)
        shape[axis] = len(wanted) // others
        for by in STEPS:
            if not size - by <= shape[axis] <= size:
                continue
            targets, asked = (one.reshape(shape).narrow(axis, 0, size - by) for one in (wanted, counts))
            following = ids.narrow(axis, by, size - by)
            if int(asked.sum()) >= FEW and torch.equal(following[asked], targets[asked]):
                yield axis, by
