"""Which calls of attention are asked the same at all places of a sequence, and which losses then compare what has an
axis of that length with a target that differs along it. A line that is asked something else is not looked at again."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.looks import Looks, Unbroken
from gradscope.hooks.recorder.losses import OF_ALL, SUBTRACTIONS
from gradscope.hooks.recorder.values import can_be_asked

ATTENTION = ("multi_head_attention_forward",)
PRODUCT = ("scaled_dot_product_attention",)
FEWEST = 3  # places
FIRST = 8  # calls of a line that are looked at in any case, then ever more rarely
LOOKED_AT = 3  # calls of a loss
MAX_SITES = 64
MAX_ELEMENTS = 1_000_000
NOTHING = 1e-6  # of the largest number: what rounding leaves of equal ones


class AlikePlaces(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.looks = Looks(FIRST, MAX_SITES)
        self.alike = Unbroken()
        self.targets: dict[int, int] = {}  # site of a loss → calls looked at
        self.differ: dict[int, set[int]] = {}  # site of a loss → lengths along which its target differed
        self.recorder.functions.follow(ATTENTION, self._asked)
        self.recorder.functions.follow(PRODUCT, self._asked_alone)
        self.recorder.functions.follow(OF_ALL, self._compared)
        self.recorder.functions.follow(SUBTRACTIONS, self._subtracted)
        self.recorder.signals.before_end.connect(self._tell)

    def _asked(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        query = by_name(("query",), args, kwargs).get("query")
        if isinstance(query, torch.Tensor) and query.dim() in (2, 3):
            self._look(query, 0, frame)

    def _asked_alone(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """The product alone, with the places in the axis before the last. A mask may tell them apart."""
        given = by_name(("query", "key", "value", "attn_mask", "dropout_p", "is_causal"), args, kwargs)
        query, masked = (
            given.get("query"),
            given.get("attn_mask") is not None or given.get("is_causal") is True,
        )
        if isinstance(query, torch.Tensor) and query.dim() in (3, 4):
            self._look(query, query.dim() - 2, frame, open=not masked)

    def _look(self, query: torch.Tensor, axis: int, frame: Any, *, open: bool = True) -> None:
        if not torch.is_grad_enabled():
            return
        site = self.recorder.sites.current(frame)
        if site in self.alike.broken or not self.looks.due(site):
            return
        places = int(query.shape[axis])
        if (
            not open
            or places < FEWEST
            or not can_be_asked(query, MAX_ELEMENTS)
            or not query.is_floating_point()
        ):
            self.alike.end(site)
            return

        def keep(numbers: torch.Tensor) -> None:
            apart, most = numbers.tolist()
            if apart <= NOTHING * most:
                told = self.alike.hold(site, lengths=[], apart=0.0, most=0.0)
                told["lengths"] = sorted({*told["lengths"], places})
                told["apart"], told["most"] = max(told["apart"], apart), max(told["most"], most)
            else:
                self.alike.end(site)  # NaN too

        with private.aside():
            numbers = query.detach()
            both = torch.stack(
                [(numbers - numbers.narrow(axis, 0, 1)).abs().max(), numbers.abs().max()]
            ).float()
        self.recorder.arrivals.when_here((both,), keep)

    def _subtracted(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not self.alike.told or len(args) != 2 or not all(isinstance(one, torch.Tensor) for one in args):
            return
        if args[0].requires_grad != args[1].requires_grad:
            self._target(args[0] if args[1].requires_grad else args[1], frame)

    def _compared(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.alike.told:
            self._target(by_name(("input", "target"), args, kwargs).get("target"), frame)

    def _target(self, target: Any, frame: Any) -> None:
        if not torch.is_grad_enabled() or not can_be_asked(target, MAX_ELEMENTS) or target.requires_grad:
            return
        site = self.recorder.sites.current(frame)
        if self.targets.get(site, 0) >= LOOKED_AT or (
            site not in self.targets and len(self.targets) >= MAX_SITES
        ):
            return
        self.targets[site] = self.targets.get(site, 0) + 1

        def look(target: torch.Tensor) -> None:
            lengths = {length for told in self.alike.told.values() for length in told["lengths"]}
            found = {length for length in lengths if _differs(target, length)}
            self.differ[site] = self.differ.get(site, set()) | found

        self.recorder.arrivals.when_here((target,), look)

    def _tell(self) -> None:
        for site, told in self.alike.told.items():
            losses = sorted(loss for loss, found in self.differ.items() if found & set(told["lengths"]))
            self.recorder.emit("alike_places", site, {**told, "losses": losses})


def _differs(target: torch.Tensor, length: int) -> bool:
    """Whether it has an axis of that length and other numbers at other places of it; of flat targets, where both ways
    to cut them into sequences show others."""
    axes = [axis for axis, size in enumerate(target.shape) if size == length]
    if target.dim() == 1 and target.numel() > length and not target.numel() % length:
        cut = target.reshape(-1, length)
        other = target.reshape(length, -1)
        return not bool((cut == cut[:, :1]).all()) and not bool((other == other[:1]).all())
    return any(not bool((target == target.narrow(axis, 0, 1)).all()) for axis in axes)
