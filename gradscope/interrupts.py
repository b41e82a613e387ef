"""Ctrl-C while no program of the user's runs: before it has begun, and once it is over, while its end is shown, the
report made and Python ended.

Before the program, and in commands that run none, it ends the process at once. In the program it is the program's.
After it: the first one has ended the program, as plain. What comes at the same moment is the same wish (a wrapper
that hands the signal on). A later one ends the process, without a report. None shows a traceback of ours.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import signal
import sys
from contextlib import suppress
from time import monotonic
from types import FrameType
from typing import Any

_SAME = 0.25  # seconds
_over = 0.0  # when the program was interrupted


def handler_of(number: int) -> Any:
    """What answers a signal, as `signal.getsignal`, which asks a handler of the program's for its repr: that is code of
    the program's, and may raise."""
    found = _signal.getsignal(number)
    return signal.Handlers(found) if type(found) is int else found


def end_at_once() -> None:
    """From now on, where Ctrl-C is left to Python: it ends the process as it ends any that is not Python's."""
    if handler_of(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def leave_to_program() -> None:
    """The program finds Ctrl-C as Python has it."""
    with suppress(ValueError):  # not the main thread
        if handler_of(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def hold(interrupted: bool) -> None:
    """From now on, where the program has left Ctrl-C to Python."""
    global _over
    _over = monotonic() if interrupted else 0.0
    with suppress(ValueError):  # not the main thread
        if handler_of(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _again)


def release() -> None:
    """As before."""
    with suppress(ValueError):
        if handler_of(signal.SIGINT) is _again:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _again(number: int, frame: FrameType | None) -> None:
    if not _over or monotonic() - _over > _SAME:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def quietly() -> None:
    """Lets the KeyboardInterrupt that now leaves our code end Python without a word: the program's own traceback
    has been shown. After `atexit`, threads that last and destructors, Python then ends by SIGINT, as it does in a
    program of its own; after `sys.exit(130)` it does not."""
    shown = sys.excepthook

    def _once(*error: object) -> None:
        sys.excepthook = shown

    sys.excepthook = _once
