"""Watches states that are loaded into optimizers: one that never steps, whose place a new one takes, was loaded for
nothing."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.parts import groups_of, keeps_tensors
from gradscope.hooks.recorder.values import measurable

MOST = 8  # states that are remembered
MOST_ELEMENTS = 2_000_000  # of parameters that are compared
_PLAIN = (int, float, str, bool, type(None), tuple)


@dataclass
class Loaded:
    """A state with tensors that an optimizer was given."""

    optimizer: weakref.ref[Any]
    site: int
    replaced: int = 0  # how many like it were made since for the same parameters
    number: int = -1  # of the one that was
    empty: bool = False  # that one had no state when it stepped first
    filled: bool = False  # and has had one since


class LoadedStates(Hook):
    order = 33

    def install(self) -> None:
        self.loaded: list[Loaded] = []
        self.anew: weakref.WeakKeyDictionary[Any, Loaded] = weakref.WeakKeyDictionary()
        self.depth = 0
        signals = self.recorder.signals
        signals.optimizer_made.connect(self._made)
        signals.before_step.connect(self._before_step)
        signals.before_end.connect(self._tell)
        cls = torch.optim.Optimizer
        self.patch(cls, "load_state_dict", self._load(cls.load_state_dict))

    def _load(self, real: Any) -> Any:
        def load_state_dict(*args: Any, **kwargs: Any) -> Any:
            self.depth += 1
            try:
                return real(*args, **kwargs)
            finally:
                self.depth -= 1
                if not self.depth and self.recorder.mine():
                    # torch.distributed.checkpoint gives `self` by name
                    self._note(args[0] if args else kwargs.get("self"), sys._getframe(1))

        return load_state_dict

    def _note(self, optimizer: Any, frame: Any) -> None:
        try:
            recorder = self.recorder
            site = recorder.sites.current(frame)
            data = {
                "optimizer": recorder.services.optimizer_number(optimizer, site),
                "rates": _of_groups(optimizer, "lr"),
                "first": _of_groups(optimizer, "initial_lr"),
            }
            recorder.emit("optimizer_loaded", site, data)
            for follow in recorder.signals.optimizer_loaded:
                follow(optimizer, site)
            self._note_inner(optimizer, site)
            self.loaded = [one for one in self.loaded if one.optimizer() is not optimizer]
            if recorder.services.steps_of(optimizer) or not keeps_tensors(optimizer):
                return
            if len(self.loaded) < MOST:
                self.loaded.append(Loaded(weakref.ref(optimizer), site))
        except BaseException as error:
            self.recorder.fault("noting an optimizer's state", error)

    def _note_inner(self, optimizer: Any, site: int) -> None:
        """An optimizer in the state is pickled with its tensors: what comes back steps copies of them."""
        state = getattr(optimizer, "state", None)
        kept = list(state.values()) if isinstance(state, dict) else []
        own = {id(t) for t in _tensors(groups_of(optimizer))}
        for inner in kept:
            if not isinstance(inner, torch.optim.Optimizer):
                continue
            held = {id(t) for t in _tensors(groups_of(inner))}
            if own and held and own.isdisjoint(held):
                number = self.recorder.services.optimizer_number(optimizer, site)
                data = {"optimizer": number, "cls": type(inner).__name__}
                self.recorder.emit("inner_replaced", site, data)
                return

    def _made(self, optimizer: Any, number: int) -> None:
        """Whether a new optimizer is as one that was given a state and has not stepped: its class, its settings, the
        values of its parameters."""
        for one in self.loaded:
            other = one.optimizer()
            if other is not None and not self.recorder.services.steps_of(other) and _alike(other, optimizer):
                one.replaced += 1
                one.number = number
                self.anew[optimizer] = one

    def _before_step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        """At the first step of one made anew: whether it has a state yet; at the second, whether it keeps one."""
        one = self.anew.get(optimizer) if self.anew else None
        if one is None:
            return
        if not one.empty and not optimizer.state:
            one.empty = True
            return
        del self.anew[optimizer]
        one.filled = one.empty and keeps_tensors(optimizer)

    def _tell(self) -> None:
        for one in self.loaded:
            other = one.optimizer()
            unused = other is None or not self.recorder.services.steps_of(other)
            if one.replaced == 1 and one.filled and unused:
                self.recorder.emit("load_lost", one.site, {"optimizer": one.number})


def _of_groups(optimizer: Any, name: str) -> list[float]:
    """A plain number of each of its groups; none where one has none."""
    found = [group.get(name) for group in groups_of(optimizer)]
    return [float(one) for one in found] if all(type(one) in (int, float) for one in found) else []


def _alike(one: Any, other: Any) -> bool:
    groups, others = groups_of(one), groups_of(other)
    if type(one) is not type(other) or len(groups) != len(others):
        return False
    if any(_settings(a) != _settings(b) for a, b in zip(groups, others, strict=True)):
        return False
    tensors = list(_tensors(groups))
    if len(tensors) != len(list(_tensors(others))) or sum(t.numel() for t in tensors) > MOST_ELEMENTS:
        return False
    return bool(tensors) and all(_equal(a, b) for a, b in zip(tensors, _tensors(others), strict=True))


def _settings(group: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in group.items() if k not in ("params", "initial_lr") and isinstance(v, _PLAIN)}


def _tensors(groups: Any) -> Iterator[Any]:
    for group in groups:
        yield from group["params"]


def _equal(a: Any, b: Any) -> bool:
    """Whether they are one parameter, or hold the same numbers. No device is waited for."""
    if a is b:
        return True
    plain = measurable(a) and measurable(b) and a.is_cpu and b.is_cpu
    if not plain or a.shape != b.shape or a.dtype != b.dtype:
        return False
    with private.aside():
        return bool(torch.equal(a, b))
