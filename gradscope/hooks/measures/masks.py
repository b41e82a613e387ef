"""Looks at the mask that attention is given, or that an attention written out puts on its scores, at its first call
from a line: whether it lets only later places take part, or these and the place itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.losses import ADDITIONS, ADDITIONS_IN_PLACE
from gradscope.hooks.recorder.values import can_be_asked

MAX_ELEMENTS = 10_000_000
TAKEN_OUT = -1e3  # a number like this, in the place of a score or added to it, leaves it no weight
DIRECT = "scaled_dot_product_attention"
HEADS = "multi_head_attention_forward"
FILLED = ("masked_fill", "masked_fill_")

LetsIn = Callable[
    ..., torch.Tensor
]  # of the mask, and a fill that is a tensor: True where a place takes part


def _where_true(mask: torch.Tensor) -> torch.Tensor:
    return mask if mask.dtype is torch.bool else mask > TAKEN_OUT


def _where_false(mask: torch.Tensor) -> torch.Tensor:
    return ~mask if mask.dtype is torch.bool else mask > TAKEN_OUT


class Masks(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.told: set[int] = set()  # sites
        self.places: set[Any] = set()  # of additions that were looked at
        functions = self.recorder.functions
        functions.follow([DIRECT], self._attention)
        functions.follow([HEADS], self._heads)
        functions.follow(FILLED, self._filled)
        functions.follow(["where"], self._chosen)
        functions.follow((*ADDITIONS, *ADDITIONS_IN_PLACE), self._added)

    def _attention(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        mask = args[3] if len(args) > 3 else (kwargs or {}).get("attn_mask")
        self._look(name, frame, mask, _where_true)

    def _heads(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        self._look(name, frame, (kwargs or {}).get("attn_mask"), _where_false)

    def _filled(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("input", "mask", "value"), args, kwargs)
        if _leaves_no_weight(given.get("value")) and _trains(result):
            self._look(name, frame, given.get("mask"), _where_false)

    def _chosen(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(("condition", "input", "other"), args, kwargs)
        one, other = given.get("input"), given.get("other")
        if not _trains(result) or _trains(one) == _trains(other):
            return
        lets_in, fill = (_where_true, other) if _trains(one) else (_where_false, one)
        if isinstance(fill, torch.Tensor) or _leaves_no_weight(fill):
            self._look(name, frame, given.get("condition"), lets_in, fill)

    def _added(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        place = frame.f_code, frame.f_lasti
        if place in self.places or len(args) != 2:
            return
        self.places.add(place)
        masks = [one for one in args if isinstance(one, torch.Tensor) and not one.requires_grad]
        if len(masks) == 1 and masks[0].is_floating_point() and _trains(result):
            self._look(name, frame, masks[0], _where_true)

    def _look(self, name: str, frame: Any, mask: Any, lets_in: LetsIn, fill: Any = None) -> None:
        if not isinstance(mask, torch.Tensor) or not torch.is_grad_enabled():
            return
        if mask.dtype is not torch.bool and (mask.requires_grad or not mask.is_floating_point()):
            return
        if mask.dim() < 2 or mask.shape[-1] != mask.shape[-2] or mask.shape[-1] < 2:
            return
        asked = [mask, fill] if isinstance(fill, torch.Tensor) else [mask]
        site = self.recorder.sites.current(frame)
        if site in self.told or not all(can_be_asked(one, MAX_ELEMENTS) for one in asked):
            return
        self.told.add(site)

        def tell(mask: torch.Tensor, *fills: torch.Tensor) -> None:
            if any(not one.numel() or float(one.max()) > TAKEN_OUT for one in fills):
                return
            if not mask.numel():
                return
            let_in = lets_in(mask)
            square = torch.ones(mask.shape[-2:], dtype=torch.bool, device="cpu")
            own = bool((let_in == square.triu(0)).all())  # the place itself too
            if own or bool((let_in == square.triu(1)).all()):
                data = {
                    "places": mask.shape[-1], "name": name, "boolean": mask.dtype is torch.bool, "own": own,
                }  # fmt: skip
                self.recorder.emit("mask", site, data)

        self.recorder.arrivals.when_here(asked, tell)


def _trains(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _leaves_no_weight(number: Any) -> bool:
    return type(number) in (float, int) and number <= TAKEN_OUT
