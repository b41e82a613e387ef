"""What is worked out of a trace once, and kept as long as the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from gradscope.store import Trace

T = TypeVar("T")


def once(build: Callable[[Trace], T]) -> Callable[[Trace], T]:
    """`build`, called once for each trace."""

    def built(trace: Trace) -> T:
        # Kept by the trace itself: what is worked out holds the trace, and would keep it in any other place.
        if build not in trace.worked_out:
            trace.worked_out[build] = build(trace)
        return cast(T, trace.worked_out[build])

    built.__doc__ = build.__doc__
    return built
