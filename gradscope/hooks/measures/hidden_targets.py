"""How many of the targets that a loss of classes counts stand at places of padding that an attention of the same step
was told to leave out: one run at the end of each row, all of which have the same class."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.padded_targets import ARGUMENTS, form_of
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.losses import OF_CLASSES
from gradscope.hooks.recorder.values import can_be_asked, measurable

FIRST = 8  # calls of a loss that are looked at
MAX_ELEMENTS = 1_000_000
MAX_SITES = 64
MAX_PICKED = 8  # results of masks, in a step
HEADS = "multi_head_attention_forward"


class HiddenTargets(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.hidden: dict[tuple[int, int], tuple[int, torch.Tensor]] = {}
        """Rows and places → where an attention was given the mask, and what it takes out."""
        self.picked: dict[int, tuple[weakref.ref[torch.Tensor], torch.Tensor]] = {}
        """Numbers that a mask of rows and places has picked, by id → they, and the mask."""
        self.steps = 0
        self.found = Unbroken()
        self.recorder.functions.follow([HEADS], self._heads)
        self.recorder.functions.follow(["__getitem__", "masked_select"], self._pick)
        self.recorder.functions.follow(OF_CLASSES, self._loss)
        self.recorder.signals.before_step.connect(self._step)
        self.recorder.signals.before_end.connect(self._tell)

    def _step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        self.steps += 1
        self.hidden.clear()
        self.picked.clear()

    def _pick(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.steps >= FIRST or len(args) != 2 or len(self.picked) >= MAX_PICKED:
            return
        x, mask = args
        if type(mask) is not torch.Tensor or mask.dtype is not torch.bool or type(x) is not torch.Tensor:
            return
        if (
            x.dtype is torch.int64
            and x.dim() == 2
            and x.shape == mask.shape
            and can_be_asked(mask, MAX_ELEMENTS)
        ):
            with private.aside():
                self.picked[id(result)] = weakref.ref(result), mask.clone()

    def _heads(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        mask: Any = (kwargs or {}).get("key_padding_mask")
        if self.steps >= FIRST or mask is None or not can_be_asked(mask, MAX_ELEMENTS) or mask.dim() != 2:
            return
        if tuple(mask.shape) in self.hidden or not isinstance(result, tuple) or not result[0].requires_grad:
            return
        form, site = (int(mask.shape[0]), int(mask.shape[1])), self.recorder.sites.current(frame)

        def keep(mask: torch.Tensor) -> None:
            hidden = mask.clone() if mask.dtype is torch.bool else mask == -torch.inf
            if _ends_rows(hidden):
                self.hidden[form] = site, hidden

        self.recorder.arrivals.when_here((mask,), keep)

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.hidden or not torch.is_grad_enabled():
            return
        given = by_name(ARGUMENTS, args, kwargs)
        scores: Any = given.get("input")
        target: Any = given.get("target")
        if not measurable(scores) or not can_be_asked(target, MAX_ELEMENTS) or target.dtype != torch.int64:
            return
        if given.get("reduction", "mean") == "none" or given.get("weight") is not None:
            return  # the program may leave it out itself
        found = self.picked.get(id(target))
        mask = found[1] if found is not None and found[0]() is target else None
        form = form_of(scores, target) if mask is None else (int(mask.shape[0]), int(mask.shape[1]))
        if form is None or (form not in self.hidden and form[::-1] not in self.hidden):
            return
        turned = form not in self.hidden
        masked, hidden = self.hidden[form[::-1] if turned else form]
        site = self.recorder.sites.current(frame)
        if site in self.found.broken or not self.looks.due(site):
            return
        left_out = given.get("ignore_index", -100)

        def look(target: torch.Tensor, *picked: torch.Tensor) -> None:
            out = hidden.t() if turned else hidden
            rows, out = (target, out[picked[0]]) if picked else (target.reshape(form), out)
            counted = rows != left_out
            behind = rows[counted & out]
            if not len(behind) or bool((behind != behind[0]).any()):
                self.found.end(site)
                return
            told = self.found.hold(
                site, name=name, mask=masked, index=int(behind[0]), ignored=left_out, counted=0, hidden=0
            )
            told["counted"] += int(counted.sum())
            told["hidden"] += len(behind)

        self.recorder.arrivals.when_here((target,) if mask is None else (target, mask), look)

    def _tell(self) -> None:
        for site, found in self.found.told.items():
            self.recorder.emit("hidden_targets", site, found)


def _ends_rows(hidden: torch.Tensor) -> bool:
    """Whether a mask takes out one run at the end of rows, or at their beginning, of several lengths, and no row
    altogether."""
    lengths = hidden.sum(1)
    if int(lengths.max()) == int(lengths.min()) or int(lengths.max()) == hidden.shape[1]:
        return False
    places = torch.arange(hidden.shape[1], device="cpu")
    at_end = places >= hidden.shape[1] - lengths.unsqueeze(1)
    return bool((hidden == at_end).all()) or bool((hidden == at_end.flip(1)).all())
