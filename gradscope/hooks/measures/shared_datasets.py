"""Parts of one dataset, of which one is trained on and another one evaluated: whether the rows of the evaluation are
the same ones in each pass, and which attributes the dataset kept all along."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.utils.data import BatchSampler, SequentialSampler, Subset

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.datasets import Numbered, tensors_of
from gradscope.hooks.recorder.parts import attributes

MOST = 16  # loaders
ATTRIBUTES = 64  # of a dataset
ROWS = 64  # of the first batch of a pass
ELEMENTS = 256  # of each row


@dataclass
class _Entry:
    """One tensor of a loader's first batch. `first`: what the first pass had; `differing`: rows that another one had
    otherwise."""

    first: torch.Tensor
    size: list[int]
    differing: int = 0


@dataclass
class _Part:
    """A loader of a subset. `loop`: what goes through it; `subset`: where that was made, and the how manieth there;
    `whole`: the number of its dataset; `kept`: what that had as
    attributes in each pass so far, by name."""

    made: int
    loop: int
    subset: tuple[int | None, int]
    whole: int
    dataset: str
    evaluated: bool
    kept: dict[str, Callable[[], Any]]
    passes: int = 0
    entries: list[_Entry] = field(default_factory=list)


class SharedDatasets(Hook):
    order = 31  # behind the loaders

    def install(self) -> None:
        self.datasets = Numbered()
        self.subsets: dict[
            int, tuple[Any, int, int]
        ] = {}  # by id: which one, where it was made, its place there
        self.parts: list[_Part] = []
        # of iterators that have given nothing yet
        self.begun: WeakKeyDictionary[Any, _Part] = WeakKeyDictionary()
        self.patch(Subset, "__init__", self._make(Subset.__init__))
        self.recorder.signals.loader_iterated.connect(self._iterated)
        self.recorder.signals.batch_given.connect(self._given)
        self.recorder.signals.before_end.connect(self._tell)

    def _make(self, real: Any) -> Any:
        recorder = self.recorder

        def __init__(subset: Any, /, *args: Any, **kwargs: Any) -> None:
            real(subset, *args, **kwargs)
            if len(self.subsets) < MOST and recorder.mine():
                try:
                    site = recorder.sites.current(sys._getframe(1))
                    place = sum(made == site for _, made, _ in self.subsets.values())
                    self.subsets[id(subset)] = weakref.ref(subset), site, place
                except BaseException as error:
                    recorder.fault("recording a part of a dataset", error)

        return __init__

    def _iterated(self, iterator: Any, made: int, loop: int) -> None:
        subset = vars(iterator).get("_dataset")
        if type(subset) is not Subset:
            return
        whole, off = self.datasets.number(subset.dataset), not torch.is_grad_enabled()
        if whole is None:
            return
        held = attributes(subset.dataset)
        part = next((p for p in self.parts if (p.made, p.loop, p.whole) == (made, loop, whole)), None)
        if part is None:
            if len(self.parts) == MOST:
                return
            known = self.subsets.get(id(subset))
            at = known[1:] if known is not None and known[0]() is subset else (None, 0)
            part = _Part(made, loop, at, whole, type(subset.dataset).__name__, off, _held(held))
            self.parts.append(part)
        part.evaluated &= off
        part.kept = {
            name: thing for name, thing in part.kept.items() if name in held and thing() is held[name]
        }
        asked = vars(iterator).get("_index_sampler")
        order = vars(asked).get("sampler") if issubclass(type(asked), BatchSampler) else None
        if part.evaluated and type(order) is SequentialSampler:
            self.begun[iterator] = part

    def _given(self, iterator: Any, batch: Any) -> None:
        part = self.begun.pop(iterator, None) if self.begun else None
        if part is not None:
            with private.aside():
                _compare(part, batch)

    def _tell(self) -> None:
        for part in self.parts:
            trained = next((p for p in self.parts if not p.evaluated and p.whole == part.whole), None)
            if not part.evaluated or trained is None:
                continue
            # One object has one weak reference.
            kept = sorted(name for name, held in part.kept.items() if trained.kept.get(name) is held)
            data = {
                "loop": part.loop, "subset": part.subset[0], "place": part.subset[1],
                "trained": trained.made, "training": trained.subset[0], "training_place": trained.subset[1],
                "dataset": part.dataset, "kept": kept, "passes": part.passes,
                "rows": len(part.entries[0].first) if part.entries else 0,
                "differing": [entry.differing for entry in part.entries],
                "sizes": [entry.size for entry in part.entries],
            }  # fmt: skip
            self.recorder.emit("dataset_shared", part.made, data)


def _held(attributes: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Those that can be told again without being kept alive."""
    found: dict[str, Callable[[], Any]] = {}
    for name, thing in list(attributes.items())[:ATTRIBUTES]:
        try:
            single = next((held for held in SINGLE if held() is thing), None)
            found[name] = single if single is not None else weakref.ref(thing)
        except TypeError:
            continue
    return found


def _nothing() -> None:
    return None


def _true() -> bool:
    return True


def _false() -> bool:
    return False


SINGLE = (_nothing, _true, _false)


def _compare(part: _Part, batch: Any) -> None:
    """Looks at the first batch of a pass."""
    tensors = tensors_of(batch)
    rows = [t.detach()[:ROWS].reshape(min(len(t), ROWS), -1)[:, :ELEMENTS] for t in tensors]
    sizes = [list(t.shape) for t in tensors]
    part.passes += 1
    if part.passes == 1:
        part.entries = [_Entry(r.clone(), size) for r, size in zip(rows, sizes, strict=True)]
    elif sizes == [entry.size for entry in part.entries]:
        for entry, now in zip(part.entries, rows, strict=True):
            other = (now != entry.first) & ~((now != now) & (entry.first != entry.first))
            entry.differing = max(entry.differing, int(other.any(dim=1).sum()))
