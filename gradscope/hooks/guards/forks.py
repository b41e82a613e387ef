"""While a process is forked, signals wait.

For some milliseconds a child has our hooks and handlers, until they are removed. A signal for it could be lost then:
Python forgets in a new child what has come for handlers, of which plain it has none; what a handler of the program's
raises would end no more than our removing; and the number of each goes into the pipe of `Killed`, which is the
parent's. So they wait in the thread that forks, the only one of the child, until all of ours is gone.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Collection
from multiprocessing import util
from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks.recorder.handlers import handler_set

# What a fault of the process itself sends can't wait.
_FAULTS = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS"}
_before: dict[int, Collection[int]] = {}  # thread that forks → what it had blocked
_late: list[_Late] = []
_among_threads = False


class Forks(Hook):
    order = 11  # what `Processes` does in a child comes after it

    def install(self) -> None:
        for name in ("fork", "forkpty"):
            if hasattr(os, name):
                self.patch(os, name, _forking(getattr(os, name)))


def _forking(real: Any) -> Any:
    """`real`, out of which comes what the handlers of signals raise that came meanwhile: as plain, and not out of
    functions that Python calls at a fork, where it would be lost."""

    def fork() -> Any:
        process, blocked = os.getpid(), _blocked()
        try:
            _block()
            result = real()
            if os.getpid() != process and _by_multiprocessing():
                _put_off(blocked)
            return result
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    return fork


def hold() -> None:
    """A fork is about to begin in this thread, whoever forks."""
    global _among_threads
    _among_threads = threading.active_count() > 1
    _before[threading.get_ident()] = _blocked()
    _block()


def let() -> None:
    """It is over."""
    if (blocked := _before.pop(threading.get_ident(), None)) is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def among_threads() -> bool:
    """Whether this process was forked while its parent had other threads: a lock of C code that one of them had is
    taken for ever here."""
    return _among_threads


def _blocked() -> Collection[int]:
    return signal.pthread_sigmask(signal.SIG_BLOCK, ())


def _block() -> None:
    numbers = [number for number in signal.valid_signals() if getattr(number, "name", "") not in _FAULTS]
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)


def _by_multiprocessing() -> bool:
    frame = sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("gradscope."):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__")).startswith("multiprocessing")


class _Late:
    """A signal's number."""

    def __init__(self, number: int):
        self.number = number

    def __index__(self) -> int:
        return self.number


def _put_off(blocked: Collection[int]) -> None:
    """A child of `multiprocessing` begins a little later: what a handler raises until then would go up the stack of
    its parent, whose `finally` and `with` are none of the child's."""
    raise_again: Any = signal.raise_signal
    for number in signal.sigpending() - set(blocked):
        if callable(handler_set(number)):
            signal.sigwait({number})
            _late.append(late := _Late(number))
            util.register_after_fork(late, raise_again)
