"""Datasets that write into what they keep of a sample each time they are asked for it, and give what they have written,
or that do so the first time only: some of the samples are compared from before to behind the call, in the arrays and
tensors that the dataset holds."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.data import Dataset, Subset, get_worker_info

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.datasets import row_numbers, tensors_of
from gradscope.hooks.recorder.parts import attributes

SAMPLES = 8  # of each dataset, that are followed
VISITS = 4  # to each of them, that are looked at
MOST = 16  # datasets
NUMBERS = 4  # of a sample, at least: fewer may be a count
ELEMENTS = 1 << 16  # of a sample, at most
ATTRIBUTES = 32
DEEP = 2  # datasets in datasets
ALIKE = 0.9  # correlation of the new numbers with the old: what is drawn anew has none
SAME = 0.999  # of what is given with what is kept
LEAST = 1e-3  # part of the largest number that a change is: less is rounding


@dataclass
class _Row:
    """A kept sample, over the visits to it."""

    owner: type
    name: str  # the attribute
    array: bool  # of numpy's
    visits: int = 0
    changed: int = 0
    given: int = 0  # visits that gave what was written
    first: float = 0.0  # deviation before the first visit
    last: float = 0.0  # behind the latest


@dataclass
class _Kept:
    ref: Callable[[], Any]
    made: int
    loop: int
    dataset: type
    visits: dict[int, int] = field(default_factory=dict)  # by number of a sample
    rows: dict[tuple[int, type, str], _Row] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        return len(self.visits) == SAMPLES and min(self.visits.values()) >= VISITS


class StoredSamples(Hook):
    order = 32

    def install(self) -> None:
        self.kept: dict[int, _Kept] = {}  # by id
        self.patch(private.Fetcher, "fetch", self._fetch(private.Fetcher.fetch))
        self.recorder.signals.loader_iterated.connect(self._iterated)
        self.recorder.signals.before_end.connect(self._tell)

    def _iterated(self, iterator: Any, made: int, loop: int) -> None:
        dataset = vars(iterator).get("_dataset")
        known = self._known(dataset)
        if known is None and len(self.kept) < MOST:
            try:
                ref = weakref.ref(dataset)
            except TypeError:  # a list: what it holds is given as it is
                return
            self.kept[id(dataset)] = _Kept(ref, made, loop, type(dataset))

    def _known(self, dataset: Any) -> _Kept | None:
        known = self.kept.get(id(dataset))
        return known if known is not None and known.ref() is dataset else None

    def _fetch(self, real: Any) -> Any:
        recorder = self.recorder

        def fetch(fetcher: Any, index: Any, /) -> Any:
            known = self._known(fetcher.dataset) if self.kept and get_worker_info() is None else None
            before: list[tuple[int, _Row, Any, torch.Tensor]] = []
            if known is not None and not known.done:
                try:
                    with private.aside():
                        before = self._before(known, fetcher.dataset, index)
                except BaseException as error:
                    recorder.fault("looking at samples", error)
            batch = real(fetcher, index)
            if before:
                try:
                    with private.aside():
                        _compare(before, batch)
                except BaseException as error:
                    recorder.fault("looking at samples", error)
            return batch

        return fetch

    def _before(self, known: _Kept, dataset: Any, index: Any) -> list[tuple[int, _Row, Any, torch.Tensor]]:
        numbers = index if type(index) is list else [index]
        found = []
        for place, number in enumerate(numbers):
            if type(number) is not int or (number not in known.visits and len(known.visits) == SAMPLES):
                continue
            visits = known.visits[number] = known.visits.get(number, 0) + 1
            if visits > VISITS or sum(type(one) is int and one == number for one in numbers) > 1:
                continue
            for owner, name, stored in _stored(dataset, number, DEEP):
                numbers_now = _flat(stored)
                if numbers_now is None:
                    continue
                row = known.rows.setdefault(
                    (number, owner, name), _Row(owner, name, not isinstance(stored, torch.Tensor))
                )
                if not row.visits:
                    row.first = float(numbers_now.std())
                found.append((place, row, stored, numbers_now))
        return found

    def _tell(self) -> None:
        for known in self.kept.values():
            told: dict[tuple[type, str], list[_Row]] = {}
            for row in known.rows.values():
                told.setdefault((row.owner, row.name), []).append(row)
            for (owner, name), rows in told.items():
                again = [row for row in rows if row.changed > 1]
                given = sum(row.given for row in again)
                visited = [row for row in rows if row.visits > 1]
                each = len(again) == len(visited) and all(row.changed == row.visits for row in again)
                once = not again and all(row.changed for row in visited)
                if len(visited) < 2 or not (once or (each and given)):
                    continue
                data = {
                    "loop": known.loop, "dataset": known.dataset.__name__, "line": _line(known.dataset),
                    "owner": owner.__name__, "owner_line": _line(owner), "name": name, "array": rows[0].array,
                    "samples": len(visited), "visits": max(row.visits for row in visited), "given": given,
                    "first": sum(row.first for row in visited) / len(visited),
                    "last": sum(row.last for row in visited) / len(visited), "once": once,
                }  # fmt: skip
                self.recorder.emit("stored_samples", known.made, data)


def _compare(before: list[tuple[int, _Row, Any, torch.Tensor]], batch: Any) -> None:
    given = tensors_of(batch)
    for place, row, stored, old in before:
        now = _flat(stored)
        if now is None or now.shape != old.shape or not bool(now.isfinite().all()):
            continue
        row.visits += 1
        row.last = float(now.std())
        size = max(float(old.abs().max()), float(now.abs().max()))
        if float((now - old).abs().max()) > LEAST * size and _correlation(old, now) > ALIKE:
            row.changed += 1
            row.given += any(len(t) > place and _gives(t[place], now) for t in given)


def _gives(sample: torch.Tensor, stored: torch.Tensor) -> bool:
    """Whether a sample has the numbers that are stored, perhaps in another order, or scaled once more."""
    flat = _flat(sample)
    if flat is None or flat.shape != stored.shape:
        return False
    return bool((flat.sort().values == stored.sort().values).all()) or _correlation(flat, stored) > SAME


def _correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = float(a.norm() * b.norm())
    return float(a @ b) / size if size > 0 else 0.0


def _flat(stored: Any) -> torch.Tensor | None:
    """The numbers of a kept sample, copied."""
    if isinstance(stored, torch.Tensor):
        plain = (
            type(stored) is torch.Tensor and stored.device.type == "cpu" and stored.layout is torch.strided
        )
        if not plain or stored.is_complex() or not NUMBERS <= stored.numel() <= ELEMENTS:
            return None
        return stored.detach().reshape(-1).to(torch.float64, copy=True)
    if stored.dtype.kind not in "fiu" or not NUMBERS <= stored.size <= ELEMENTS:
        return None
    return torch.from_numpy(stored.astype("float64").reshape(-1))


def _is_array(thing: Any) -> bool:
    return type(thing).__module__ == "numpy" and type(thing).__name__ == "ndarray"


def _stored(dataset: Any, number: int, deep: int) -> Iterator[tuple[type, str, Any]]:
    """(class, attribute, what it keeps of this sample)."""
    if type(dataset) is Subset:
        held = attributes(dataset)
        numbers = row_numbers(held.get("indices"))
        if numbers is not None and number < len(numbers) and deep:
            yield from _stored(held.get("dataset"), int(numbers[number]), deep - 1)
        return
    for name, thing in list(attributes(dataset).items())[:ATTRIBUTES]:
        if type(thing) in (list, tuple):
            whole = [*thing] if len(thing) <= 4 else []
            if number < len(thing) and (_is_array(thing[number]) or type(thing[number]) is torch.Tensor):
                yield type(dataset), name, thing[number]
        elif issubclass(type(thing), Dataset) and deep:
            yield from _stored(thing, number, deep - 1)
            continue
        else:
            whole = [thing]
        for one in whole:
            if (_is_array(one) or type(one) is torch.Tensor) and one.ndim > 1 and number < one.shape[0]:
                yield type(dataset), name, one[number]


def _line(cls: type) -> int:
    """Where its `__getitem__` begins."""
    method = next((vars(c)["__getitem__"] for c in cls.__mro__ if "__getitem__" in vars(c)), None)
    code = getattr(method, "__code__", None)
    return code.co_firstlineno if code is not None else 0
