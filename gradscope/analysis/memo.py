"""What is worked out of a trace once, and kept as long as the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

from gradscope.store import Trace

T = TypeVar("T")


def once(build: Callable[[Trace], T]) -> Callable[[Trace], T]:
    """`build`, called once for each trace."""
    known: WeakKeyDictionary[Trace, T] = WeakKeyDictionary()

    def built(trace: Trace) -> T:
        if trace not in known:
            known[trace] = build(trace)
        return known[trace]

    built.__doc__ = build.__doc__
    return built
