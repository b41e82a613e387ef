"""Tells an exception that a signal handler of the program's has raised from a fault of ours.

A signal may arrive while a probe runs: what its handler raises then comes out of the probe,
and belongs to the program.
"""

from __future__ import annotations

import signal
from types import CodeType


def raised_by_handler(error: BaseException) -> bool:
    """Whether a Python signal handler stands in the error's traceback."""
    handlers = _handlers()
    step = error.__traceback__
    while step is not None and handlers:
        if step.tb_frame.f_code in handlers:
            return True
        step = step.tb_next
    return False


def _handlers() -> set[CodeType]:
    found = set()
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        code = getattr(getattr(handler, "__func__", handler), "__code__", None)
        if code is not None:
            found.add(code)
    return found
