"""Findings told to the program itself while it runs: `watch(on_finding=…)`.

The rules run in a process beside the program (gradscope/follow.py), which writes what is certain into a file. The
program looks into that file after a step of an optimizer, at most ten times a second, and calls what it was given.
"""

from __future__ import annotations

import base64
import logging
import os
import pickle
import shutil
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from gradscope.analysis.since import called
from gradscope.beside import beside
from gradscope.check import without_stacks
from gradscope.config import Config
from gradscope.escape import one_line
from gradscope.follow import Key, follow, is_news, key_of
from gradscope.model import Finding, FindingWarning, Since

if TYPE_CHECKING:
    from gradscope.session import Session

Listener = Callable[[Finding], object]

LOGGER = "gradscope.live"  # made when there is something to tell: a program's loggers are its own
LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "note": logging.INFO}

_PAUSE = 0.1  # seconds between two looks into the file
_AFTER = 2  # seconds until the rules are run for the first time: a short block ends before


class Telling:
    """What has been told of one watch, and to whom. Faults, ours and the listener's, stand in `faults`."""

    def __init__(self, listener: Listener):
        self._listener = listener
        self._apart: Callable[[], AbstractContextManager[None]] = nullcontext  # no work of the program's
        self._told: set[Key] = set()
        self._read = 0
        self._next = 0.0
        self._file: Path | None = None  # that the process beside writes
        self._running: Callable[[], object] | None = None  # ends it
        self.faults: list[str] = []

    def start(self, session: Session, config: Config) -> None:
        """Has the rules run beside the program that a session watches."""
        self._apart = session.apart
        self._begin(session.path, config)
        session.after_steps(self._look)

    def start_once_asked(self, session: Session, config: Config) -> None:
        """The same, once the program has given the logger a handler. A fault of ours here is noted, no more."""
        self._apart = session.apart

        def look() -> None:
            if monotonic() >= self._next and self._file is None and not self.faults and asked():
                try:
                    self._begin(session.path, config)
                except OSError as error:
                    self._fault(f"findings are told at the end only: {error}")
            self._look()

        session.after_steps(look)

    def _begin(self, trace: Path, config: Config) -> None:
        folder = tempfile.mkdtemp(prefix="gradscope-")
        self._file = Path(folder) / "told"
        with open(self._file, "wb") as file:
            code = f"from {__name__} import main; main()"
            given = base64.b64encode(pickle.dumps(config)).decode()
            end = beside(_AFTER, ["-c", code, str(trace), given], file.fileno())
        self._running = weakref.finalize(self, _let_go, folder, end, os.getpid())

    def _look(self) -> None:
        """Tells what is new."""
        if (now := monotonic()) < self._next:
            return
        self._next = now + _PAUSE
        for finding in self._new():
            self._tell(finding)

    def end(self, findings: Iterable[Finding]) -> None:
        """Tells what had not become certain before the end, and lets go of everything."""
        self.stop()
        for finding in findings:
            if is_news(finding):
                self._tell(finding)
        for fault in self.faults:
            print(f"gradscope: {fault}", file=sys.stderr)

    def stop(self) -> None:
        """Ends what runs beside."""
        if self._running is not None:
            self._running()
        self._running = self._file = None

    def _new(self) -> list[Finding]:
        if self._file is None:
            return []
        try:
            with open(self._file, "rb") as file:
                file.seek(self._read)
                text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._read += len(whole)
            return [
                pickle.loads(base64.b64decode(line)) for line in whole.splitlines()
            ]  # our own process wrote it
        except Exception as error:
            self._fault(f"reading what was found: {type(error).__name__}: {error}")
            self.stop()
            return []

    def _tell(self, finding: Finding) -> None:
        key = key_of(finding)
        if key in self._told:
            return
        self._told.add(key)
        where = f"{one_line(str(finding.locations[0]))}: " if finding.locations else ""
        try:
            with self._apart():
                _logger().log(
                    LEVELS[finding.severity], "%s%s", where, words(finding), extra={"finding": finding}
                )
                if finding.severity != "note":
                    self._listener(finding)
        except FindingWarning:  # the program's filter makes an error of it
            raise
        except Exception as error:
            self._fault(f"`on_finding` raised {type(error).__name__}: {one_line(str(error))}")

    def _fault(self, text: str) -> None:
        if text not in self.faults:
            self.faults.append(text)


def _let_go(folder: str, end: Callable[[], None], process: int) -> None:
    """But not where a forked child lets go of its copy."""
    if os.getpid() == process:
        end()
        shutil.rmtree(folder, ignore_errors=True)


def words(finding: Finding) -> str:
    """A finding on one line, with the step since when."""
    since = f" ({finding.since})" if finding.since is not None else ""
    return one_line(f"{finding.severity} {finding.code} {finding.message}{since}")


def warn(finding: Finding) -> None:
    """Issues a `gradscope.FindingWarning` that stands on the finding's first line."""
    place = finding.locations[0] if finding.locations else None
    path, line = (place.path, place.line) if place is not None else ("gradscope", 1)
    warnings.warn_explicit(FindingWarning(words(finding)), FindingWarning, path, line)


def asked() -> bool:
    """Whether somebody listens to the logger itself. A handler of the root logger alone is no question: the program
    would find lines in its logs that it did not ask for."""
    logger = logging.root.manager.loggerDict.get(LOGGER)
    handlers = logger.handlers if isinstance(logger, logging.Logger) else []
    return any(not isinstance(handler, logging.NullHandler) for handler in handlers)


def _logger() -> logging.Logger:
    logger = logging.getLogger(LOGGER)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # a program that asked for nothing prints nothing
    return logger


def ignore(finding: Finding) -> None:
    """Is told by the logger alone."""


def main() -> None:
    """In the process beside: the findings of a trace that grows, a line each. Not run as `__main__`, whose classes
    no other process could find."""
    trace, config = sys.argv[1:]
    for news in follow(Path(trace), pickle.loads(base64.b64decode(config))):  # our own process gave it
        if isinstance(news, tuple) and not news.over:
            since = news.finding.since or called(news.report.trace, Since(news.step, True))
            found = replace(without_stacks(news.finding), since=since)
            line = base64.b64encode(pickle.dumps(found)) + b"\n"
            os.write(1, line)
