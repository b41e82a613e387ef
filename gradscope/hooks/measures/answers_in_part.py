"""Whether the targets of a classification loss are the last ids of those that an embedding looks up, and the answers
are taken from these very places: `ids[:, k:]` and `hidden[:, k:]`, at the first calls of each loss from a place."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import TensorRef, version_of
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.losses import OF_CLASSES
from gradscope.hooks.recorder.values import are_ids, is_whole

FIRST = 4  # calls of a loss that are looked at, then ever more rarely
MAX_SITES = 16
MOST = 1 << 20  # ids
FEW = 8  # targets: in fewer it says little that they are equal


class AnswersInPart(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks, self.found = Looks(FIRST, MAX_SITES), Unbroken(MAX_SITES)
        # site of an embedding → what it looked up last, and its version
        self.ids: dict[int, tuple[TensorRef, int]] = {}
        self.cuts: dict[tuple[int, int, int], tuple[int, int]] = {}  # rows, places, left → site, first place
        self.recorder.functions.follow(["embedding"], self._embedding)
        self.recorder.functions.follow(["__getitem__"], self._cut)
        self.recorder.functions.follow(OF_CLASSES, self._loss)
        self.recorder.signals.before_swap.connect(self._forget)
        self.recorder.signals.before_end.connect(self._tell)

    def _forget(self, t: Any) -> None:
        self.ids.clear()

    def _embedding(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        ids = by_name(("input",), args, kwargs).get("input")
        if torch.is_grad_enabled() and are_ids(ids, MOST, FEW) and ids.dim() == 2:
            site = self.recorder.sites.current(frame)
            if site in self.ids or len(self.ids) < MAX_SITES:
                self.ids[site] = TensorRef(ids), version_of(ids)

    def _cut(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """`hidden[:, k:]` of what has a graph: the numbers of a slice stand in no graph."""
        if not self.ids or len(args) != 2 or type(args[1]) is not tuple or not 2 <= len(args[1]) <= 3:
            return
        whole, (rows, places, *rest) = args
        if not isinstance(whole, torch.Tensor) or not whole.requires_grad or whole.dim() != 3:
            return
        plain = all(type(one) is slice and is_whole(one) for one in (rows, *rest))
        if not plain or type(places) is not slice or type(places.start) is not int or places.step is not None:
            return
        first, last, _ = places.indices(whole.shape[1])
        if 0 < first < last == whole.shape[1]:
            key = whole.shape[0], whole.shape[1], last - first
            if key in self.cuts or len(self.cuts) < MAX_SITES:
                self.cuts[key] = self.recorder.sites.current(frame), first

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.cuts or not torch.is_grad_enabled():
            return
        given = by_name(("input", "target", "weight", "size_average", "ignore_index"), args, kwargs)
        target, left_out = given.get("target"), given.get("ignore_index", -100)
        if not are_ids(target, MOST, FEW):
            return
        site = self.recorder.sites.current(frame)
        if not self.found.is_open(site) or not self.looks.due(site):
            return
        for looked_up, (ref, version) in self.ids.items():
            ids = ref()
            if ids is None or version_of(ids) != version:
                continue
            for (rows, places, left), (cut, first) in self.cuts.items():
                if ids.shape == (rows, places) and target.numel() == rows * left:
                    data = {
                        "name": name,
                        "embedding": looked_up,
                        "cut": cut,
                        "first": first,
                        "places": places,
                    }
                    self.recorder.arrivals.when_here(
                        (ids, target),
                        lambda ids, target, data=data: self._look(site, ids, target, left_out, data),
                    )
                    return
        self.found.end(site)

    def _look(self, site: int, ids: torch.Tensor, target: torch.Tensor, left_out: Any, data: Any) -> None:
        wanted = target.flatten()
        counts = wanted != left_out
        asked = ids[:, data["first"] :].flatten()[counts]
        if len(asked) >= FEW and len(asked.unique()) > 1 and torch.equal(asked, wanted[counts]):
            told = self.found.hold(site, **data, answers=0)
            told["answers"] += len(asked)
        else:
            self.found.end(site)

    def _tell(self) -> None:
        for site, data in self.found.told.items():
            self.recorder.emit("answers_in_part", site, data)
