"""Starts what follows a run while it goes: a process beside the program that is no child of its."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

# The shell ends at once, so that no child is left that the program's own `os.wait()` would find, and what waits costs
# next to nothing. The program comes first.
_SCRIPT = '( sleep "$1"; shift; exec nice -n 10 "$@" ) &'


def follow(trace: Path, after: int, options: Sequence[str], stream: TextIO | None) -> Callable[[], None]:
    """Runs `gradscope check --follow` on `trace` in `after` seconds, telling on `stream`. Gives what ends it.
    Does nothing where there is no shell for it, or no such stream."""
    try:
        told = stream.fileno() if stream is not None else -1
        if told < 0:
            return _nothing
        ours = str(Path(__file__).parents[2])
        paths = [ours, *filter(None, [os.environ.get("PYTHONPATH")])]
        check = [sys.executable, "-P", "-m", "gradscope", "check", "--follow", *options, str(trace)]
        shell = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "sh", str(after), *check],
            stdin=subprocess.DEVNULL, stdout=told, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip
        shell.wait()
    except (OSError, ValueError):
        return _nothing
    owner = os.getpid()

    def end() -> None:
        if os.getpid() == owner:
            with suppress(OSError):
                os.killpg(shell.pid, signal.SIGKILL)

    return end


def _nothing() -> None:
    pass
