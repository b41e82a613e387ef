"""Finds lists of layers that hold one and the same layer, or one and the same parameters, in several places, and
shallow copies of one layer beside each other in any module. Each is looked at once, at the first backward after its
first call."""

from __future__ import annotations

import copy
import functools
import sys
import weakref
from typing import Any

from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks.recorder.parts import attributes, own, parameters

MOST = 16  # that are told of
LISTS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


class RepeatedParts(Hook):
    order = 43

    def install(self) -> None:
        self.seen = 0  # modules with lower numbers were looked at
        self.told = 0
        self.made: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # where copies were made
        self.recorder.signals.before_pass.connect(self._before_pass)
        self.patch(nn.Module, "__setstate__", self._set(nn.Module.__setstate__))

    def _set(self, real: Any) -> Any:
        @functools.wraps(real)
        def __setstate__(module: Any, /, *args: Any, **kwargs: Any) -> Any:
            result = real(module, *args, **kwargs)
            if self.recorder.mine():
                try:
                    self._copied(module, sys._getframe(1))
                except BaseException as error:
                    self.recorder.fault("looking for what copies a module", error)
            return result

        return __setstate__

    def _copied(self, module: Any, frame: Any) -> None:
        """`copy.copy` makes an object without a call of its class, and gives it the other one's tables."""
        outer = frame.f_back
        if outer is not None and outer.f_code is copy.copy.__code__ and _plain(module):
            self.made[module] = self.recorder.sites.current(outer.f_back)

    def _before_pass(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        for record, module in self.recorder.modules.since(self.seen):
            if self.told < MOST:
                self._look(record.id, module, site)
        self.seen = self.recorder.modules.count

    def _look(self, number: int, module: Any, site: int) -> None:
        places: dict[tuple[int, ...], list[tuple[str, Any]]] = {}
        for name, child in own(module, "_modules"):
            held = parameters(child)
            if any(p.dim() > 1 for p in held):
                places.setdefault(tuple(map(id, held)), []).append((name, child))
        is_list = issubclass(type(module), LISTS)
        for same in places.values():
            one = all(child is same[0][1] for _, child in same)
            if len(same) > 1 and (is_list if one else all(_shallow(child, same[0][1]) for _, child in same)):
                self.told += 1
                data = {
                    "module": number, "cls": type(same[0][1]).__name__, "names": [name for name, _ in same],
                    "parameters": [self.recorder.ledger.of(p).id for p in parameters(same[0][1])],
                    "one": one, "made": None if one else self._made(same),
                }  # fmt: skip
                self.recorder.emit("repeated_part", site, data)

    def _made(self, same: list[tuple[str, Any]]) -> int | None:
        known = (self.made.get(part) for _, part in same if _plain(part))
        return next((site for site in known if site is not None), None)


def _plain(module: Any) -> bool:
    """Whether it may be a key: a `__hash__` of the user's is not to be called."""
    own_hash: Any = type(module).__hash__
    return own_hash is object.__hash__


def _shallow(one: Any, other: Any) -> bool:
    """Whether `copy.copy` has made one of these of the other: the tables themselves are shared, where tied weights
    share only what is in them."""
    tables = (
        (attributes(one).get(name), attributes(other).get(name)) for name in ("_parameters", "_modules")
    )
    return all(its is others is not None for its, others in tables)
