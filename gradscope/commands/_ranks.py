"""A run of several ranks: where each keeps its trace, which of them tells of all, and for how long it waits."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from types import FrameType

from gradscope.follow import goes_on
from gradscope.model import GradscopeError
from gradscope.places import SUFFIX, beside, new_run_folder
from gradscope.ranks import Rank, is_launcher
from gradscope.runner import Program
from gradscope.store import Trace, tidy

_PATIENCE = 20.0  # seconds for the other ranks of this machine to end
_IN_HASTE = 3.0  # where a signal ends this one
_CHILDREN = 10.0  # for children that Ctrl-C ends too: the interpreter itself would wait for them without end
_STALLED = 5.0  # that nobody writes any more: they may wait for this one to be gone
_LOOK = 0.1


@dataclass(frozen=True)
class Place:
    """Where this process keeps its trace. `rank`: which of several it is, None where it is alone. `trace`: the
    file, None for a new one in `.gradscope/`. `told_elsewhere`: another process reports. `in_folder`: the traces of
    its children belong beside its own. `launches`: the program only starts others."""

    rank: Rank | None
    trace: Path | None
    told_elsewhere: bool
    in_folder: bool = True
    launches: bool = False

    @property
    def writes_files(self) -> bool:
        """Whether it is the one that writes `--report` and `--graph`."""
        return self.rank is None or self.rank.rank == 0

    def whole(self, trace: Path) -> Path:
        """What is told of at the end: the folder with the traces of all, or the trace of this process."""
        return trace.parent if self.rank is not None else trace

    def wait(self, trace: Path, in_haste: bool = False) -> None:
        """Until the other ranks of this machine have ended, but not for long."""
        if self.rank is None:
            return
        until = monotonic() + (_IN_HASTE if in_haste else _PATIENCE)
        others = [trace.parent / f"{name}{SUFFIX}" for name in self.rank.beside()]
        others.remove(trace)
        written, still = 0.0, monotonic()
        while any(map(_goes_on, others)) and monotonic() < min(until, still + _STALLED):
            sleep(_LOOK)
            if (latest := max(map(_written, others))) != written:
                written, still = latest, monotonic()
        for path in others:
            tidy(path)


def wait_for_children(children: Path, trace: Path) -> None:
    """Until those that the same Ctrl-C ends have ended, but not for long."""
    until = monotonic() + _CHILDREN
    while monotonic() < until and any(
        _goes_on(path) for path in children.glob(f"*{SUFFIX}") if path != trace
    ):
        sleep(_LOOK)


def place_of(
    program: Program, trace: Path | None, folder: Path | None, within: Path | None, cwd: Path
) -> Place:
    """From what was asked for: a file, a folder for the traces of a run, or the folder that a launcher has made.

    Raises NoPlaceError where there is room nowhere, and GradscopeError where `folder` can't be one.
    """
    module = program.spec.name if program.spec is not None else ""
    launches = is_launcher(module, program.path)
    rank = None if launches else Rank.of(os.environ)
    if within is not None and rank is not None:
        return Place(rank, within / f"{rank.file}{SUFFIX}", told_elsewhere=True)
    folder = within or folder
    if rank is None:
        if folder is None:
            return Place(None, trace.absolute() if trace is not None else None, False, False, launches)
        name = "launcher" if launches else "main"
        return Place(None, _made(folder) / f"{name}{SUFFIX}", within is not None, launches=launches)
    if folder is None and trace is not None:
        folder = beside(trace.absolute())
    if folder is None:
        folder = new_run_folder(rank.folder(program.argv[0], os.environ), cwd)
    return Place(rank, _made(folder) / f"{rank.file}{SUFFIX}", told_elsewhere=not rank.reports)


def gathered(trace: Path, children: Path, keep: bool) -> Path:
    """What a run has left: its trace, or the folder with those of its children and a second name for its own
    there, which without `keep` is its only one."""
    try:
        for path in children.glob(f"*{SUFFIX}"):
            if _saw_nothing(path):
                for suffix in ("", "-wal", "-shm", "-died"):
                    Path(f"{path}{suffix}").unlink(missing_ok=True)
        if all(path == trace for path in children.glob(f"*{SUFFIX}")):
            with suppress(OSError):
                children.rmdir()
            return trace
        whole = children / f"parent{SUFFIX}"
        if trace.parent != children:
            put = os.link if keep else os.replace
            # Of a trace that could not be closed, what is known is in its log.
            for suffix in ("-shm", "-wal", ""):
                if os.path.exists(f"{trace}{suffix}"):
                    put(f"{trace}{suffix}", f"{whole}{suffix}")
        return children
    except OSError:
        return trace


def _saw_nothing(path: Path) -> bool:
    """Whether it is of a child that has neither trained nor taken a rank, and is gone: killed, it could not clear
    its trace away itself, or had only begun it."""
    try:
        trace = Trace(path)
    except GradscopeError:
        return path.name.startswith("process-")
    try:
        if "process" not in trace.program:  # not even that was written
            return path.name.startswith("process-")
        child = trace.program.get("child") and not trace.program.get("rank")
        return bool(child) and not trace.summary["passes"] and not goes_on(trace)
    except GradscopeError:
        return False
    finally:
        trace.close()


@contextmanager
def not_ended_by(number: int = signal.SIGTERM) -> Iterator[None]:
    """A launcher ends all ranks when one has failed. The program of this one is over: in the block that signal
    waits, and what it asks for has come about anyway."""

    def late(number: int, frame: FrameType | None) -> None:
        pass

    before = signal.getsignal(number)
    if before is not signal.SIG_DFL:
        yield
        return
    with suppress(ValueError):  # not the main thread
        signal.signal(number, late)
    try:
        yield
    finally:
        with suppress(ValueError):
            signal.signal(number, before)


def _made(folder: Path) -> Path:
    folder = folder.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GradscopeError(f"no folder for the traces at {folder}: {error.strerror}") from None
    return folder


def _written(path: Path) -> float:
    """When something was last added to a trace."""
    latest = 0.0
    for suffix in ("", "-wal"):
        with suppress(OSError):
            latest = max(latest, os.stat(f"{path}{suffix}").st_mtime)
    return latest


def _goes_on(path: Path) -> bool:
    """Whether the process that writes this trace has not ended, or has not begun."""
    if not path.exists():
        return True
    try:
        trace = Trace(path)
        try:
            return goes_on(trace)
        finally:
            trace.close()
    except GradscopeError:  # it is just being made, or will never be read
        return True
