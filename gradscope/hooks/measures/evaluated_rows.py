"""Which rows of a dataset are evaluated after steps that were made on them: of loaders of subsets, as a cross
validation makes them for each fold."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.data import BatchSampler, Subset, SubsetRandomSampler

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.datasets import Numbered, row_numbers

MOST = 24  # loaders
MOST_ROWS = 50_000  # of each


@dataclass
class _Trained:
    """A loader that was gone through with gradients on, and how many steps there had been by then."""

    rows: frozenset[int]
    steps: int


@dataclass
class _Evaluated:
    """Loaders of one line: of each its rows, those that were trained on before, those of the latest training."""

    loop: int
    samples: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    latest: list[int] = field(default_factory=list)


class EvaluatedRows(Hook):
    order = 31  # behind the loaders

    def install(self) -> None:
        self.met: dict[int, weakref.ref[Any]] = {}  # loaders' subsets or samplers, by id
        self.datasets = Numbered()
        self.trained: dict[int, list[_Trained]] = {}  # by number of the dataset
        self.evaluated: dict[tuple[int, int, int], _Evaluated] = {}  # by that, the loader's site, the loop
        self.recorder.signals.loader_iterated.connect(self._iterated)
        self.recorder.signals.before_end.connect(self._tell)

    def _iterated(self, iterator: Any, made: int, loop: int) -> None:
        if len(self.met) >= MOST:
            return
        chosen, whole, rows = _subset(iterator)
        if whole is None or self._is_met(chosen):
            return
        with private.aside():
            plain = row_numbers(rows.tolist() if isinstance(rows, torch.Tensor) else rows, MOST_ROWS)
            found = frozenset(map(int, plain)) if plain is not None else None
        number = self.datasets.number(whole)
        if found is None or number is None:
            return
        self.met[id(chosen)] = weakref.ref(chosen)
        steps = sum(one["steps"] for one in self.recorder.optimizers.values())
        trained = self.trained.setdefault(number, [])
        if torch.is_grad_enabled():
            trained.append(_Trained(found, steps))
        elif trained:
            ends = [one.steps for one in trained[1:]]
            used = [one.rows for one, end in zip(trained, ends, strict=False) if end > one.steps]
            own = self.evaluated.setdefault((number, made, loop), _Evaluated(loop))
            own.samples.append(len(found))
            own.before.append(len(found & frozenset().union(*used)))
            own.latest.append(len(found & trained[-1].rows))

    def _is_met(self, chosen: Any) -> bool:
        known = self.met.get(id(chosen))
        return known is not None and known() is chosen

    def _tell(self) -> None:
        for (_, made, _), found in self.evaluated.items():
            if len(found.samples) > 1:
                data = {
                    "loop": found.loop, "samples": found.samples, "before": found.before, "latest": found.latest,
                }  # fmt: skip
                self.recorder.emit("rows_evaluated", made, data)


def _subset(iterator: Any) -> tuple[Any, Any, Any]:
    """What chooses the rows of a loader, of which dataset, and which ones."""
    dataset = vars(iterator).get("_dataset")
    if type(dataset) is Subset:
        return dataset, dataset.dataset, dataset.indices
    batches = vars(iterator).get("_index_sampler")
    sampler = vars(batches).get("sampler") if type(batches) is BatchSampler else None
    return (sampler, dataset, sampler.indices) if type(sampler) is SubsetRandomSampler else (None, None, None)
