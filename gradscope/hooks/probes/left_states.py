"""Watches what the program takes out of a checkpoint (`torch.load`): a training that goes on with its model, and leaves
the optimizer's state in it."""

from __future__ import annotations

import functools
import sys
import weakref
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.parts import groups_of

MOST = 8  # checkpoints that are remembered
MOST_ITEMS = 64  # of a checkpoint
FEW = 4  # tensors by which the model's part is known again


@dataclass
class Checkpoint:
    """What was loaded, and what became of it. Of the optimizer's state only its form is kept."""

    site: int
    key: str  # of the optimizer's state in it
    shapes: list[tuple[int, ...]]  # of what it keeps for each parameter
    names: frozenset[str]  # of these
    settings: dict[str, Any]
    steps: int
    rate: float | None
    schedules: list[str]  # keys of states of schedules
    counts: list[str]  # keys of whole numbers
    tensors: list[weakref.ref[Any]]  # of the model's part
    load: int = 0  # where that was given to a model
    given: list[weakref.ref[Any]] = field(default_factory=list)  # parameters of that
    optimizer: weakref.ref[Any] | None = None  # that steps with an empty state
    found: dict[str, Any] = field(default_factory=dict)


class LeftStates(Hook):
    order = 34

    def install(self) -> None:
        self.known: list[Checkpoint] = []
        self.over = False  # an optimizer was given a state
        self.patch(torch, "load", self._load(torch.load))
        signals = self.recorder.signals
        signals.keys_loaded.connect(self._given)
        signals.optimizer_loaded.connect(self._used)
        signals.before_step.connect(self._before_step)
        signals.before_end.connect(self._tell)

    def _load(self, real: Any) -> Any:
        @functools.wraps(real)
        def load(*args: Any, **kwargs: Any) -> Any:
            result = real(*args, **kwargs)
            try:
                if self.recorder.mine() and len(self.known) < MOST and issubclass(type(result), dict):
                    with private.aside():
                        found = _checkpoint(result, self.recorder.sites.current(sys._getframe(1)))
                    self.known += [found] if found is not None else []
            except BaseException as error:
                self.recorder.fault("looking at a checkpoint", error)
            return result

        return load

    def _given(self, module: Any, state: Any, keys: Any, site: int) -> None:
        for one in self.known if issubclass(type(state), dict) else ():
            own = {id(t) for ref in one.tensors if (t := ref()) is not None}
            if own and not one.load and any(id(t) in own for t in dict.values(state)):
                one.load = site
                one.given = [weakref.ref(p) for p in islice(torch.nn.Module.parameters(module), FEW)]

    def _used(self, optimizer: Any, site: int) -> None:
        self.over = True

    def _before_step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        """At the first step of an optimizer of the same form: whether it has a state yet; at the second, whether it
        keeps the same things."""
        for one in self.known if not self.over else ():
            if not one.load or one.found.get("keeps"):
                continue
            known = one.optimizer() if one.optimizer is not None else None
            if known is optimizer:
                kept = [state for state in known.state.values() if isinstance(state, dict)]
                one.found["keeps"] = bool(kept) and frozenset(kept[0]) == one.names
            elif one.optimizer is None and not optimizer.state and _fits(one, optimizer):
                if not self.recorder.services.steps_of(optimizer):
                    one.optimizer = weakref.ref(optimizer)
                    rate = groups_of(optimizer)[0].get("lr")
                    one.found = {"optimizer": number, "rate": rate if type(rate) in (int, float) else None}

    def _tell(self) -> None:
        for one in self.known if not self.over else ():
            if one.found.get("keeps"):
                data = {
                    "optimizer": one.found["optimizer"], "key": one.key, "steps": one.steps, "saved": one.rate,
                    "rate": one.found["rate"], "schedules": one.schedules, "counts": one.counts, "load": one.load,
                }  # fmt: skip
                self.recorder.emit("state_left", one.site, data)


def _checkpoint(loaded: dict[Any, Any], site: int) -> Checkpoint | None:
    """None where it holds no state of an optimizer, or of several, or nothing of a model."""
    items = [(k, v) for k, v in dict.items(loaded) if type(k) is str] if len(loaded) <= MOST_ITEMS else []
    states = [(k, v) for k, v in items if _is_state(v)]
    if len(states) != 1:
        return None
    key, state = states[0]
    kept = [one for one in state["state"].values() if isinstance(one, dict)]
    tensors = [
        t for k, v in items if k != key and issubclass(type(v), dict) for t in dict.values(v) if _is_tensor(t)
    ]
    shapes = [
        max((tuple(t.shape) for t in one.values() if _is_tensor(t)), key=len, default=()) for one in kept
    ]
    if not kept or not tensors:
        return None
    counted: Any = kept[0].get("step")
    steps = int(counted) if _is_tensor(counted) and not counted.shape and counted.is_cpu else counted
    group = state["param_groups"][0]
    settings = {k: v for k, v in group.items() if k != "params"}
    rate = settings.get("lr")
    return Checkpoint(
        site, key, shapes, frozenset(kept[0]), settings, steps if type(steps) is int else 0,
        rate if type(rate) is float else None,
        [k for k, v in items if type(v) is dict and "last_epoch" in v and "_step_count" in v],
        [k for k, v in items if type(v) is int],
        [weakref.ref(t) for t in tensors[:FEW]],
    )  # fmt: skip


def _is_state(value: Any) -> bool:
    """Whether it is what an optimizer's `state_dict()` gives, with something in it."""
    return (
        type(value) is dict
        and value.keys() >= {"state", "param_groups"}
        and type(value["state"]) is dict
        and bool(value["state"])
        and type(value["param_groups"]) is list
        and bool(value["param_groups"])
        and type(value["param_groups"][0]) is dict
    )


def _is_tensor(value: Any) -> bool:
    return type(value) in (torch.Tensor, torch.nn.Parameter)


def _fits(one: Checkpoint, optimizer: Any) -> bool:
    """Whether the state could be this optimizer's: its parameters have the shapes, its groups the same settings."""
    groups = groups_of(optimizer)
    held = {id(p) for group in groups for p in group["params"]}
    if not any(p is not None and id(p) in held for ref in one.given for p in (ref(),)):
        return False  # what is trained took some of its numbers from that model, or is another one
    shapes = [tuple(p.shape) for group in groups for p in group["params"]]
    return shapes == one.shapes and groups[0].keys() - {"params", "initial_lr"} == one.settings.keys() - {
        "initial_lr"
    }
