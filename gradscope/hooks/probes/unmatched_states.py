"""Watches loads that torch lets pass though none of the state's keys is one of the module's: `strict=False` drops what
does not fit."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.parts import named_tensors, parts

MOST = 50  # loads
_SHOWN = 2  # keys


@dataclass
class Unmatched:
    """A load of which nothing was taken."""

    module: weakref.ref[Any]
    site: int
    data: dict[str, Any]
    used: bool = False  # the module, or a part of it, was called


class UnmatchedStates(Hook):
    order = 86

    def install(self) -> None:
        self.found: list[Unmatched] = []
        signals = self.recorder.signals
        signals.keys_loaded.connect(self._loaded)
        signals.before_step.connect(self._before_step)
        signals.before_end.connect(self._tell)

    def _loaded(self, module: Any, state: Any, result: Any, site: int) -> None:
        unexpected = set(getattr(result, "unexpected_keys", ()))
        given: dict[Any, Any] = dict(dict.items(state)) if issubclass(type(state), dict) else {}
        if not given or not all(type(key) is str for key in given):
            return
        loaded = {id(part) for part in parts(module)}
        if not unexpected.issuperset(given):  # what was loaded in vain before has its values now
            self.found = [one for one in self.found if not _overlap(one, module, loaded)]
            return
        own = {name: t.shape for name, t in named_tensors(module)}
        if own and len(self.found) < MOST:
            data = {
                "given": len(given), "own": len(own), "keys": list(given)[:_SHOWN], "names": list(own)[:_SHOWN],
                **_cause(own, given),
            }  # fmt: skip
            self.found.append(Unmatched(weakref.ref(module), site, data))

    def _before_step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        self._look()

    def _look(self) -> None:
        for one in self.found:
            module = one.module() if not one.used else None
            if module is not None:
                one.used = any(self.recorder.modules.find(part) is not None for part in parts(module))

    def _tell(self) -> None:
        self._look()
        for one in self.found:
            if one.used:
                self.recorder.emit("nothing_loaded", one.site, one.data)


def _overlap(one: Unmatched, module: Any, loaded: set[int]) -> bool:
    held = one.module()
    return held is not None and (id(held) in loaded or any(part is module for part in parts(held)))


def _cause(own: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """What sets the keys apart, where all of the module's own are there but for that: a prefix that the state has, one
    that the module has, or the state is one value of what was given."""
    first = next(iter(own))
    for key in state:
        if key.endswith(f".{first}"):
            prefix = key.removesuffix(first)
            if all(_fits(shape, state.get(prefix + name)) for name, shape in own.items()):
                return {"strip": prefix}
        elif first.endswith(f".{key}"):
            prefix = first.removesuffix(key)
            if all(_fits(own.get(prefix + name), t) for name, t in state.items()):
                return {"add": prefix}
    for key, part in state.items():
        inner = dict(dict.items(part)) if issubclass(type(part), dict) else {}
        if inner and all(_fits(shape, inner.get(name)) for name, shape in own.items()):
            return {"within": key}
    return {}


def _fits(shape: Any, t: Any) -> bool:
    return isinstance(t, torch.Tensor) and t.shape == shape
