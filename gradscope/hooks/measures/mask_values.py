"""How much weight a softmax gives to what a mask has set to a finite number, once that is worth telling.

Nothing is measured before a finite number was put at the places of a mask. After that each place where a softmax
is called is looked at in its first calls and then ever more rarely, until there is something to tell."""

from __future__ import annotations

import math
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.values import can_be_asked, measurable

FILLS = ("masked_fill", "masked_fill_")
SOFTMAXES = ("softmax", "log_softmax")
LEAST = 0.01  # of the weight of a row
FIRST = 32  # calls of a place that are looked at in any case
MOST_VALUES = 16  # that are remembered
MAX_ELEMENTS = 4_000_000


class MaskValues(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.read: set[int] = set()  # sites whose number is known
        self.values: set[float] = set()
        self.looks = Looks(FIRST)  # at each softmax
        self.told: set[int] = set()
        self.recorder.functions.follow(FILLS, self._filled)
        self.recorder.functions.follow(["where"], self._chosen)
        self.recorder.functions.follow(["__setitem__"], self._set)
        self.recorder.functions.follow(SOFTMAXES, self._softmax)

    def _filled(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        self._remember(by_name(("input", "mask", "value"), args, kwargs).get("value"), result, frame)

    def _chosen(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("condition", "input", "other"), args, kwargs)
        for one, other in (("input", "other"), ("other", "input")):
            if getattr(given.get(other), "requires_grad", False):
                self._remember(given.get(one), result, frame)

    def _set(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) == 3 and getattr(args[1], "dtype", None) is torch.bool:
            self._remember(args[2], args[0], frame)

    def _remember(self, value: Any, result: Any, frame: Any) -> None:
        """Takes down what stands at the masked places, where it is one finite number other than 0."""
        if not torch.is_grad_enabled() or not isinstance(result, torch.Tensor) or not result.requires_grad:
            return
        site = self.recorder.sites.current(frame)
        if site in self.read or len(self.values) >= MOST_VALUES or not measurable(result):
            return
        self.read.add(site)
        if not result.is_floating_point():
            return
        with torch.no_grad(), private.aside():
            number = _number(value)
            if number:
                number = float(torch.tensor(number, dtype=result.dtype))
        if number and math.isfinite(number):
            self.values.add(number)

    def _softmax(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.values or not torch.is_grad_enabled():
            return
        given = by_name(("input", "dim"), args, kwargs)
        scores, dim = given.get("input"), given.get("dim")
        if not isinstance(scores, torch.Tensor) or not scores.requires_grad or type(dim) is not int:
            return
        site = self.recorder.sites.current(frame)
        if site in self.told or not self.looks.due(site):
            return
        if not all(can_be_asked(t, MAX_ELEMENTS) for t in (scores, result)) or scores.numel() == 1:
            return
        if result.shape != scores.shape or not -scores.dim() <= dim < scores.dim():
            return

        def tell(scores: torch.Tensor, result: torch.Tensor) -> None:
            weights = result.float()
            found = self._look(scores, weights if name == "softmax" else weights.exp(), dim)
            if found is not None and site not in self.told:
                self.told.add(site)
                self.recorder.emit("mask_weight", site, {"name": name, **found})

        self.recorder.arrivals.when_here((scores, result), tell)

    def _look(self, scores: torch.Tensor, weights: torch.Tensor, dim: int) -> dict[str, Any] | None:
        """What the masked places have of the weight of rows in which not all is masked, if that is much."""
        places = {value: scores == value for value in self.values}
        masked = scores == -math.inf
        for some in places.values():
            masked = masked | some
        mixed = masked.any(dim, keepdim=True) & ~masked.all(dim, keepdim=True)
        rows = int(mixed.sum())
        if not rows:
            return None
        shares = {value: (weights * some).sum(dim, keepdim=True)[mixed] for value, some in places.items()}
        value = max(shares, key=lambda one: float(shares[one].sum()))
        share = float(shares[value].mean())
        if not LEAST <= share <= 1.001:
            return None
        low, high = (float(bound) for bound in torch.aminmax(scores[~masked & mixed]))
        return {
            "value": value, "share": share, "rows": rows, "over_half": int((shares[value] > 0.5).sum()),
            "whole": int(masked.all(dim).sum()), "low": low, "high": high,
        }  # fmt: skip


def _number(value: Any) -> float | None:
    """The number that a mask's places are given, where it is the same at all of them."""
    if type(value) in (int, float):
        return float(value)
    if (
        not isinstance(value, torch.Tensor)
        or value.requires_grad
        or not measurable(value)
        or not value.is_cpu
    ):
        return None
    if value.layout is not torch.strided or not 1 <= value.numel() <= MAX_ELEMENTS or value.is_complex():
        return None
    low, high = (float(bound) for bound in torch.aminmax(value.detach()))
    return low if low == high else None
