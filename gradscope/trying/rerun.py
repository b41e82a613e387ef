"""Runs a program once more, with edits of its files in memory, and gives the trace of that."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType

from gradscope.interrupts import handler_of
from gradscope.model import GradscopeError
from gradscope.places import SUFFIX
from gradscope.store import Run, Trace
from gradscope.trying.child import FAULT, READ, STOPPED, TRACE
from gradscope.trying.command import Command
from gradscope.trying.files import Stored

_GRACE = 5.0  # seconds from the wish to end to the end
_ROOT = str(Path(__file__).resolve().parents[2])
_START = """\
import sys
if sys.flags.safe_path: sys.path.insert(0, {root!r})
else: sys.path[0] = {root!r}
import gradscope.imports
from gradscope.trying.child import main
if sys.flags.safe_path: del sys.path[0]
sys.exit(main({order!r}))
"""

Edited = Mapping[str, tuple[Stored, str]]  # path → the file, its new text


@dataclass(frozen=True)
class Rerun:
    """A run with edits. `run` is all of it where it was of several processes, `trace` that of the first; `stopped` is
    "steps" or "time" where it was ended by us, `unread` the edited files that the program did not load, or not by
    importing them."""

    trace: Trace
    stopped: str
    unread: tuple[str, ...]
    run: Run | None = None


Runner = Callable[[Path, float, int | None], bool]  # order, seconds, output → whether it ended by itself


def run_again(
    command: Command,
    edited: Edited,
    folder: Path,
    *,
    steps: int | None,
    seconds: float,
    output: int | None = subprocess.DEVNULL,
    start: Runner | None = None,
) -> Rerun:
    """Runs the program from its start in a process of its own, at most `seconds`, and ends it after so many
    optimizer steps. Its stdin is empty, what it prints goes to `output` (None: where we print). The trace lies
    in `folder`, which is empty. `start` takes the place of a new process. Raises GradscopeError where it can't
    be started."""
    order = folder / "order.json"
    told = {
        "argv": command.argv, "module": command.module, "cwd": command.cwd, "sample": command.sample,
        "prove": command.prove, "ranks": command.ranks, "spawns": command.spawns, "steps": steps,
        "texts": {path: (text, old.encoding) for path, (old, text) in edited.items()},
    }  # fmt: skip
    order.write_text(json.dumps(told), encoding="utf-8")
    in_time = (start or partial(_process, ranks=command.ranks))(order, seconds, output)
    if (folder / FAULT).exists():
        raise GradscopeError((folder / FAULT).read_text(encoding="utf-8"))
    if not any(folder.glob(f"*{SUFFIX}")):
        raise GradscopeError("the program could not be run again: it ended before it was watched")
    read = (folder / READ).read_text(encoding="utf-8").splitlines() if (folder / READ).exists() else []
    stopped = "time" if not in_time else "steps" if (folder / STOPPED).exists() else ""
    unread = tuple(path for path in edited if path not in read)
    if command.ranks > 1 or command.spawns:
        run = Run(folder)
        return Rerun(run.first.trace, stopped, unread, run)
    return Rerun(Trace(folder / TRACE), stopped, unread)


def _process(order: Path, seconds: float, output: int | None, ranks: int = 1) -> bool:
    text = _START.format(root=_ROOT, order=str(order))
    command = [sys.executable, "-c", text]
    if ranks > 1:
        script = order.with_name("start.py")
        script.write_text(text, encoding="utf-8")
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
        command = [sys.executable, *launcher, str(script)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL, stdout=output, stderr=None if output is None else subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    try:
        with _ended_in_order():
            process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        _end(process)
        return False
    except BaseException:
        _end(process)
        raise


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Makes an exit of what would end us at once and leave the program that we have started behind: SIGTERM, as
    `timeout` sends it, and the end of the terminal."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    mine = threading.current_thread() is threading.main_thread()
    old = {n: signal.signal(n, leave) for n in numbers if mine and handler_of(n) is signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends it, with its trace closed if it can be, and all that it has started."""
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
