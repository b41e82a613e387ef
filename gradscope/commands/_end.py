"""What `run` does when the program ends: in its own time, by a signal, by `os._exit`, or for another program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from os import _exit  # the program may put another in its place
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, TextIO

from gradscope import interrupts
from gradscope.check import Report, fails
from gradscope.commands._files import Files, tried
from gradscope.commands._opening import opened
from gradscope.commands._ranks import Place, gathered, not_ended_by, wait_for_children
from gradscope.commands._saying import anew, say
from gradscope.commands._working import working
from gradscope.config import Config
from gradscope.model import GradscopeError
from gradscope.places import point_last
from gradscope.runner import Outcome
from gradscope.telling import Telling, asked
from gradscope.telling import ignore as ignore_all
from gradscope.together import examine_path
from gradscope.unwatched import WITHIN

if TYPE_CHECKING:
    from gradscope.session import Session

_REST = 0.03  # seconds: some turns of Python's lock, which is given on after 5 ms


@dataclass
class End:
    """The report of one run, and its exit code."""

    session: Session
    place: Place
    config: Config
    files: Files
    stream: TextIO | None  # of the report: the program may put another in its place
    stop_following: Callable[[], None]
    kept: bool  # the trace's place was asked for
    logged: Telling = field(default_factory=lambda: Telling(ignore_all))

    def listen(self) -> None:
        """To what ends a program other than its last line."""
        signals = self.session.recorder.signals
        signals.killed.connect(self._killed)
        signals.process_exit.connect(self._left)
        signals.replaced.connect(self._replaced)

    def of(self, outcome: Outcome, hint: Callable[[], str]) -> int:
        """The program has come to its end: reports. Gives the exit code. hint: what else there is to say."""
        with self._undisturbed():
            if outcome.left is not None and outcome.exit_code:
                self.session.note_where_it_leaves(outcome.left)
            self.session.stop(outcome.exit_code, outcome.error)
            if outcome.interrupted and (children := self.session.recorder.children) is not None:
                wait_for_children(children, self.session.path)
            report, failed = self._tell(self.stream)
            if not self.place.told_elsewhere and (said := hint()):
                say(said, self.stream)
        if self.place.told_elsewhere:
            return outcome.exit_code
        self._let_threads_rest()
        return self._exit_code(outcome, report, failed)

    def _killed(self, number: int, hung: bool) -> None:
        own = anew(self.stream)

        def end() -> None:
            with _timers_stopped():
                self.session.note_where_it_stands()
                self.session.cut_short(-number) if hung else self.session.stop(-number)
                self._tell(own, in_haste=True)

        tried(end, "report", own)

    def _left(self, status: int) -> None:
        if threading.active_count() > 1 or threading.current_thread() is not threading.main_thread():
            say("the program left by os._exit while its threads ran: see `gradscope check`", self.stream)
            return
        interrupts.hold(False)
        with self._undisturbed():
            report, failed = self._tell(self.stream)
        if not self.place.told_elsewhere:
            _exit(self._exit_code(Outcome(status), report, failed))

    def _replaced(self) -> None:
        recorder = self.session.recorder
        self.session.checkpoint()
        recorder.store.flush()
        before = "; `gradscope check` tells of what ran before" if recorder.passes else ""
        say(f"another program takes the place of this one, and runs unwatched: {WITHIN}{before}", self.stream)

    def _tell(self, stream: TextIO | None, in_haste: bool = False) -> tuple[Report | None, bool]:
        """Prints the report and writes the files; whether any of these failed."""
        self.stop_following()
        self.logged.stop()
        whole = self.place.whole(self._all())
        if self.place.told_elsewhere:
            return None, False
        with working("waiting for the other ranks", stream):
            self.place.wait(self.session.path, in_haste)
        report = self._report(whole, stream)
        if report is not None and not in_haste and asked():
            self.logged.end(report.findings)
        if report is None or not self.place.writes_files:
            return report, False
        return report, self.files.write(report, stream)

    def _report(self, whole: Path, stream: TextIO | None) -> Report | None:
        """Printed on stderr. A fault of ours here must not touch the program's end."""
        from gradscope.render.text import show

        faults = self.session.faults
        try:
            with working("looking at what was seen", stream):
                report = examine_path(opened(whole), self.config)
            # What went wrong with the trace may have found no place in it.
            report = replace(report, faults=tuple(dict.fromkeys([*faults, *report.faults])))
            if stream is not None:
                show(report, stream)
                stream.flush()
            return report
        except GradscopeError as error:
            say(str(error), stream)
        except Exception as error:
            say(f"no report, a fault of its own: {type(error).__name__}: {error}", stream)
        for fault in faults:
            say(fault, stream)
        return None

    def _all(self) -> Path:
        """The trace, or the folder of it and of those that children of the program have left."""
        path, children = self.session.path, self.session.recorder.children
        if children is None or self.place.rank is not None:
            return path
        whole = gathered(path, children, keep=self.kept)
        if whole != path:
            point_last(whole)
        return whole

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Around a report: no timer of the program's goes off, and the ranks beside do not end it."""
        not_ended: AbstractContextManager[None] = nullcontext() if self.place.rank is None else not_ended_by()
        with _timers_stopped(), not_ended:
            yield

    def _let_threads_rest(self) -> None:
        """While the report is made, threads that outlive the program (daemons, gloo's) wait for Python's lock, perhaps
        inside of torch: one that is met there by the interpreter's end aborts the process. Plain they would have had
        it."""
        if threading.active_count() > 1 or self.place.rank is not None:
            sleep(_REST)

    def _exit_code(self, outcome: Outcome, report: Report | None, failed: bool) -> int:
        if outcome.exit_code:
            return outcome.exit_code
        if (
            report is not None
            and self.config.fail_on is not None
            and fails(report.findings, self.config.fail_on)
        ):
            return 1
        return 2 if failed else 0


@contextmanager
def _timers_stopped() -> Iterator[None]:
    """An alarm that the program has left behind (`signal.alarm`) would have found it at its end:
    it does not go off while the report is made."""
    stopped = []
    for name in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF"):
        with suppress(AttributeError, OSError):
            timer = getattr(signal, name)
            stopped.append((timer, *signal.setitimer(timer, 0)))
    try:
        yield
    finally:
        for timer, left, interval in stopped:
            if left:
                signal.setitimer(timer, left, interval)
