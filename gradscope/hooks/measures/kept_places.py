"""Looks at masks over the places of a loss that is not reduced yet, and at those that pick scores and targets before a
loss, at the first calls from a line: whether all places that they let through have one and the same target, and those
are one end of each sequence, of another length each, as padding is."""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.losses import OF_TWO
from gradscope.hooks.recorder.values import measurable

COMPARING = (
    "cross_entropy",
    "nll_loss",
    *OF_TWO,
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
)
DIFFERENCES = ("sub", "__rsub__")  # as in `(y - x).pow(2)`
CHOSEN = ("gather",)  # the logarithm of each target's probability
MASKING = ("mul", "mul_", "masked_fill", "masked_fill_", "masked_select", "where")
PICKING = ("__getitem__", "masked_select")
INDEXING = ("__getitem__", "__setitem__")
CALLS = 4  # looked at, per line
KEPT = 4  # losses at a time
MAX_ELEMENTS = 1_000_000
RUNS = 3  # sequences with such an end, at least
LEAST = 0.1  # of the places left out, with another target


@dataclass
class Compared:
    """The targets that a loss compares with, place by place."""

    site: int
    targets: torch.Tensor  # our own copy
    ignored: int | None


@dataclass
class Picked:
    """Places that a mask picked out of a tensor, before a loss compares them."""

    site: int
    name: str
    result: weakref.ref[torch.Tensor]
    mask: torch.Tensor  # our own copies
    targets: torch.Tensor | None  # all of them; None for scores


@dataclass
class Looked:
    """What the calls of a masking line have shown so far. `calls` is -1 where one let other targets through."""

    name: str
    loss: int
    calls: int = 0
    kept: int = 0
    left_out: int = 0
    others: int = 0  # places left out with another target
    value: float = 0.0
    told: float | None = None
    place: int = 0  # of the mask among the arguments
    boolean: bool = False


class KeptPlaces(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.losses: dict[int, int] = {}  # site → calls looked at
        self.now: list[Compared] = []
        self.looked: dict[int, Looked] = {}  # of each masking line
        self.picking: dict[int, int] = {}  # site → calls looked at
        self.picked: list[Picked] = []
        functions, signals = self.recorder.functions, self.recorder.signals
        functions.follow((*COMPARING, *DIFFERENCES, *CHOSEN), self._compared)
        functions.follow((*MASKING, *INDEXING), self._masked)
        signals.after_pass.connect(self._passed)
        signals.before_end.connect(self._tell)

    def _passed(self, *given: Any) -> None:
        self.now.clear()
        self.picked.clear()

    def _compared(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not isinstance(result, torch.Tensor) or not result.requires_grad:
            return
        if self.picked:
            self._compared_picked(name, args, kwargs, frame)
        if not result.dim():
            return
        target, ignored = _targets(name, args, kwargs)
        if target is None or target.requires_grad or not _is_small(target):
            return
        if name in DIFFERENCES and (target.shape != result.shape or target.dim() < 2):
            return
        site = self.recorder.sites.current(frame)
        calls = self.losses.get(site, 0)
        if calls >= CALLS:
            return
        self.losses[site] = calls + 1
        with torch.no_grad(), private.aside():
            self.now = [*self.now[1 - KEPT :], Compared(site, target.detach().clone(), ignored)]

    def _compared_picked(self, name: str, args: Any, kwargs: Any, frame: Any) -> None:
        target, ignored = _targets(name, args, kwargs)
        goal = next((one for one in self.picked if one.result() is target and one.targets is not None), None)
        if goal is None or goal.targets is None or len(args) < 2:
            return
        scores = next(
            (
                one
                for one in self.picked
                if any(one.result() is given for given in args[:2]) and one is not goal
            ),
            None,
        )
        if scores is None:
            return
        with torch.no_grad(), private.aside():
            if scores.mask.shape != goal.mask.shape or not torch.equal(scores.mask, goal.mask):
                return
            compared = Compared(self.recorder.sites.current(frame), goal.targets, ignored)
            looked = self.looked.setdefault(
                scores.site, Looked(scores.name, compared.site, place=1, boolean=True)
            )
            if 0 <= looked.calls < CALLS:
                self._look(looked, compared, goal.mask.reshape(-1), tuple(goal.mask.shape))

    def _pick(self, name: str, args: Any, result: Any, frame: Any) -> None:
        """Keeps what a boolean mask picks from scores or from targets, for the loss that may follow."""
        value, mask = args[0], args[1]
        if not isinstance(result, torch.Tensor) or not isinstance(value, torch.Tensor) or not _is_small(mask):
            return
        if value.shape[: mask.dim()] != mask.shape or not (value.requires_grad or _is_small(value)):
            return
        if not value.requires_grad and value.shape != mask.shape:
            return
        site = self.recorder.sites.current(frame)
        calls = self.picking.get(site, 0)
        if calls >= CALLS:
            return
        self.picking[site] = calls + 1
        with torch.no_grad(), private.aside():
            targets = None if value.requires_grad else value.detach().clone()
            one = Picked(site, name, weakref.ref(result), mask.detach().clone(), targets)
        self.picked = [*self.picked[1 - KEPT :], one]

    def _masked(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if (
            name in PICKING
            and len(args) == 2
            and isinstance(args[1], torch.Tensor)
            and args[1].dtype is torch.bool
        ):
            self._pick(name, args, result, frame)
        if not self.now or kwargs:
            return
        found = mask_of(name, args)
        if found is None:
            return
        value, mask, place, inverted = found
        if mask.requires_grad or not value.requires_grad or not value.dim() or not _is_small(mask):
            return
        form = tuple(value.shape)
        compared = next((one for one in reversed(self.now) if _fits(one.targets, form)), None)
        if compared is None:
            return
        site = self.recorder.sites.current(frame)
        looked = self.looked.setdefault(site, Looked(name, compared.site, place=place))
        if not 0 <= looked.calls < CALLS:
            return
        looked.boolean = mask.dtype is torch.bool
        with torch.no_grad(), private.aside():
            kept = mask.detach() != 0
            kept = ~kept if inverted else kept
            if kept.dim() > len(form) and kept.shape[: len(form)] == form:
                kept = kept.flatten(len(form)).any(-1)
            try:
                kept = kept.expand(form)
            except RuntimeError:  # an index of some axes only
                looked.calls = -1
                return
            self._look(looked, compared, kept.reshape(-1), form)

    def _look(self, looked: Looked, compared: Compared, kept: Any, form: tuple[int, ...]) -> None:
        targets = compared.targets.reshape(kept.numel(), -1)
        within, beyond = targets[kept].flatten(), targets[~kept].flatten()
        if compared.ignored is not None:
            within, beyond = within[within != compared.ignored], beyond[beyond != compared.ignored]
        first = float(within[0]) if within.numel() else None
        wrong = (
            first is None
            or looked.loss != compared.site
            or (looked.told is not None and looked.told != first)
            or bool((within != within[0]).any())
            or not _are_ends(kept, form)
        )
        others = int((beyond != first).sum()) if first is not None else 0
        if wrong or others < LEAST * beyond.numel() or not others or not bool((beyond != beyond[0]).any()):
            looked.calls = -1
            return
        looked.told = first
        looked.calls += 1
        looked.kept += within.numel()
        looked.left_out += beyond.numel()
        looked.others += others

    def _tell(self) -> None:
        for site, looked in self.looked.items():
            if looked.calls > 0 and looked.told is not None:
                data = {
                    "name": looked.name,
                    "loss": looked.loss,
                    "calls": looked.calls,
                    "target": looked.told,
                    "kept": looked.kept,
                    "left_out": looked.left_out,
                    "others": looked.others,
                    "place": looked.place,
                    "boolean": looked.boolean,
                }
                self.recorder.emit("kept_places", site, data)


def _is_small(t: Any) -> bool:
    return (
        measurable(t)
        and t.is_cpu
        and t.layout is torch.strided
        and not t.is_complex()
        and 1 < t.numel() <= MAX_ELEMENTS
    )


def _targets(name: str, args: Any, kwargs: Any) -> tuple[Any, int | None]:
    """What a call compares with, and which class of it counts as none."""
    if name in DIFFERENCES:
        sides = [t for t in args[:2] if isinstance(t, torch.Tensor)]
        given = [t for t in sides if not t.requires_grad] if len(sides) == 2 else []
        return (given[0] if len(given) == 1 else None), None
    if name in CHOSEN:
        index = args[2] if len(args) > 2 else (kwargs or {}).get("index")
        return (index if isinstance(index, torch.Tensor) else None), None
    named = by_name(("input", "target", "weight", "size_average", "ignore_index"), args, kwargs)
    target = named.get("target")
    if not isinstance(target, torch.Tensor):
        return None, None
    if name in ("cross_entropy", "nll_loss"):
        return (target, named.get("ignore_index", -100)) if target.dtype is torch.int64 else (None, None)
    return target, None


def mask_of(name: str, args: Any) -> tuple[Any, Any, int, bool] | None:
    """What a call masks, the mask, its place, and whether it lets through where the mask is False."""
    tensors = [isinstance(t, torch.Tensor) for t in args[:3]]
    if name.endswith(("mul", "mul__", "mul_")):
        if len(args) != 2 or not all(tensors):
            return None
        place = 0 if args[1].requires_grad else 1
        return args[1 - place], args[place], place, False
    if len(tensors) < 2 or not tensors[0]:
        return None
    if name == "where" and args[0].dtype is torch.bool:
        return _of_where(args, tensors) if len(args) == 3 else None
    if not tensors[1] or args[1].dtype is not torch.bool:
        return None
    if name == "where":
        return (args[0], args[1], 1, False) if len(args) == 3 and _is_zero(args[2]) else None
    if name in ("__getitem__", "masked_select"):
        return args[0], args[1], 1, False
    return (args[0], args[1], 1, True) if len(args) == 3 and _is_zero(args[2]) else None


def _of_where(args: Any, tensors: list[bool]) -> tuple[Any, Any, int, bool] | None:
    """The same of `torch.where(mask, x, 0)`, or with the other two interchanged."""
    first, second = (tensors[place] and args[place].requires_grad for place in (1, 2))
    if first == second:
        return None
    value, other = (args[1], args[2]) if first else (args[2], args[1])
    return (value, args[0], 0, not first) if _is_zero(other) else None


def _is_zero(other: Any) -> bool:
    """Whether it is the number 0, or a tensor of nothing else."""
    if isinstance(other, torch.Tensor):
        return not other.requires_grad and _is_small_or_one(other) and not bool(other.any())
    return isinstance(other, (int, float)) and other == 0


def _is_small_or_one(t: Any) -> bool:
    return _is_small(t) or (measurable(t) and t.is_cpu and t.numel() == 1)


def _fits(targets: torch.Tensor, form: tuple[int, ...]) -> bool:
    """Whether a value of this form has a target, or a row of them, at each of its places."""
    places = math.prod(form)
    return targets.shape[: len(form)] == form or targets.numel() == places


def _are_ends(kept: Any, form: tuple[int, ...]) -> bool:
    """Whether these places are the last ones, or the first ones, of rows of one length, and not as many of each."""
    if _are_tails(kept) or _are_tails(kept.flip(0)):
        return True
    if len(form) != 2:
        return False
    across = kept.view(form).t().reshape(-1)
    return _are_tails(across) or _are_tails(across.flip(0))


def _are_tails(kept: Any) -> bool:
    """Whether all runs of these places end with a row: where that is, their own ends tell."""
    after = torch.nn.functional.pad(kept[1:], (0, 1))
    before = torch.nn.functional.pad(kept[:-1], (1, 0))
    ends = ((kept & ~after).nonzero().flatten() + 1).tolist()
    starts = (kept & ~before).nonzero().flatten().tolist()
    lengths = [end - start for start, end in zip(starts, ends, strict=True)]
    row = math.gcd(len(kept), *ends)
    return len(ends) >= RUNS and row >= 3 and max(lengths) < row and len(set(lengths)) > 1
