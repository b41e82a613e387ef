"""SIGTERM and SIGHUP (Slurm, `docker stop`, a terminal that closes) end a program where it stands: the
report is made first, and then it dies of that signal, as it would without us.

Only where the program leaves the signal to the system: a handler of its own is called as ever, and
what it asks of the module `signal` is answered as if we had none. Python runs handlers in the main
thread between two instructions. Where that one hangs in C (a collective that the other ranks have
left) a thread of ours, which else sleeps, does the work: so the process does not outlive its signal.
Where it comes out of C meanwhile it waits for that, and the program does not go on.

Ctrl-C is the program's. But one of several processes that hangs in C has not heard of it, and is killed by its
launcher soon after (torchrun waits 30 s): there that thread makes the report too, and ends nothing.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import FrameType
from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks.recorder.handlers import handler_set, is_between
from gradscope.hooks.recorder.sites import kind_of
from gradscope.interrupts import handler_of

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
PATIENCE = 1.0  # seconds: for the main thread to come out of C; and what follows so soon is the same wish
HANGS = 5.0  # seconds without an instruction of the main thread, after Ctrl-C
LONGEST = 60.0  # seconds that the report may take: what it needs may be held by a thread that hangs
# Descriptors from here on: a program that closes all has the low numbers again first, and a table of descriptors that
# grows (beyond 256) costs a process with threads 10 ms.
_HIGH = 200
_END = b"\0"  # no signal has this number


class Killed(Hook):
    order = 14

    def install(self) -> None:
        self.handler = self._handle
        self.process = os.getpid()
        # "it" → since when the report is made, and whether beside a main thread that hangs
        self.ends: dict[str, tuple[float, bool]] = {}
        self.held: float | None = None  # since when a main thread that has come out of C waits for it
        self.interrupted = False  # Ctrl-C has come
        self.told = False  # the report was made
        self.pipe: tuple[int, int] | None = None
        self.real_signal = signal.signal
        if not self.recorder.signals.killed or threading.current_thread() is not threading.main_thread():
            return
        for number in SIGNALS:
            if handler_set(number) is signal.SIG_DFL:
                signal.signal(number, self.handler)
        self._stand_by()
        self._look_plain()

    def uninstall(self) -> None:
        super().uninstall()
        if self.ends and os.getpid() == self.process:
            return  # about to die: what comes meanwhile is ours to answer
        for number in SIGNALS:
            if handler_of(number) is self.handler:
                with suppress(ValueError):  # in another thread, which ends the process (`os._exit`)
                    self.real_signal(number, signal.SIG_DFL)
        if self.pipe is not None:
            with suppress(ValueError):
                if (found := signal.set_wakeup_fd(-1)) not in (-1, self.pipe[1]):
                    signal.set_wakeup_fd(found)
            with suppress(OSError):
                if os.getpid() == self.process:
                    os.write(self.pipe[1], _END)
                else:
                    os.close(self.pipe[0])  # nobody waits in a child
                os.close(self.pipe[1])
            self.pipe = None

    # -- what the program sees of it -----------------------------------------------------

    def _look_plain(self) -> None:
        real_signal, real_get, real_wakeup = signal.signal, signal.getsignal, signal.set_wakeup_fd

        def plain(handler: Any) -> Any:
            return signal.SIG_DFL if handler is self.handler else handler

        def signal_(signalnum: Any, handler: Any) -> Any:
            if signalnum in SIGNALS and type(handler) in (int, signal.Handlers) and handler == signal.SIG_DFL:
                handler = self.handler
            return plain(real_signal(signalnum, handler))

        def getsignal(signalnum: Any) -> Any:
            return plain(real_get(signalnum))

        def set_wakeup_fd(fd: Any, /, **options: Any) -> Any:
            before = real_wakeup(fd, **options)
            if self.pipe is None or fd != -1:
                return -1 if self.pipe is not None and before == self.pipe[1] else before
            real_wakeup(self.pipe[1], warn_on_full_buffer=False)
            return -1 if before == self.pipe[1] else before

        self.patch(signal, "signal", signal_)
        self.patch(signal, "getsignal", getsignal)
        self.patch(signal, "set_wakeup_fd", set_wakeup_fd)

    # -- the end -------------------------------------------------------------------------

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self.process:
            self._die(number)
        self._end(number, torn=_in_ours(frame))
        began, hung = self.ends["it"]
        if hung and self.held is None:  # what has ended the process is only now heard of here
            self.held = monotonic()
            while True:
                threading.Event().wait(1)
        if monotonic() - (self.held or began) > PATIENCE:
            self._die(number)

    def _end(self, number: int, *, torn: bool = False, hung: bool = False) -> None:
        """Nothing where the end has begun. torn: the watched thread was in the middle of noting something."""
        mine = monotonic(), hung
        if self.ends.setdefault("it", mine) is not mine:  # in one step: two threads may come to it
            return
        with suppress(BaseException):  # nobody is left to tell
            if os.getpid() != 1:
                _thread.start_new_thread(self._die_later, (number,))
            if torn:
                self.recorder.drop_segment()
            self._tell(number, hung)
        self._die(number)

    def _tell(self, number: int, hung: bool) -> None:
        told, self.told = self.told, True
        for follow in () if told else self.recorder.signals.killed:
            follow(number, hung)

    def _die_later(self, number: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        threading.Event().wait(LONGEST)
        self._die(number)

    def _die(self, number: int) -> None:
        """As the signal would have it. The first process of a container goes on, as it would plain:
        the system keeps from it what it does not handle."""
        try:
            self.real_signal(number, signal.SIG_DFL)
        except ValueError:  # in another thread than the main one
            ctypes.CDLL(None).signal(int(number), None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
        if os.getpid() != 1:
            os._exit(128 + number)

    # -- where the main thread hangs -------------------------------------------------------

    def _stand_by(self) -> None:
        """Python's own handler in C writes each signal's number to a pipe at once: a thread reads it."""
        try:
            import fcntl

            ends = os.pipe()
            reading, writing = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _HIGH) for end in ends)
            for end in ends:
                os.close(end)
        except (ImportError, OSError):
            return
        os.set_blocking(writing, False)
        before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        if before != -1:  # somebody's already
            signal.set_wakeup_fd(before)
            os.close(reading)
            os.close(writing)
            return
        self.pipe = reading, writing
        _thread.start_new_thread(self._wait, (reading,))

    def _wait(self, reading: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the program's threads'
        with suppress(OSError):
            while (came := os.read(reading, 256)) and _END not in came:
                if signal.SIGINT in came and self.recorder.several and not self.interrupted:
                    self.interrupted = True
                    _thread.start_new_thread(self._look_whether_it_hangs, (signal.SIGINT,))
                self._answer({number for number in SIGNALS if number in came})
        with suppress(OSError):
            os.close(reading)

    def _answer(self, numbers: set[int]) -> None:
        until = monotonic() + PATIENCE
        while numbers and not self.ends and monotonic() < until:
            threading.Event().wait(0.05)
        for number in numbers:
            if handler_of(number) is self.handler:
                self._end(number, hung=True)

    def _look_whether_it_hangs(self, number: int) -> None:
        """Ctrl-C has come: tells of a main thread that stays in C."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        stood, until = _main_stands(), monotonic() + HANGS
        while monotonic() < until:
            threading.Event().wait(0.2)
            if self.ends or self.recorder.ended or _main_stands() != stood:
                self.interrupted = False
                return
        with suppress(BaseException):  # nobody is left to tell
            self._tell(number, hung=True)


@contextmanager
def waiting() -> Iterator[None]:
    """In the block a trace is written: what would end the process comes after it."""
    came: list[int] = []

    def later(number: int, frame: FrameType | None) -> None:
        came.append(number)

    held = []
    with suppress(ValueError):  # not the main thread
        for number in SIGNALS:
            if handler_set(number) is signal.SIG_DFL:  # also what `Killed` has put there
                signal.signal(number, later)
                held.append(number)
    try:
        yield
    finally:
        for number in held:
            signal.signal(number, signal.SIG_DFL)
        for number in came[:1]:
            os.kill(os.getpid(), number)


def _main_stands() -> tuple[int, int] | None:
    """At which instruction of which call the main thread is. (A frame that was kept would keep what is in it.)"""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return None if frame is None else (id(frame), frame.f_lasti)


def _in_ours(frame: FrameType | None) -> bool:
    """Whether the program was interrupted in code of ours, or what that has called."""
    while frame is not None and is_between(frame):
        if kind_of(frame.f_code.co_filename) == "own":
            return True
        frame = frame.f_back
    return False
