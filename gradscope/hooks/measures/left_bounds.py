"""Parameters that the program clamps between a pass and the step that uses its gradients: how many of their elements
lie outside of the bounds when the next pass begins. Clamped are also those that got what a clamp had made, and those
all of whose elements on one side of a number were set to it. On the CPU only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import measurable, readable

CLAMPS = ("clamp_", "clip_", "clamp_min_", "clamp_max_", "relu_")
MAKING = ("clamp", "clip", "clamp_min", "clamp_max", "relu")  # a tensor, which is then given to the parameter
SETTING = ("__setitem__", "masked_fill_")  # where a mask says so
MOST = 256  # parameters
MAX_ELEMENTS = 1_000_000  # of each
ROUNDS = 24  # that are looked at of each line


class _Clamp(NamedTuple):
    """`passes`: how many there had been by then. `edge`: what some elements were set to, where that is all that is
    known of the bounds."""

    site: int
    shape: Any
    low: float
    high: float
    passes: int
    edge: float | None = None


class _Stepped(NamedTuple):
    record: LeafRecord
    clamp: _Clamp
    step: int  # site


@dataclass
class _Found:
    """`elements` and `outside`: of all looks together; `broken`: rounds in which some lay outside."""

    step: int
    low: float
    high: float
    rounds: int = 0
    broken: int = 0
    elements: int = 0
    outside: int = 0
    least: float = float("inf")
    most: float = float("-inf")
    parameters: dict[int, None] = field(default_factory=dict)


class LeftBounds(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.clamped: dict[int, _Clamp] = {}  # by address
        self.held: list[tuple[LeafRecord, _Clamp]] = []  # of the step that runs
        self.stepped: dict[int, _Stepped] = {}  # by address
        self.found: dict[int, _Found] = {}  # by site of the clamp
        self.made: tuple[Any, float, float] | None = (
            None  # weak reference to what the last clamp made, its bounds
        )
        self.recorder.functions.follow(CLAMPS, self._clamp)
        self.recorder.functions.follow(MAKING, self._make)
        self.recorder.functions.follow(["copy_"], self._copy)
        self.recorder.functions.follow(SETTING, self._set)
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_pass.connect(self._pass)
        self.recorder.signals.asleep.connect(self._forget)  # another clamp would not be seen
        self.recorder.signals.before_end.connect(self._tell)

    def _forget(self) -> None:
        self.clamped.clear()
        self.held.clear()
        self.stepped.clear()

    def _clamp(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        bounds = _bounds(name, args, kwargs)
        if args and bounds is not None:
            self._note(args[0], *bounds, None, frame)

    def _make(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if not isinstance(result, torch.Tensor) or result.requires_grad:
            return
        bounds = _bounds(name, args, kwargs)
        if bounds is not None:
            self.made = private.TensorRef(result), *bounds
            self._note(result, *bounds, None, frame)  # it may become the parameter's data

    def _copy(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.made is not None and len(args) > 1 and self.made[0]() is args[1]:
            self._note(args[0], *self.made[1:], None, frame)

    def _set(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if len(args) != 3 or type(args[2]) not in (int, float) or type(args[1]) is not torch.Tensor:
            return
        if args[1].dtype is torch.bool and args[1].shape == args[0].shape:
            self._note(args[0], float("-inf"), float("inf"), float(args[2]), frame)

    def _note(self, t: Any, low: float, high: float, edge: float | None, frame: Any) -> None:
        if type(t) not in (torch.Tensor, torch.nn.Parameter) or not measurable(t) or not t.is_cpu:
            return
        with private.aside():
            address = t.data_ptr()
        self.stepped.pop(address, None)
        if len(self.clamped) < MOST:
            site = self.recorder.sites.current(frame)
            self.clamped[address] = _Clamp(site, t.shape, low, high, self.recorder.passes, edge)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        self.held = []
        for record in records if self.clamped else ():
            t = record.ref()
            if t is not None and readable(t, MAX_ELEMENTS):
                with private.aside():
                    clamp = self.clamped.get(t.data_ptr())
                if clamp is None or clamp.shape != t.shape or clamp.passes != self.recorder.passes:
                    continue
                if clamp.edge is not None:
                    clamp = _one_sided(t, clamp, clamp.edge)
                if clamp is not None:
                    self.held.append((record, clamp))

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        for record, clamp in self.held:
            t = record.ref()
            if t is not None:
                with private.aside():
                    self.stepped[t.data_ptr()] = _Stepped(record, clamp, site)
        self.held = []

    def _pass(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        stepped, self.stepped = self.stepped, {}
        self.clamped.clear()
        rounds: dict[int, list[int]] = {}
        for record, clamp, step in stepped.values():
            found = self.found.setdefault(clamp.site, _Found(step, clamp.low, clamp.high))
            t = record.ref()
            same = (found.low, found.high, found.step) == (clamp.low, clamp.high, step)
            if t is None or found.rounds >= ROUNDS or not same or not readable(t, MAX_ELEMENTS):
                continue
            with torch.no_grad(), private.aside():
                now = t.detach()
                # a bound is not a number of the tensor's own kind: what was clamped to it may lie beyond it by rounding
                low, high = now.new_tensor((clamp.low, clamp.high)).unbind()
                outside = int(((now < low) | (now > high)).sum())
                found.least, found.most = (
                    min(found.least, float(now.min())),
                    max(found.most, float(now.max())),
                )
            found.parameters[record.id] = None
            found.elements += now.numel()
            found.outside += outside
            rounds.setdefault(clamp.site, []).append(outside)
        for clamped, outside_each in rounds.items():
            self.found[clamped].rounds += 1
            self.found[clamped].broken += any(outside_each)

    def _tell(self) -> None:
        for site, found in self.found.items():
            if found.outside:
                data = {
                    "step": found.step, "parameters": list(found.parameters), "rounds": found.rounds,
                    "broken": found.broken, "elements": found.elements, "outside": found.outside,
                    "low": found.low if found.low > float("-inf") else None,
                    "high": found.high if found.high < float("inf") else None,
                    "least": found.least, "most": found.most,
                }  # fmt: skip
                self.recorder.emit("bounds_left", site, data)


def _bounds(name: str, args: Any, kwargs: Any) -> tuple[float, float] | None:
    """The numbers that a call clamps to; None where they are no numbers."""
    low, high = (*args[1:], None, None)[:2]
    if name.startswith("relu"):
        low, high = 0, None
    elif name.startswith("clamp_max"):
        low, high = None, low
    if kwargs:
        low, high = kwargs.get("min", low), kwargs.get("max", high)
    if any(bound is not None and type(bound) not in (int, float) for bound in (low, high)):
        return None
    return float("-inf" if low is None else low), float("inf" if high is None else high)


def _one_sided(t: torch.Tensor, clamp: _Clamp, edge: float) -> _Clamp | None:
    """The clamp with the number that elements were set to as the bound that it is of all, where it is one."""
    with torch.no_grad(), private.aside():
        least, most = (float(found) for found in torch.aminmax(t.detach()))
    bound = float(torch.tensor(edge, dtype=t.dtype, device="cpu"))
    if (least == bound) == (most == bound):
        return None
    return clamp._replace(low=edge) if least == bound else clamp._replace(high=edge)
