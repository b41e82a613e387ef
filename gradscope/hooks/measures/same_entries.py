"""Looks where tensors come from of which few are different when they are put together: whether a list holds one and the
same list, or tensor, at all of its places, perhaps in tuples or dicts, and grows while the contents of that change.
Python's collector tells what refers to a tensor; it is asked a few times in a run."""

from __future__ import annotations

import gc
from collections import deque
from types import FrameType
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.values import has_values
from gradscope.hooks.variables import variables

JOINING = ("stack", "cat", "concat", "vstack")
FEWEST = 8  # tensors put together
ENTRIES = 4  # of a list, in the end
MOST_CALLS = 12  # looked at, in all
MOST_REFERRERS = 64

Entry = tuple[int, int]  # what the list is, and what is at its places: their addresses


class SameEntries(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.next: dict[int, int] = {}  # site → before which pass not to look again
        self.left = MOST_CALLS
        self.first: dict[Entry, tuple[int, int]] = {}  # → its places, what it holds, when first seen
        self.told: dict[int, dict[str, Any]] = {}  # site → what the last look has shown
        self.recorder.functions.follow(JOINING, self._joined)
        self.recorder.signals.before_end.connect(self._tell)

    def _joined(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        parts: Any = args[0] if args else None
        if type(parts) not in (list, tuple) or len(parts) < FEWEST or not self.left:
            return
        different = len({id(part) for part in parts})
        if 2 * different > len(parts):
            return
        site = self.recorder.sites.current(frame)
        passes = self.recorder.passes
        if passes < self.next.get(site, 0):
            return
        self.next[site] = max(2 * passes, passes + 1)
        self.left -= 1
        for container, entry in _same(parts[0], parts):
            held = _contents(entry)
            before = self.first.setdefault((id(container), id(entry)), (len(container), held))
            if len(container) >= max(ENTRIES, before[0] + 1) and held != before[1]:
                self.told[site] = {
                    "container": _name(container, frame),
                    "entry": _name(entry, frame) if type(entry) is list else "",
                    "what": "list" if type(entry) is list else "tensor",
                    "before": before[0],
                    "entries": len(container),
                    "parts": len(parts),
                    "different": different,
                }

    def _tell(self) -> None:
        for site, data in self.told.items():
            self.recorder.emit("same_entries", site, data)


def _same(part: Any, parts: Any) -> list[tuple[Any, Any]]:
    """The lists that hold only this tensor, or only a list with it, and that one."""
    if not isinstance(part, torch.Tensor) or not has_values(part):
        return []
    found: list[tuple[Any, Any]] = []
    for holder in _lists(part):
        if holder is parts:
            continue
        if _holds_only(holder, part) and not part.requires_grad:
            found.append((holder, part))
        elif type(holder) is list:
            found += [(outer, holder) for outer in _lists(holder) if _holds_only(outer, holder)]
    if not found and not part.requires_grad:
        found = [(outer, part) for outer in _lists_of_records(part)]
    return found


def _lists_of_records(part: Any) -> list[Any]:
    """The lists of tuples, or of dicts, that all have this tensor at one place."""
    for record in gc.get_referrers(part)[:MOST_REFERRERS]:
        for outer in _lists(record) if type(record) is dict or issubclass(type(record), tuple) else ():
            fields = _fields(record)
            at = next((key for key, value in fields.items() if value is part), None)
            if len(outer) > 1 and all(_fields(entry).get(at) is part for entry in outer):
                return [outer]
    return []


def _fields(record: Any) -> dict[Any, Any]:
    if type(record) is dict and all(type(key) in (str, int) for key in record):
        return record
    return dict(enumerate(tuple.__iter__(record))) if issubclass(type(record), tuple) else {}


def _lists(thing: Any) -> list[Any]:
    return [one for one in gc.get_referrers(thing)[:MOST_REFERRERS] if type(one) in (list, deque)]


def _holds_only(holder: Any, thing: Any) -> bool:
    return all(entry is thing for entry in holder)


def _contents(entry: Any) -> int:
    """Something that changes with what an entry holds."""
    if isinstance(entry, torch.Tensor):
        return private.version_of(entry)
    return hash(tuple(id(one) for one in entry))


def _name(thing: Any, frame: FrameType | None) -> str:
    """What a variable on the way to the call, an object or a module calls it."""
    while frame is not None:
        found = next((name for name, value in variables(frame).items() if value is thing), "")
        if found:
            return found
        frame = frame.f_back
    for holder in gc.get_referrers(thing)[:MOST_REFERRERS]:
        names = holder if type(holder) is dict else _attributes(holder)
        for name, value in names.items():
            if value is thing and type(name) is str:
                return name
    return ""


def _attributes(holder: Any) -> dict[Any, Any]:
    try:
        found = object.__getattribute__(holder, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}
