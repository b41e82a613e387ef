"""Iterators that the function which steps an optimizer has a name for, as an attribute of its `self` or as a variable,
and that are the very same objects whenever it steps: a loop over one goes on where it was left, instead of beginning
anew."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.looks import Looks
from gradscope.hooks.recorder.parts import attributes
from gradscope.hooks.variables import variables

FIRST = 3  # steps of a line that are looked at in any case, then ever more rarely
MOST_SITES = 16
MOST_NAMES = 100  # of a function

Same = Callable[[Any], bool]


class KeptIterators(Hook):
    order = 39

    def install(self) -> None:
        self.looks = Looks(FIRST, MOST_SITES)
        self.kept: dict[int, dict[str, Same]] = {}  # site → name → whether another one is that
        self.times: dict[int, int] = {}
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.before_end.connect(self._tell)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        frame = self.recorder.sites.of_user(sys._getframe(1))
        site = self.recorder.sites.current(frame) if frame is not None else 0
        if frame is None or not self.looks.due(site):
            return
        with private.aside():
            known = self.kept.get(site)
            if known is None:
                self.kept[site] = {name: _same_as(value) for name, value in _iterators(frame)}
            elif known:
                now = dict(_iterators(frame))
                self.kept[site] = {
                    name: same for name, same in known.items() if name in now and same(now[name])
                }
            self.times[site] = self.times.get(site, 0) + 1

    def _tell(self) -> None:
        for site, names in self.kept.items():
            if names and self.times[site] > 1:
                self.recorder.emit("kept_iterators", site, {"names": sorted(names)})


def _iterators(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """What the function of a frame has a name for that gives one thing after the other, and is used up by that."""
    local = variables(frame)
    code = frame.f_code
    named = {name: frame.f_globals[name] for name in code.co_names if name in frame.f_globals} | local
    if code.co_argcount and code.co_varnames[0] in local:
        first = code.co_varnames[0]
        named |= {f"{first}.{name}": value for name, value in attributes(local[first]).items()}
    for name, value in list(named.items())[:MOST_NAMES]:
        if any("__next__" in type.__getattribute__(cls, "__dict__") for cls in type(value).__mro__):
            yield name, value


def _same_as(value: Any) -> Same:
    """Asks whether something is this very object, without keeping it alive; of what can't be held so its place in
    memory says it, which may be another's by then."""
    try:
        held = weakref.ref(value)
    except TypeError:
        place = id(value)
        return lambda other: id(other) == place
    return lambda other: held() is other
