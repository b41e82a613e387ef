"""Work in a child of this process, forked: it has torch loaded already, and starts in a tenth of the time."""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch._dynamo

from gradscope.hooks import all_hooks

all_hooks()  # what every child would import, as torch's own optimizers do with dynamo


@dataclass(frozen=True)
class Ended:
    """How a child ended. status: its exit code, or minus the signal; None where it had to be stopped."""

    status: int | None
    out: str
    err: str


def in_child(
    work: Callable[[], int | None], *, cwd: Path | None = None, stdin: str = "", seconds: float = 120
) -> Ended:
    """Does `work`, whose result is the exit code."""
    with tempfile.TemporaryDirectory(prefix="child-") as folder:
        streams = [Path(folder) / name for name in ("in", "out", "err")]
        streams[0].write_text(stdin)
        child = os.fork()
        if child == 0:
            _live(work, cwd, streams)
        status = _wait(child, seconds)
        out, err = (path.read_text(errors="replace") if path.exists() else "" for path in streams[1:])
    return Ended(None if status is None else os.waitstatus_to_exitcode(status), out, err)


def _live(work: Callable[[], int | None], cwd: Path | None, streams: list[Path]) -> None:
    code: int | None = 1
    try:
        for number, path in enumerate(streams):
            opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(opened, number)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
        if cwd is not None:
            os.chdir(cwd)
        random.seed(0)
        torch.manual_seed(0)
        code = work()
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code or 0)


def _wait(child: int, seconds: float) -> int | None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
