"""Looks at what a value with a graph is multiplied by, or what is added to it, at the first calls from a line: whether
that is a mask of zeros and ones, and whether it is of sequences that end, each row ones up to a place, then zeros (or
each column, where time comes first)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.measures.kept_places import mask_of
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.values import can_be_asked, measurable

CALLS = 3  # looked at, per line: a mask may let all in at first
MAX_ELEMENTS = 4_000_000


class ZeroOnes(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks: dict[int, int] = {}  # site → calls still to be looked at
        self.told: set[int] = set()
        functions = self.recorder.functions
        functions.follow(["mul"], self._multiplied)
        functions.follow(["where", "masked_fill", "masked_fill_", "__setitem__"], self._set_to_zero)
        functions.follow(["add", "add_"], self._added)
        functions.follow(["scaled_dot_product_attention", "multi_head_attention_forward"], self._attention)

    def _multiplied(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        def tell(site: int, data: dict[str, Any]) -> None:
            self.recorder.emit("zero_ones", site, data)

        if (place := _beside_a_graph(args, kwargs)) is not None:
            self._ask(args[place], place, frame, _look, tell)

    def _set_to_zero(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """What a mask of True and False sets to zero."""
        if kwargs or not any(isinstance(t, torch.Tensor) and t.requires_grad for t in args[:3]):
            return
        if not self.looks.get(self.recorder.sites.current(frame), CALLS):
            return
        found = mask_of(name, args)
        if found is None or not found[0].requires_grad or found[1].requires_grad:
            return
        _, mask, place, turned = found

        def look(mask: torch.Tensor) -> dict[str, Any] | None:
            return _look(~mask if turned else mask)

        def tell(site: int, data: dict[str, Any]) -> None:
            self.recorder.emit("zero_ones", site, {**data, "turned": turned})

        if mask.dtype is torch.bool:
            self._ask(mask, place, frame, look, tell)

    def _added(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if (place := _beside_a_graph(args, kwargs)) is not None:
            self._ask(args[place], place, frame, _added, self._tell_added)

    def _attention(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """A mask of numbers is added to the scores by the call itself."""
        own = name == "scaled_dot_product_attention"
        given = by_name(("query", "key", "value", "attn_mask"), args, kwargs) if own else kwargs or {}
        for place, of in enumerate(("attn_mask", "key_padding_mask")):
            mask = given.get(of)
            if isinstance(mask, torch.Tensor) and mask.is_floating_point() and not mask.requires_grad:
                self._ask(mask, place, frame, _added, self._tell_added)

    def _tell_added(self, site: int, data: dict[str, Any]) -> None:
        self.recorder.emit("added_mask", site, data)

    def _ask(
        self,
        mask: Any,
        place: int,
        frame: Any,
        look: Callable[[Any], dict[str, Any] | None],
        tell: Callable[[int, dict[str, Any]], None],
    ) -> None:
        if not can_be_asked(mask, MAX_ELEMENTS) or mask.numel() == 1:
            return
        site = self.recorder.sites.current(frame)
        left = self.looks.get(site, CALLS)
        if not left:
            return
        self.looks[site] = left - 1

        def answer(mask: torch.Tensor) -> None:
            found = look(mask)
            if found is None:
                self.looks[site] = 0  # other numbers
            elif found and site not in self.told:
                self.looks[site] = 0
                self.told.add(site)
                tell(site, {"place": place, "shape": list(mask.shape), **found})

        self.recorder.arrivals.when_here((mask,), answer)


def _beside_a_graph(args: Any, kwargs: Any) -> int | None:
    """Which of two operands has no graph, where the other has one."""
    if kwargs or len(args) != 2 or not all(isinstance(t, torch.Tensor) and measurable(t) for t in args):
        return None
    place = 0 if args[1].requires_grad else 1
    mask = args[place]
    if mask.requires_grad or not args[1 - place].requires_grad or mask.dim() == 0 or mask.is_complex():
        return None
    return place


def _look(mask: Any) -> dict[str, Any] | None:
    """What there is to tell of a mask; empty where it lets all in or nothing, None where it is none."""
    zeros = int((mask == 0).sum())
    if zeros + int((mask == 1).sum()) != mask.numel():
        return None
    if not 0 < zeros < mask.numel():
        return {}
    rows = mask.squeeze()
    of_rows = ends(rows)
    columns = not of_rows and rows.dim() == 2 and ends(rows.t())
    return {"elements": mask.numel(), "zeros": zeros, "sequences": of_rows, "columns": columns}


def _added(mask: Any) -> dict[str, Any] | None:
    """The same of one that is added: also what all rows begin with, where it is the same, and whether one row has
    nothing else than the other number."""
    found = _look(mask)
    if not found:
        return found
    first = mask[..., 0]
    begins = int(first.flatten()[0]) if bool((first == first.flatten()[0]).all()) else -1
    whole = begins < 0 or bool((mask != begins).all(-1).any())
    return {"elements": found["elements"], "zeros": found["zeros"], "begins": begins, "whole": whole}


def ends(rows: Any) -> bool:
    """Whether each row is ones up to some place and zeros behind it, and not all end at the same."""
    if rows.dim() != 2 or rows.shape[1] < 3 or not bool((rows[:, 1:] <= rows[:, :-1]).all()):
        return False
    lengths = rows.sum(-1)
    return bool((lengths > 0).all()) and bool((lengths != lengths[0]).any())
