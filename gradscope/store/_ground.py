"""What a trace being written stands on: its descriptors, and the limits set around them.

The watched program shares them. It may close them, open files of its own under the same numbers,
or ask for a signal when a file grows too large: neither may cost it anything.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gradscope.interrupts import handler_of

# (descriptor, device, inode) of the files that belong to a trace.
Descriptors = tuple[tuple[int, int, int], ...]
FILES = ("", "-wal", "-shm")


def descriptors(path: Path) -> Descriptors:
    """The descriptors that this process has of the trace; none where that can't be asked."""
    files = set()
    for suffix in FILES:
        with suppress(OSError):
            stat = os.stat(f"{path}{suffix}")
            files.add((stat.st_dev, stat.st_ino))
    found = []
    with suppress(OSError):
        for name in os.listdir("/dev/fd"):
            with suppress(OSError):  # the one that lists
                stat = os.fstat(int(name))
                if (stat.st_dev, stat.st_ino) in files:
                    found.append((int(name), stat.st_dev, stat.st_ino))
    return tuple(found)


def still_ours(known: Descriptors) -> bool:
    for number, device, inode in known:
        try:
            stat = os.fstat(number)
        except OSError:
            return False
        if stat.st_ino != inode or stat.st_dev != device:
            return False
    return True


def leak(db: sqlite3.Connection) -> None:
    """Keeps SQLite from ever closing this connection: it would write to descriptors that are
    another's now, and unlock or clear away what belongs to another process."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))


def kept_open(path: Path) -> int:
    """A descriptor of the file, which keeps its inode from being given to another: SQLite
    believes that it has that one open."""
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def moved_aside(path: Path) -> None:
    """Puts copies in place of a trace's files, for a connection that shares nothing with the old."""
    copy = f"{path}.copy"
    shutil.copyfile(path, copy)
    if os.path.exists(f"{path}-wal"):
        shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        os.replace(f"{copy}-wal", f"{path}-wal")
    with suppress(FileNotFoundError):
        os.unlink(f"{path}-shm")
    os.replace(copy, path)


@contextmanager
def quiet() -> Iterator[None]:
    """Where the program has a file too large end it or be told to it (SIGXFSZ, which Python
    ignores otherwise), this is so for its own files: a write of ours in the block only fails."""
    number = getattr(signal, "SIGXFSZ", None)
    if number is None or handler_of(number) is signal.SIG_IGN:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        if number not in before:
            while signal.sigtimedwait({number}, 0) is not None:
                pass
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
