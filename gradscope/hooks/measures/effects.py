"""Compares parameters before and after a step: the first steps of each optimizer, more of them only while
nothing changes, and frozen parameters with a gradient left over from before. On a GPU only some elements of each, to
take no memory, and the outcome is known when it has arrived."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import grad_of, version_of
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.parts import all_rates_of
from gradscope.hooks.recorder.values import can_be_asked

ENOUGH = 3  # steps compared where each changes something
MOST = 24  # steps compared where none does
MAX_ELEMENTS = 8_000_000  # copied per step
FEW = 8_192  # of a parameter on a GPU, from all over it


@dataclass
class _Known:
    """One optimizer's comparisons."""

    compared: int = 0
    still: bool = False  # the last one found nothing changed
    copies: list[tuple[LeafRecord, Any]] = field(default_factory=list)
    rests: int = 0  # steps in which frozen parameters were compared
    frozen: list[tuple[LeafRecord, Any, bool]] = field(default_factory=list)
    moved: set[int] = field(default_factory=set)  # frozen ones that a step is known to change


class Effects(Hook):
    order = 36

    def install(self) -> None:
        self.known: dict[int, _Known] = {}
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.after_step.connect(self._after)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        known = self.known.setdefault(number, _Known())
        known.copies.clear()
        self._before_frozen(known, records)
        if known.compared >= (MOST if known.still else ENOUGH) and not (
            known.compared < MOST and _all_zero(all_rates_of(optimizer))
        ):
            return
        left = MAX_ELEMENTS
        for record in records:
            t = record.ref()
            if t is None or record.state not in ("fresh", "stale") or not _comparable(t):
                continue
            some = _some(t)
            if some.numel() > left:
                continue
            left -= some.numel()
            known.copies.append((record, some.clone()))

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        known = self.known[number]
        self._after_frozen(known, number, site)
        copies, known.copies = known.copies, []
        if not copies:
            return
        known.compared += 1
        together: dict[torch.device, list[tuple[LeafRecord, torch.Tensor]]] = {}
        for record, old in copies:
            if (outcome := _outcome(record, old)) is not None:
                together.setdefault(outcome.device, []).append((record, outcome))
        known.still = False
        for compared in together.values():
            records = [record for record, _ in compared]
            tell = partial(self._tell, known, records, number, site, all_rates_of(optimizer))
            self.recorder.arrivals.when_here((torch.stack([outcome for _, outcome in compared]),), tell)

    def _tell(
        self,
        known: _Known,
        records: list[LeafRecord],
        number: int,
        site: int,
        rates: list[float] | None,
        outcomes: torch.Tensor,
    ) -> None:
        filled = [
            (r.id, changed) for r, (some, changed) in zip(records, outcomes.tolist(), strict=True) if some
        ]
        equal = [id for id, changed in filled if not changed]
        moved = len(filled) - len(equal)
        known.still = bool(equal) and not moved
        if equal:
            self.recorder.emit(
                "no_effect", site,
                {"optimizer": number, "parameters": equal, "moved": moved, "zero_rate": _all_zero(rates)},
                rates=rates,
            )  # fmt: skip

    def _before_frozen(self, known: _Known, records: list[LeafRecord]) -> None:
        """Copies parameters that require no gradient any more, where one is left in `.grad`."""
        known.frozen.clear()
        if known.rests >= MOST:
            return
        left = MAX_ELEMENTS
        for record in records:
            if record.state not in ("zero", "used") or not record.passes or record.id in known.moved:
                continue
            t = record.ref()
            if t is None or t.requires_grad or t.numel() > left or not t.is_cpu or not _comparable(t):
                continue
            grad = grad_of(t)
            zero = not bool(grad.any())
            if zero or (record.state == "used" and record.after == (id(grad), version_of(grad))):
                left -= t.numel()
                known.frozen.append((record, t.detach().clone(), zero))

    def _after_frozen(self, known: _Known, number: int, site: int) -> None:
        copies, known.frozen = known.frozen, []
        known.rests += bool(copies)
        moved = {
            record.id: zero
            for record, old, zero in copies
            if (t := record.ref()) is not None and t.shape == old.shape and not torch.equal(t.detach(), old)
        }
        if moved:
            known.moved |= moved.keys()
            zeros = [id for id, zero in moved.items() if zero]
            self.recorder.emit(
                "frozen_moved", site, {"optimizer": number, "parameters": list(moved), "zero": zeros}
            )


def _comparable(t: Any) -> bool:
    grad = grad_of(t)
    return can_be_asked(t, sys.maxsize) and can_be_asked(grad, sys.maxsize) and t.is_floating_point()


def _some(t: torch.Tensor) -> torch.Tensor:
    """All of a tensor; on a GPU some elements, from all over it."""
    t = t.detach()
    return t if t.is_cpu or t.numel() <= FEW else t.reshape(-1)[:: t.numel() // FEW]


def _outcome(record: LeafRecord, old: torch.Tensor) -> torch.Tensor | None:
    """Whether the gradient has something else than zeros, and whether the parameter has other numbers than before."""
    t = record.ref()
    if t is None or not _comparable(t) or (now := _some(t)).shape != old.shape:
        return None
    return torch.stack([_some(grad_of(t)).any(), (now != old).any()])


def _all_zero(rates: list[float] | None) -> bool:
    return rates is not None and len(rates) > 0 and not any(rates)
