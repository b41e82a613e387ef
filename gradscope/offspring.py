"""A watch in the processes that a watched program makes with `multiprocessing` or `os.fork()`: of those that train a
trace is kept."""

from __future__ import annotations

import _thread
import functools
import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from gradscope.ranks import file_of

if TYPE_CHECKING:
    from gradscope.session import Session

_PATIENCE = 1.0  # seconds


@dataclass
class Settings:
    """How a child is watched: what its parent knows of the run."""

    folder: str  # for its trace
    number: int
    parent: int  # process
    argv: list[str]
    main: str | None
    sample: bool
    prove: bool


class Watched:
    """Stands for `run` of a `multiprocessing.Process` in the child: the same, under a watch. late: that of a
    DataLoader's worker, which is watched from its first optimizer or backward pass on: most have none."""

    def __init__(self, process: Any, settings: Settings, late: bool = False):
        self.process, self.settings, self.late = process, settings, late

    def __call__(self) -> None:
        process = self.process
        vars(process).pop("run", None)
        if self.late:
            self._from_training_on(sys._getframe())
            return
        session = _begun(self.settings)
        if session is None:
            process.run()
            return
        with suppress(Exception):
            _note_interrupts(process, session)
        raised: BaseException | None = None
        try:
            process.run()
        except BaseException as error:
            from gradscope.tracebacks import clean_exception

            raised = error
            clean_exception(error)
            raise
        finally:
            _over(session, raised)
            raised = None

    def _from_training_on(self, frame: FrameType) -> None:
        begun: list[Session | None] = []

        def begin() -> None:
            begun.append(_begun(self.settings, frame, loader=True))

        try:
            _at_first_training(begin)
            self.process.run()
        except BaseException as error:
            from gradscope.tracebacks import clean_exception

            clean_exception(error)
            raise
        finally:
            if begun and begun[0] is not None:
                _over(begun[0], None)


def _note_interrupts(process: Any, session: Session) -> None:
    """`torch.multiprocessing.spawn` drops the KeyboardInterrupt of a child: where it stood is noted before."""
    target, args = process._target, process._args
    if target.__module__ != "torch.multiprocessing.spawn" or not args:
        return
    real = args[0]

    def call(*args: Any) -> None:
        try:
            real(*args)
        except KeyboardInterrupt as error:
            session.note_interrupt(error)
            raise

    process._args = (call, *args[1:])


def _at_first_training(begin: Callable[[], None]) -> None:
    """Calls `begin` once in this process, before its first optimizer is made or its first backward pass runs."""
    torch = sys.modules["torch"]
    worker = torch.utils.data._utils.worker
    of_worker = worker.ExceptionWrapper
    patched = [(torch.optim.Optimizer, "__init__"), (torch.autograd, "backward")]
    real = [getattr(owner, name) for owner, name in patched]

    def wrapped(*args: Any, **kwargs: Any) -> Any:  # makes a text of the exception that is handled
        from gradscope.tracebacks import clean_exception

        clean_exception(sys.exc_info()[1])
        return of_worker(*args, **kwargs)

    def first(place: int) -> Callable[..., Any]:
        @functools.wraps(real[place])
        def call(*args: Any, **kwargs: Any) -> Any:
            if getattr(patched[place][0], patched[place][1]) is call:
                for (owner, name), own in zip(patched, real, strict=True):
                    setattr(owner, name, own)
                begin()
            return getattr(*patched[place])(*args, **kwargs)

        return call

    worker.ExceptionWrapper = wrapped
    for place, (owner, name) in enumerate(patched):
        setattr(owner, name, first(place))


def _begun(settings: Settings, frame: FrameType | None = None, *, loader: bool = False) -> Session | None:
    """A watch of this process; None where it has not loaded torch, or it can't be watched: it then runs plain. frame:
    of ours, in which the program's stack begins; by default the caller. loader: it is a DataLoader's worker."""
    if "torch" not in sys.modules:
        return None
    try:
        from gradscope.session import Session

        folder = Path(settings.folder)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"process-{settings.number}-{os.getpid()}.gradscope"
        if not _can_write(path):
            return None
        child = {"number": settings.number, "parent": settings.parent, "loader": loader}
        session = Session(settings.argv, path, settings.main, settings.sample, settings.prove, child=child)
        watch_children(session, folder)

        def killed(number: int, hung: bool) -> None:
            session.note_where_it_stands()
            session.cut_short(-number) if hung else session.stop(-number)

        session.recorder.signals.killed.connect(killed)
        session.start(frame or sys._getframe(1), outermost=True)
        return session
    except Exception:
        return None


def _can_write(path: Path) -> bool:
    """Not where a thread of the parent's was in SQLite at the fork: whoever calls that here waits for ever."""
    from gradscope.hooks.guards.forks import among_threads

    if not among_threads():
        return True
    tried = _thread.allocate_lock()
    tried.acquire()

    def attempt() -> None:
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as db:
            db.executescript("CREATE TABLE tried(it); DROP TABLE tried")
        path.unlink(missing_ok=True)
        tried.release()

    _thread.start_new_thread(attempt, ())
    return tried.acquire(timeout=_PATIENCE)


def _over(session: Session, raised: BaseException | None) -> None:
    """Ends the watch, and keeps its trace where there was something to see."""
    code = raised.code if isinstance(raised, SystemExit) else int(raised is not None)
    # `torch.multiprocessing.spawn` has caught the exception and leaves by this one.
    cause = raised.__context__ if isinstance(raised, SystemExit) else raised
    if isinstance(raised, SystemExit) and code and cause is None:
        session.note_where_it_leaves(raised)
    _closed(session, code if isinstance(code, int) else 0, cause)


def end_of_fork(code: int, raised: BaseException | None) -> None:
    """A child of `os.fork()` has come to the program's end."""
    from gradscope.session import active

    if (session := active()) is not None:
        _closed(session, code, raised)


def _closed(session: Session, code: int, cause: BaseException | None) -> None:
    from gradscope.hooks.guards.killed import waiting

    with suppress(Exception), waiting():  # a pool ends its workers as soon as there is no more work
        session.stop(code, cause)
        if not session.recorder.passes and session.rank is None:
            session.path.unlink(missing_ok=True)
        elif session.rank is not None:
            whole = session.path.with_name(f"{file_of(session.rank['rank'])}.gradscope")
            if not _is_sibling(whole, session.child or {}):
                os.replace(session.path, whole)


def _is_sibling(trace: Path, child: dict[str, Any]) -> bool:
    """Whether there is a trace of another child of the same parent, which has taken the same rank before."""
    from gradscope.model import GradscopeError
    from gradscope.store import Trace

    try:
        found = Trace(trace)
    except GradscopeError:
        return False
    try:
        return bool((found.program.get("child") or {}).get("parent") == child.get("parent"))
    finally:
        found.close()


def watch_children(session: Session, folder: Path, launches: bool = False) -> None:
    """Has the processes that the program makes keep their traces in `folder`, which is made for the first of them.
    launches: the program is a launcher, which does nothing else."""
    recorder = session.recorder
    recorder.children, recorder.launches = folder, launches

    def stand_in(process: Any, late: bool) -> Watched:
        main = recorder.sites.main
        number = process._identity[-1] if process._identity else 0
        settings = Settings(
            str(folder), number, os.getpid(), session.argv, main, recorder.sample, recorder.prove
        )
        return Watched(process, settings, late)

    def in_fork() -> None:
        if recorder.thread != threading.get_ident():
            return  # the frame in which the program's stack begins is none of this thread's
        number = os.getpid()
        settings = Settings(
            str(folder),
            number,
            os.getppid(),
            session.argv,
            recorder.sites.main,
            recorder.sample,
            recorder.prove,
        )
        child = _begun(settings, session.outer)
        if child is not None:
            child.recorder.signals.process_exit.connect(lambda status: _closed(child, status, None))

    recorder.services.in_child = stand_in
    recorder.services.in_fork = in_fork
