"""Measures what goes into a network: the numbers that its first layers are given, at their first call from each place,
with gradients on and, of a layer that was trained, off."""

from __future__ import annotations

import math
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.values import can_be_asked, is_tensor_type, measurable

LAYERS = ("linear", "conv1d", "conv2d", "conv3d", "lstm", "gru")
MAX_ELEMENTS = 2_000_000  # they are copied as doubles
SOME = 4096  # of them, spread over all, whose quartiles are taken
COLUMNS = 8  # of rows with no more each is measured too: they may be quantities of their own
OF_ROWS = ("linear", "lstm", "gru")  # take the last axis for what a sample has of them
CALLS = 2000  # with gradients on: layers come in the first steps


class RawInputs(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.found: dict[int, dict[str, Any] | None] = {}  # by site
        self.calls = 0  # with gradients on
        self.trained: set[int] = set()  # weights of the layers that were measured with gradients on
        self.recorder.functions.follow(LAYERS, self._layer)
        self.recorder.signals.before_end.connect(self._tell)

    def _layer(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        trains = torch.is_grad_enabled()
        if trains:
            self.calls += 1
            if self.calls > CALLS:
                return
        given = args[0] if args else (kwargs or {}).get("input")
        if given is None or not is_tensor_type(type(given)) or given.requires_grad or not measurable(given):
            return
        weight = _weight(args)
        if weight is None or not (weight.requires_grad if trains else self.trained):
            return
        leaf = self.recorder.ledger.of(weight).id
        if not trains and leaf not in self.trained:
            return
        site = self.recorder.sites.current(frame)
        if site in self.found:
            return
        self.found[site] = None
        if not given.is_floating_point() or not can_be_asked(given, MAX_ELEMENTS) or given.numel() == 1:
            return

        def keep(numbers: torch.Tensor) -> None:
            low, high, mean, std, *rest = numbers.tolist()
            quartiles, each = rest[:3], rest[3:]
            if math.isfinite(low) and math.isfinite(high):
                self.trained |= {leaf}
                self.found[site] = {
                    "name": name, "parameter": leaf, "trains": trains,
                    "low": low, "high": high, "mean": mean, "std": std, "quartiles": quartiles,
                    "means": each[: len(each) // 2], "deviations": each[len(each) // 2 :],
                }  # fmt: skip

        with torch.no_grad(), private.aside():
            numbers = given.detach().double()
            std, mean = torch.std_mean(numbers)
            some = numbers.flatten()[:: 1 + numbers.numel() // SOME]
            quartiles = torch.quantile(some, some.new_tensor([0.25, 0.5, 0.75]))
            found = torch.cat([torch.stack([*torch.aminmax(numbers), mean, std]), quartiles])
            rows = numbers.flatten(0, -2) if numbers.dim() > 1 and name in OF_ROWS else None
            if rows is not None and 1 < rows.shape[1] <= COLUMNS and len(rows) > 1:
                deviations, means = torch.std_mean(rows, 0)
                found = torch.cat([found, means, deviations])
        self.recorder.arrivals.when_here((found,), keep)

    def _tell(self) -> None:
        for site, data in self.found.items():
            if data is not None:
                self.recorder.emit("raw_input", site, data)


def _weight(args: Any) -> torch.Tensor | None:
    """The weight of a layer, the first one of a recurrent layer; None where that is no leaf."""
    lists = (a[0] for a in args if isinstance(a, (list, tuple)) and len(a) >= 4)
    given = args[1] if len(args) > 1 and measurable(args[1]) and args[1].dim() > 1 else next(lists, None)
    return given if given is not None and measurable(given) and private.is_leaf(given) else None
