"""Compares parameters before and after a step: the first steps of each optimizer, more of them only while
nothing changes, and frozen parameters with a gradient left over from before. On the CPU only: elsewhere a
comparison would wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import grad_of, version_of
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.parts import groups_of
from gradscope.hooks.recorder.values import measurable

ENOUGH = 3  # steps compared where each changes something
MOST = 24  # steps compared where none does
MAX_ELEMENTS = 8_000_000  # copied per step


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
            known.compared < MOST and _all_zero(_rates(optimizer))
        ):
            return
        left = MAX_ELEMENTS
        for record in records:
            t = record.ref()
            if t is None or record.state not in ("fresh", "stale") or t.numel() > left or not _comparable(t):
                continue
            left -= t.numel()
            known.copies.append((record, t.detach().clone()))

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        known = self.known[number]
        self._after_frozen(known, number, site)
        copies, known.copies = known.copies, []
        if not copies:
            return
        known.compared += 1
        equal, moved = [], 0
        for record, old in copies:
            t = record.ref()
            if t is None or t.shape != old.shape or grad_of(t) is None or not bool(grad_of(t).any()):
                continue
            if torch.equal(t.detach(), old):
                equal.append(record.id)
            else:
                moved += 1
        known.still = bool(equal) and not moved
        if equal:
            rates = _rates(optimizer)
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
            if t is None or t.requires_grad or t.numel() > left or not _comparable(t):
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
    return (
        measurable(t) and t.device.type == "cpu" and t.layout is torch.strided and grad_of(t) is not None
        and measurable(grad_of(t)) and grad_of(t).layout is torch.strided and t.is_floating_point()
    )  # fmt: skip


def _rates(optimizer: Any) -> list[float] | None:
    rates = [group.get("lr") for group in groups_of(optimizer)]
    return rates if all(type(rate) in (int, float) for rate in rates) else None


def _all_zero(rates: list[float] | None) -> bool:
    return rates is not None and len(rates) > 0 and not any(rates)
