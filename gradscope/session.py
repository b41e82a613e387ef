"""One watched run: makes the trace, installs the hooks, removes them, closes the trace."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any, NamedTuple

import torch

from gradscope.children import child_seconds, processes_made
from gradscope.hooks import Hook, all_hooks
from gradscope.hooks._torch import after_every_step, aside, grad_fn_of, sequence_number, sequence_of
from gradscope.hooks.guards.forks import hold, let
from gradscope.hooks.recorder.crash import note_crash
from gradscope.hooks.recorder.handlers import belongs_to_program
from gradscope.hooks.recorder.joined import joined_rank
from gradscope.hooks.recorder.recorder import Recorder
from gradscope.hooks.recorder.values import LiveTable
from gradscope.model import GradscopeError, Mark, NoPlaceError
from gradscope.places import new_trace_path, point_last, standing
from gradscope.store import Start, TraceWriter, copy_part, pack, pack_parameter
from gradscope.tracebacks import ending, traceback_of

_active: list[Session] = []
_MARKS = 10_000  # the newest are kept
_PATIENCE = 3  # steps of a program that goes on after its end
_QUIET = 1.0  # seconds without a new kind of step, after which one is told at once
_HURRY = 1.0  # seconds for which what comes after it is
_OFTEN = 0.1  # seconds from one checkpoint to the next meanwhile
_PART = 300  # checkpoints take one part in so many of the time, and those in a hurry as much again
_MANY = 5  # hurries that may come in any case
_SELDOM = 10.0  # seconds of the run for each further one
_newest: weakref.ref[Session] | None = None  # that has ended
_ended: list[_Seen] = []  # the newest


class _Seen(NamedTuple):
    """What one watch has seen of tensors. numbers: of the grad_fn nodes that were made in it."""

    path: Path
    leaves: list[tuple[Callable[[], Any], int]]
    live: LiveTable
    numbers: range

    def made(self, tensor: Any) -> bool:
        """Whether a tensor that is no leaf was there in the watch: another of its name may have been made since."""
        node = grad_fn_of(tensor)
        return self.live.find(tensor) is not None or (node is not None and sequence_of(node) in self.numbers)


class Session:
    """Watches the current thread between `start` and `stop`.

    path: where the trace goes; by default a new file in `.gradscope/` below the working directory, which may be
    `reserved` already, or one in a temporary folder. main: the script's real path, which counts as the user's code
    wherever it lies. command: what one has to know to start the program once more. rank, child: which of several
    processes this is (docs/events.md).
    Raises GradscopeError if another session is active or `path` can't be a trace.
    """

    def __init__(
        self,
        argv: list[str],
        path: Path | None = None,
        main: str | None = None,
        sample: bool = True,
        prove: bool = False,
        command: dict[str, Any] | None = None,
        steps: Container[int] | None = None,
        rank: dict[str, Any] | None = None,
        child: dict[str, Any] | None = None,
        reserved: Path | None = None,
    ):
        self.argv = argv
        self.command = command and {**command, "sample": sample, "prove": prove}
        self.began = time.strftime("%F %T")
        self.cwd = str(standing())
        self.faults: list[str] = []
        self._default_place = path is None
        self.path = path or reserved or new_trace_path(argv[0] if argv else "watch", Path(self.cwd))
        self.writer = self._open()
        self.recorder = Recorder(self.writer, main, prove=prove)
        self.recorder.sample, self.recorder.only = sample, steps
        self.rank, self.child = rank, child
        self.recorder.several = rank is not None or child is not None
        self.stood: int | None = None  # the site where a signal found it
        self.recorder.signals.process_exit.connect(self.stop)
        self.hooks: list[Hook] = []
        self.holder: object = None  # whose end would take the trace away
        self.running = False
        self.ended = False
        self.started = 0.0
        self._first_node = 0  # the number of the first grad_fn node that is made in it
        self.before = 0.0, 0.0  # seconds of the process until then: gradscope's, and importing torch
        self._checkpoint_at = 0.0
        self._new_at = self._hurried = 0.0  # _hurried: seconds that checkpoints in a hurry have taken
        self._hurries = 0
        self.exit_code: int | None = None
        self.exception: dict[str, Any] | None = None
        self._interrupt: BaseException | None = None  # came while the watch was ending
        self._looks: list[Any] = []  # handles of what is called after each step

    def _temporary(self) -> Path:
        try:
            return Path(tempfile.mkdtemp(prefix="gradscope-")) / "run.gradscope"
        except OSError as error:
            raise NoPlaceError(f"no place for the trace: {error.strerror}") from None

    def _open(self) -> TraceWriter:
        try:
            return TraceWriter(self.path)
        except GradscopeError:
            raise
        except Exception as error:
            if not self._default_place:
                raise NoPlaceError(f"cannot write a trace at {self.path}: {error}") from None
            self.faults.append(f"no trace at {self.path} ({error}): it is in a temporary folder")
            self.path = self._temporary()
        try:
            return TraceWriter(self.path)
        except Exception as error:
            raise NoPlaceError(f"no place for the trace: {error}") from None

    # -- start and stop ----------------------------------------------------------------

    def start(self, frame: FrameType, outermost: bool = False) -> None:
        """Installs every hook. `frame` is the one that opens the watch: the stack outside it
        does not move while it runs, so it is walked once; or, if it is the `outermost`, it
        is gradscope's own and the program's stack begins inside it."""
        if _active:
            raise GradscopeError("gradscope is already watching: one watch at a time")
        if torch._C._get_tracing_state() is not None:
            raise GradscopeError("gradscope cannot start inside torch.jit.trace")
        _active.append(self)
        if self.child is None:  # else what its parent leaves is the newest
            point_last(self.path)
        self.started = self._new_at = perf_counter()
        self._first_node = sequence_number()
        self._others = processes_made(), child_seconds()
        self._frame = frame if outermost else frame.f_back
        with self._guarded("writing the trace"):
            self.writer.set_meta("program", self._facts())
        with self._guarded("finding the caller"):
            if self._frame is not None:
                self.recorder.sites.anchor(self._frame, outermost)
        self._checkpoint_at = perf_counter() + 1.0
        self.recorder.signals.segment_ended.connect(self._now_and_then)
        self.running = True
        try:
            self._install()
        except BaseException:  # Ctrl-C
            self.stop(None)
            raise

    def _install(self) -> None:
        for hook in [cls(self.recorder) for cls in all_hooks()]:
            self.hooks.append(hook)
            try:
                hook.install()
            except Exception as error:
                self.recorder.fault(f"installing {type(hook).__name__}", error)
                self.hooks.remove(hook)
                with self._guarded(f"removing {type(hook).__name__}"):
                    hook.uninstall()

    @contextmanager
    def _guarded(self, what: str) -> Iterator[None]:
        """Notes a fault of ours in the block and goes on after it; with Ctrl-C only once the
        watch has ended."""
        try:
            yield
        except BaseException as error:
            if not belongs_to_program(error):
                self.recorder.fault(what, error)
            elif self.running:
                raise
            else:
                self._interrupt = error

    def stop(self, exit_code: int | None = 0, exception: BaseException | None = None) -> None:
        """Removes every hook and closes the trace. Safe to call twice. Raises what was raised
        by a signal meanwhile, after that."""
        if not self.running:
            return
        self.running = False
        self.recorder.ended = True
        if exception is not None:
            with self._guarded("recording the end"):
                note_crash(self.recorder, exception)
                if isinstance(exception, KeyboardInterrupt) and self.recorder.several:
                    self._note_where_interrupted(exception)
        for tell in self.recorder.signals.before_end:
            with self._guarded("ending"), aside():
                tell()
        for handle in self._looks:
            with self._guarded("ending"):
                handle.remove()
        for hook in reversed(self.hooks):
            with self._guarded(f"removing {type(hook).__name__}"):
                hook.uninstall()
        self.hooks.clear()
        if self in _active:
            _active.remove(self)
            with self._guarded("ending"):
                _ended[:] = [self.seen()]
                global _newest
                _newest = weakref.ref(self)
        if self._frame is not None:
            with self._guarded("leaving the caller"):
                self.recorder.sites.release(self._frame)
            self._frame = None
        self.exit_code, self.ended = exit_code, True
        if exception is not None:
            self.exception = ending(exception)
        with self._guarded("recording the end"), aside():
            self.recorder.end_segment(False)
        with self._guarded("writing the trace"), aside():
            self.checkpoint()
        with self._guarded("writing the trace"):
            self.recorder.store.flush()
        with self._guarded("writing the trace"):
            self.writer.close(self._facts() if self.rank is not None else None)
        self.faults += self.recorder.faults
        self.recorder.paused += 1_000_000  # what the program keeps of ours (a compiled function) is inert
        if self._interrupt is not None:
            raise self._interrupt

    def note_where_it_stands(self) -> None:
        """Notes the call in which the watched thread is: a signal ends it there."""
        with self._guarded("recording where it stood"):
            frame = sys._current_frames().get(self.recorder.thread)
            self.stood = self.recorder.sites.current(frame) or None

    def note_interrupt(self, error: KeyboardInterrupt) -> None:
        """Notes one that what has started the program takes as its end (`torch.multiprocessing.spawn`)."""
        with self._guarded("recording where it stood"):
            self._note_where_interrupted(error)
            self.exception = ending(error)

    def _note_where_interrupted(self, error: KeyboardInterrupt) -> None:
        traceback = traceback_of(error)
        if traceback is not None and self.stood is None:
            self.stood = self.recorder.sites.of_traceback(traceback) or None

    def note_where_it_leaves(self, error: SystemExit) -> None:
        """Notes the call by which the program ends itself with an exit code."""
        with self._guarded("recording where it leaves"):
            if (traceback := traceback_of(error)) is not None:
                self.recorder.left = self.recorder.sites.of_traceback(traceback) or None

    def cut_short(self, exit_code: int) -> None:
        """What `stop` can do from another thread while the watched one hangs: writes what is known."""
        self.recorder.paused += 1_000_000
        self.exit_code, self.ended = exit_code, True
        with self._guarded("writing the trace"), aside():
            self.checkpoint(norms=False)
            self.recorder.store.flush()
        self.faults += self.recorder.faults

    # -- a watch inside this one -----------------------------------------------------------

    def begin_part(self, sample: bool, prove: bool) -> Start | None:
        """Notes how far the run is. None where another thread is the watched one, and trains."""
        recorder = self.recorder
        with self._guarded("starting a watch within"), aside():
            if recorder.thread == threading.get_ident():
                recorder.services.wake()
                recorder.end_segment(False)
            elif recorder.passes:
                return None
            recorder.closely += not sample
            recorder.prove = recorder.prove or prove
            return Start(
                recorder.store.divide(), recorder.passes, perf_counter() - self.started, recorder.own_time,
                dict(recorder.ledger.rows(norms=False)),
                {number: data.get("steps", 0) for number, data in recorder.optimizers.items()},
            )  # fmt: skip
        return None

    def end_part(self, start: Start | None, sample: bool, target: Path, program: dict[str, Any]) -> bool:
        """Copies what was recorded since `begin_part` to a trace at `target`. Returns whether anything
        was: not where another thread was watched all the while."""
        watched = start is not None
        if self.running and start is not None:
            self.recorder.closely -= not sample
            with self._guarded("ending a watch within"), aside():
                watched = self._written(apart=True)
        copy_part(self.path, target, start if watched else None, program)
        return watched

    def write_down(self) -> None:
        """Puts into the trace what is known by now, the step that is under way included: for who asks meanwhile.
        From another thread than the watched one there is only what was written anyway."""
        with self._guarded("writing the trace"), aside():
            self._written()

    def _written(self, apart: bool = False) -> bool:
        """Whether all that was recorded is in the trace now, which the watched thread alone can see to.
        apart: what comes later is not joined to it."""
        if self.recorder.thread != threading.get_ident():
            return False
        self.recorder.end_segment(False)
        if apart:
            self.recorder.store.divide()
        self.checkpoint()
        self.writer.commit()
        return True

    def leaves(self) -> list[tuple[Callable[[], Any], int]]:
        """(weak reference, number) of each leaf that was seen."""
        return [(record.ref, record.id) for record in self.recorder.ledger.all]

    def seen(self) -> _Seen:
        return _Seen(self.path, self.leaves(), self.recorder.live, range(self._first_node, sequence_number()))

    def _now_and_then(self, is_step: bool, same: bool, count: int) -> None:
        """What is known so far, for who reads along or finds the trace of a killed run. At most
        once a second; at once, and more often for a second, where a run that went on as it did does something new."""
        if self.rank is None:
            self.rank = joined_rank()
        now = perf_counter()
        if not same:
            if now - self._new_at > _QUIET and self._may_hurry(now):
                self._hurries += 1
                self.recorder.hurry_until, self._checkpoint_at = now + _HURRY, now
                self.writer.hurry(_HURRY)
            self._new_at = now
        if now < self._checkpoint_at:
            return
        with self._guarded("writing the trace"), aside():
            self.checkpoint(norms=False)
            self.recorder.store.flush()
        took = perf_counter() - now
        self.recorder.own_time += took
        self._checkpoint_at = now + max(1.0, _PART * took)
        if now < self.recorder.hurry_until:
            self._hurried += took
            if self._may_hurry(now):
                self._checkpoint_at = now + _OFTEN

    def _may_hurry(self, now: float) -> bool:
        ran = now - self.started
        return _PART * self._hurried <= ran and _SELDOM * (self._hurries - _MANY) <= ran

    def checkpoint(self, norms: bool = True) -> None:
        """Writes what is only known at the end (so far): parameters, optimizers, summary.
        norms: also of the gradients as they are now."""
        recorder = self.recorder
        for number, data in recorder.ledger.rows(norms):
            self.writer.add("parameter", number, pack_parameter(data))
        for number, data in recorder.optimizers.items():
            self.writer.add("optimizer", number, pack(data))
        self.writer.set_meta("program", self._facts())
        if recorder.marks:
            self.writer.set_meta("marks", recorder.marks)
        elapsed = perf_counter() - self.started
        cost = recorder.cost()
        own, importing = self.before
        plain = max(elapsed - cost, 1e-9) + importing
        self.writer.set_meta(
            "summary",
            {
                "passes": recorder.passes, "distinct_graphs": len(recorder.store.distinct),
                "overhead": round((plain + cost + own) / plain, 3),
                "unseen_threads": len(recorder.unseen), "unseen_passes": sum(recorder.unseen.values()),
                "own_seconds": round(cost, 4), "seconds": round(elapsed, 4),
                "start_seconds": round(own, 4), "import_seconds": round(importing, 4),
                "processes": processes_made() - self._others[0],
                "child_seconds": round(child_seconds() - self._others[1], 2),
            },
        )  # fmt: skip
        self.writer.set_meta("faults", self.faults + recorder.faults)

    def _facts(self) -> dict[str, Any]:
        return {
            "argv": self.argv, "cwd": self.cwd, "exit_code": self.exit_code, "exception": self.exception,
            "ended": self.ended, "command": self.command, "process": os.getpid(),
            "rank": self.rank, "child": self.child, "stood": self.stood, "left": self.recorder.left,
            "exits": self.recorder.exits,
            "python": sys.version.split()[0], "torch": str(torch.__version__), "when": self.began,
        }  # fmt: skip

    def mark(self, text: str, counter: str, value: int) -> None:
        """Notes what the program calls its steps from here on. Where a step has no such number, or several, the
        numbers of this name are dropped."""
        recorder = self.recorder
        if not recorder.mine():
            return
        new, last = Mark(recorder.steps, text, counter, value), recorder.marks[-1:]
        if last and last[0].text == text:
            old = last[0]
            if old.counter and old.of(new.steps + 1) != new.of(new.steps + 1):
                recorder.marks[-1] = old._replace(counter="", value=0)
            return
        recorder.marks.append(new)
        del recorder.marks[:-_MARKS]

    def end_after(self, steps: int, ended: Callable[[], None]) -> None:
        """Closes the trace at the end of this step of an optimizer, calls `ended` and ends the program as
        `sys.exit()` there would; where it does not take that, later as `os._exit()`."""
        process, tries = os.getpid(), 0

        def look(*_: Any) -> None:
            nonlocal tries
            recorder = self.recorder
            if recorder.steps < steps or threading.get_ident() != recorder.thread or os.getpid() != process:
                return
            if not tries:
                self.stop(None)
                ended()
            tries += 1
            if tries > _PATIENCE:
                os._exit(0)
            raise SystemExit

        after_every_step(look)

    def after_steps(self, look: Callable[[], None]) -> None:
        """Has `look` called after each step of an optimizer, until the end. What it raises is raised in the program."""
        recorder, process = self.recorder, os.getpid()

        def call(*_: Any) -> None:
            if recorder.mine() and not recorder.depth and os.getpid() == process:
                look()

        self._looks.append(after_every_step(call))
        recorder.looks.append(call)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What is called inside is no work of the program's: it is not recorded, and leaves the random numbers of
        Python, NumPy and torch as they are."""
        numpy = getattr(sys.modules.get("numpy"), "random", None)
        states = random.getstate(), torch.get_rng_state(), numpy and numpy.get_state()
        self.recorder.paused += 1
        try:
            with aside():
                yield
        finally:
            self.recorder.paused -= 1
            random.setstate(states[0])
            torch.set_rng_state(states[1])
            if numpy is not None:
                numpy.set_state(states[2])

    @property
    def outer(self) -> FrameType | None:
        """The frame of ours in which the program's stack begins."""
        return self._frame

    def forget(self) -> None:
        """In a forked child: the parent's trace is not ours to touch."""
        self.running = False
        self.recorder.paused += 1_000_000
        for hook in reversed(self.hooks):
            hook.uninstall()
        self.hooks.clear()
        self.writer.forget()
        _active.clear()


def active() -> Session | None:
    """The session that watches now, if any."""
    return _active[-1] if _active else None


def recorded(tensor: Any) -> tuple[Path, int | None] | None:
    """The trace of the watch that is on, or of the newest that has ended, and the number of a leaf in it (None for what
    is no leaf); None where there was no watch, it has not seen the tensor, or its trace is gone."""
    if (session := active()) is not None:
        session.write_down()
        seen = session.seen()
    elif _ended:
        seen = _ended[-1]
    else:
        return None
    number = next((number for ref, number in seen.leaves if ref() is tensor), None)
    if not seen.path.exists() or (number is None and not seen.made(tensor)):
        return None
    return seen.path, number


def made_at(numbers: Iterable[int]) -> tuple[Path, dict[int, int]] | None:
    """The trace of the watch that is on, or of the newest that has ended and is still held, and the site there of the
    call that made each of the nodes with these sequence numbers, of those that it saw lately; None without a watch."""
    session = active() or (_newest() if _newest is not None else None)
    if session is None or not session.path.exists():
        return None
    if session.running:
        session.write_down()
    found = {number: session.recorder.history.locate(number) for number in numbers if number >= 0}
    return session.path, {number: at[2] for number, at in found.items() if at is not None}


def _forking() -> None:
    if _active:
        hold()


def _forked() -> None:
    try:
        for session in list(_active):
            session.forget()
    finally:
        let()


os.register_at_fork(before=_forking, after_in_parent=let, after_in_child=_forked)
