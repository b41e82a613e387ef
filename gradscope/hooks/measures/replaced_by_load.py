"""How much of the weights that a load has replaced is in those that are evaluated later: of an average that was begun
before the load. On the CPU only, of one parameter of each load, which no step had changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.recorder.parts import parameters
from gradscope.hooks.recorder.values import can_be_asked

FEWEST, MOST_ELEMENTS = 64, 100_000
COPIES = 256  # that are known
PARAMETERS = 200  # of a module
LOADS = 4
APART = 0.3  # of the loaded values' norm, at right angles to them, that those before differ by
LEFT, WHOLE = 0.1, 0.999  # share of the old values: that is told, that is a copy as it was
CHANCE = 4  # times what two independent draws of this many elements have in common: more is a copy
FIRST = 4  # evaluations of a place that are looked at, then ever more seldom


@dataclass(eq=False)
class _Load:
    ref: Any  # the parameter
    copied: int | None  # site of a copy of what it was, where that was seen
    site: int
    own: torch.Tensor  # what of the old values is no multiple of the loaded ones
    trained: bool = False
    told: dict[str, Any] | None = None
    at: int = 0  # site of the evaluation


class ReplacedByLoad(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.copies: dict[int, tuple[Any, int]] = {}  # by id: a reference, the site of the `clone()`
        self.seen = 0
        self.before: tuple[Any, int | None, torch.Tensor] | None = None
        """While a state is loaded: a reference to the parameter, site of its copy, its values."""
        self.loads: list[_Load] = []
        self.looks = Looks(FIRST)
        signals = self.recorder.signals
        self.recorder.functions.follow(["clone"], self._cloned)
        signals.before_load.connect(self._before_load)
        signals.after_load.connect(self._after_load)
        signals.before_call.connect(self._called)
        signals.before_step.connect(self._step)
        signals.before_swap.connect(self._forget)
        signals.before_end.connect(self._tell)

    def _forget(self, t: Any) -> None:
        self.before = None
        self.copies.pop(id(t), None)

    def _cloned(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if type(result) is not torch.Tensor or result.requires_grad or not _fits(result):
            return
        self.seen += 1
        if len(self.copies) >= COPIES and not self.seen % COPIES:
            self.copies = {n: known for n, known in self.copies.items() if known[0]() is not None}
        if len(self.copies) < COPIES:
            self.copies[id(result)] = private.TensorRef(result), self.recorder.sites.current(frame)

    def _before_load(self, module: Any) -> None:
        self.before = None
        held = parameters(module)[:PARAMETERS] if isinstance(module, nn.Module) else ()
        fresh = [p for p in held if _fits(p) and not self._stepped(p)]
        if fresh and len(self.loads) < LOADS:
            p = max(fresh, key=torch.Tensor.numel)
            with torch.no_grad():
                alive = [(t, site) for ref, site in self.copies.values() if (t := ref()) is not None]
                like = (
                    s for t, s in alive if t.shape == p.shape and t.dtype == p.dtype and torch.equal(t, p)
                )
                self.before = private.TensorRef(p), next(like, None), p.detach().double().flatten()

    def _stepped(self, p: Any) -> bool:
        record = self.recorder.ledger.records.get(id(p))
        return record is not None and record.ref() is p and record.steps > 0

    def _after_load(self, module: Any, site: int) -> None:
        before, self.before = self.before, None
        p = before[0]() if before is not None else None
        if before is None or p is None or not _fits(p) or p.numel() != len(before[2]):
            return
        with torch.no_grad():
            new, old = p.detach().double().flatten(), before[2]
            square = float(new.dot(new))
            own = old - new * (float(old.dot(new)) / square if square else 0.0)
            if square and float(own.norm()) > APART * square**0.5:
                self.loads.append(_Load(before[0], before[1], site, own))

    def _step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        for load in self.loads:
            load.trained = True

    def _called(self, module: Any, record: ModuleRecord, site: int) -> None:
        if (
            torch.is_grad_enabled()
            or not any(load.trained for load in self.loads)
            or not self.looks.due(site)
        ):
            return
        held = [p for p in parameters(module)[:PARAMETERS] if _fits(p)]
        with torch.no_grad(), private.aside():
            for load in self.loads:
                p = load.ref()
                if p is not None and load.trained and load.told is None:
                    self._look(load, p, [q for q in held if q.shape == p.shape], site)

    def _look(self, load: _Load, p: Any, held: list[Any], site: int) -> None:
        square = float(load.own.dot(load.own))
        for q in held:
            values = q.detach().double().flatten()
            left = float(values.dot(load.own)) / square
            if LEFT < left < WHOLE and (
                load.copied is not None or self._by_more_than_chance(load, p, q, values)
            ):
                load.at = site
                load.told = {
                    "parameter": self.recorder.ledger.of(p).id, "copied": load.copied, "load": load.site,
                    "left": left,
                }  # fmt: skip
                return

    def _by_more_than_chance(self, load: _Load, p: Any, q: Any, values: torch.Tensor) -> bool:
        """Where no copy of the old values is known: weights that are stepped, and those that were loaded, have come
        away from the loaded ones by themselves, and drawn ones are alike by chance."""
        if q is p or self._stepped(q):
            return False
        alike = float(values.dot(load.own)) / (float(values.norm() * load.own.norm()) or 1.0)
        return alike > CHANCE / math.sqrt(values.numel())

    def _tell(self) -> None:
        for load in self.loads:
            if load.told is not None:
                self.recorder.emit("replaced_by_load", load.at, load.told)


def _fits(t: Any) -> bool:
    return (
        can_be_asked(t, MOST_ELEMENTS)
        and t.is_cpu
        and t.is_floating_point()
        and t.numel() >= FEWEST
        and t.layout is torch.strided
    )
