"""A child that is just being forked: signals for it reach it, as plain, and nobody else; it waits for nothing of its
parent's."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest
from corners import run_both

HEADER = """
import ctypes, multiprocessing, os, signal, sys, threading, time
import torch
import gradscope
from gradscope.session import Session


def by_hand():
    child = os.fork()
    if not child:
        time.sleep(20)
        os._exit(0)
    return child


def process():
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(20,))
    process.start()
    return process.pid


def end(child, number):
    os.kill(child, number)
    go_on()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def outlive():  # by more than Killed waits for a main thread that hangs
    time.sleep(1.5)
    print("up")


def handler(number, frame):
    sys.exit(9)
"""

# In a child C waits for a byte before Python is told of the fork: when the byte is there, the signal is too.
IN_C = (
    HEADER
    + """
libc = ctypes.CDLL(None)
byte, gate = os.pipe()
os.dup2(byte, 0)
libc.__register_atfork.argtypes = [ctypes.c_void_p] * 4
libc.__register_atfork(None, None, ctypes.cast(libc.getchar, ctypes.c_void_p), None)


def go_on():
    os.write(gate, b"x")

"""
)

# What is ours leaves a child so slowly that the signal comes meanwhile.
LEAVING = (
    HEADER
    + """
forget = Session.forget
Session.forget = lambda session: (time.sleep(0.5), forget(session))


def end(child, number, at_once=end):
    time.sleep(0.2)
    at_once(child, number)


def go_on():
    pass

"""
)

PROGRAMS = {
    "ended in C": (IN_C + "end(by_hand(), signal.SIGTERM)\noutlive()\n", "-15\nup\n"),
    "a process ended in C": (IN_C + "end(process(), signal.SIGTERM)\noutlive()\n", "-15\nup\n"),
    "ended": (LEAVING + "end(by_hand(), signal.SIGHUP)\noutlive()\n", "-1\nup\n"),
    "ended by a handler": (
        LEAVING + "signal.signal(signal.SIGTERM, handler)\nend(by_hand(), signal.SIGTERM)\n",
        "9\n",
    ),
    "a process ended by a handler": (
        LEAVING
        + "signal.signal(signal.SIGTERM, handler)\n"
        + "try:\n    end(process(), signal.SIGTERM)\nfinally:\n    print('of the parent', flush=True)\n",
        "9\nof the parent\n",
    ),
    "interrupted": (LEAVING + "end(by_hand(), signal.SIGINT)\n", "-2\n"),
    "a process interrupted": (LEAVING + "end(process(), signal.SIGINT)\n", "1\n"),
    "from another thread": (
        LEAVING
        + "thread = threading.Thread(target=lambda: end(process(), signal.SIGTERM))\n"
        + "thread.start()\nthread.join()\noutlive()\n",
        "-15\nup\n",
    ),
    "in a watch": (
        LEAVING
        + "signal.signal(signal.SIGTERM, handler)\n"
        + "with gradscope.watch():\n    end(process(), signal.SIGTERM)\n",
        "9\n",
    ),
    "blocked": (
        HEADER
        + "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})\n\n"
        + "def blocked():\n    print(*signal.pthread_sigmask(signal.SIG_BLOCK, ()), flush=True)\n\n"
        + "child = os.fork()\nif not child:\n    blocked()\n    os._exit(0)\nos.waitpid(child, 0)\n"
        + "process = multiprocessing.get_context('fork').Process(target=blocked)\n"
        + "process.start()\nprocess.join()\nblocked()\n",
        "10\n10\n10\n",
    ),
}


@pytest.mark.drawn(0.4)
@pytest.mark.skipif(sys.platform != "linux", reason="__register_atfork")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_signal_reaches_a_child_that_begins(name: str, tmp_path: Path) -> None:
    source, expected = PROGRAMS[name]
    (tmp_path / "program.py").write_text(source)
    plain, _ = run_both(tmp_path, "program.py")
    assert plain.stdout == expected


IN_SQLITE = """
import ctypes, multiprocessing, threading
import torch

library = ctypes.CDLL("libsqlite3.so.0")
library.sqlite3_mutex_alloc.restype = ctypes.c_void_p
mutex = ctypes.c_void_p(library.sqlite3_mutex_alloc(3))  # what each piece of its memory is taken under
entered, forked = threading.Event(), threading.Event()


def be_in_it():
    library.sqlite3_mutex_enter(mutex)
    entered.set()
    forked.wait()
    library.sqlite3_mutex_leave(mutex)


if __name__ == "__main__":
    thread = threading.Thread(target=be_in_it)
    thread.start()
    entered.wait()
    process = multiprocessing.get_context("fork").Process(target=print, args=("works",), daemon=True)
    process.start()
    forked.set()
    thread.join()
    process.join(20)
    print(process.exitcode)
"""


def test_a_child_does_not_wait_for_a_thread_that_was_in_sqlite(tmp_path: Path) -> None:
    try:
        ctypes.CDLL("libsqlite3.so.0")
    except OSError:
        pytest.skip("no such library")
    (tmp_path / "program.py").write_text(IN_SQLITE)
    plain, _ = run_both(tmp_path, "program.py")
    assert plain.stdout == "works\n0\n"
