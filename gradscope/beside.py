"""Starts a process beside the program that is no child of its."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

# The shell ends at once, so that no child is left that the program's own `os.wait()` would find, and what waits costs
# next to nothing. The program comes first.
_SCRIPT = '( sleep "$1"; shift; exec nice -n 10 "$@" ) &'


def beside(after: int, arguments: Sequence[str], stdout: int) -> Callable[[], None]:
    """Runs Python with `arguments`, and gradscope at hand, in `after` seconds, telling on the file `stdout`. Gives
    what ends it. Does nothing where there is no shell for it."""
    ours = str(Path(__file__).parents[1])
    paths = [ours, *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        shell = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "sh", str(after), sys.executable, "-P", *arguments],
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip
        shell.wait()
    except (OSError, ValueError):
        return nothing
    owner = os.getpid()

    def end() -> None:
        if os.getpid() == owner:
            with suppress(OSError):
                os.killpg(shell.pid, signal.SIGKILL)

    return end


def nothing() -> None:
    """Ends what was not started."""
