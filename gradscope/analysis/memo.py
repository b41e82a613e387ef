"""What is worked out of a trace, or of a run, once, and kept as long as that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from gradscope.store import Run, Trace

S = TypeVar("S", Trace, Run)
T = TypeVar("T")


def once(build: Callable[[S], T]) -> Callable[[S], T]:
    """`build`, called once for each trace."""

    def built(trace: S) -> T:
        # Kept by the trace itself: what is worked out holds the trace, and would keep it in any other place.
        if build not in trace.worked_out:
            trace.worked_out[build] = build(trace)
        return cast(T, trace.worked_out[build])

    built.__doc__ = build.__doc__
    return built
