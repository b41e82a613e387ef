"""Findings while the program runs: the rules over a trace that grows, again and again, in a process of their own.

The watched program pays nothing for it: it writes what it would write anyway.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, process_time, sleep, time
from typing import NamedTuple

from gradscope.check import Report, examine, selected_rules
from gradscope.config import Config
from gradscope.model import Finding
from gradscope.rules import load
from gradscope.store import Glance, Trace, glance

PAUSE = 2.0  # seconds between two looks, at least, where nothing is new
PATIENCE = 60.0  # seconds until a program has begun
SHARE = 20  # looking takes one part in so many of a processor's time
TICK = 0.1  # seconds between two glances at whether the trace has anything new, and two looks at the least
EXTRA = 40  # looks at what is new take one part more in so many
START = 3.0  # seconds of a processor that they may take before

Key = tuple[str, str, tuple[tuple[str, int], ...]]


class Told(NamedTuple):
    """A finding of a run that goes on. step: steps of optimizers until then. over: an earlier one, which what
    came since has taken back."""

    report: Report
    finding: Finding
    step: int
    over: bool = False


class Certain:
    """Of the findings of a run that goes on, those that two looks in turn have found, with a step between them: a
    trace that has only begun tells half of what happened."""

    def __init__(self) -> None:
        self.steps = 0  # of the last look that counted
        self._before: set[Key] = set()
        self._keys: set[Key] = set()

    def look(self, found: Collection[Key], steps: int) -> set[Key]:
        """Those that are certain now. steps: of optimizers, when the look began."""
        if steps > self.steps:
            self._keys = self._before & set(found)
            self._before, self.steps = set(found), steps
        return self._keys & set(found)


class Pace:
    """When to look again: at once where the trace has a kind of step that it had not, then at growing intervals,
    since some evidence takes several steps, and where nothing is new for one part in `SHARE` of the time."""

    def __init__(self, now: float):
        self._began = self._looked = now
        self._interval = 0.0  # until the next look, while what is new is looked at
        self._ordinary = 0.0
        self._extra = 0.0  # seconds of a processor, for looks that came before their time
        self._seen: Glance | None = None
        self._unconfirmed = False

    def look(self, seen: Glance, now: float, cost: float, unconfirmed: bool) -> None:
        """Notes a look that is over. seen: what the trace held before it. cost: seconds of a processor. unconfirmed:
        it has found what the next one has to find again."""
        if now - self._looked < self._ordinary:
            self._extra += cost
        if self._seen is not None and seen.kinds != self._seen.kinds:
            self._interval = TICK
        self._seen, self._looked, self._unconfirmed = seen, now, unconfirmed
        self._ordinary = max(PAUSE, SHARE * cost)
        self._interval = min(2 * self._interval, self._ordinary) if self._interval else self._ordinary

    def due(self, seen: Glance, now: float) -> bool:
        """Whether it is time, with what the trace holds now."""
        since = now - self._looked
        assert self._seen is not None
        if since >= self._ordinary or (since >= PAUSE and self._unconfirmed):
            return True
        if since < TICK or seen.last == self._seen.last:
            return False
        if self._extra > START + (now - self._began) / EXTRA:
            return False
        # What is written of parameters now and then is to be as new as the events.
        confirms = self._unconfirmed and seen.written != self._seen.written
        return confirms or since >= self._interval or seen.kinds != self._seen.kinds


def follow(path: Path, config: Config) -> Iterator[Told | Report]:
    """Each error, each warning and what notes say of a late step, once, when two looks in turn, with a step between
    them, have found it; or a third that does not find it any more. Last comes the report of the whole, when the program
    has ended or is gone.

    Raises GradscopeError where `path` is no trace.
    """
    told: dict[Key, Finding] = {}
    certain = Certain()
    load(selected_rules(config))  # no part of a look
    pace = Pace(monotonic())
    while True:
        seen, began, unconfirmed = glance(path), process_time(), False
        trace = Trace(path)
        over = not goes_on(trace)
        report = examine(trace, config)
        if over:
            yield report
            return
        step = trace.summary["steps"]
        if step > certain.steps:
            found = {key_of(finding): finding for finding in report.findings if is_news(finding)}
            for key in [key for key in told if key not in found]:
                yield Told(report, told.pop(key), step, over=True)
            keys = certain.look(found, step)
            for key in [key for key in found if key in keys and key not in told]:
                told[key] = found[key]
                yield Told(report, found[key], step)
            unconfirmed = not found.keys() <= keys | told.keys()
        process = trace.program.get("process")
        trace.close()
        pace.look(seen, monotonic(), process_time() - began, unconfirmed)
        while True:
            sleep(TICK)
            now = glance(path, seen)
            if now.ended != seen.ended or pace.due(now, monotonic()) or not _lives(process):
                break


def is_news(finding: Finding) -> bool:
    """Whether it is told before the end: a note where something has begun in the middle of the run (frozen from here
    on), which may be meant."""
    return finding.severity != "note" or (finding.since is not None and finding.since.step > 1)


def goes_on(trace: Trace) -> bool:
    """Whether the program, one of this machine, still writes to it, or is about to begin."""
    process = trace.program.get("process")
    if process is None:
        return time() - trace.path.stat().st_mtime < PATIENCE
    return not trace.program["ended"] and _lives(process)


def _lives(process: int | None) -> bool:
    """Whether there is a process of this number. None counts as one: the program has not said yet which it is."""
    if process is None:
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def interrupt(trace: Trace) -> None:
    """Ends the program as Ctrl-C does, if it still goes on."""
    if goes_on(trace):
        with suppress(OSError):
            os.kill(trace.program["process"], signal.SIGINT)


def key_of(finding: Finding) -> Key:
    """What stays the same of a finding while its counts and names grow."""
    causes = [place for place in finding.locations if place.role == "cause"] or finding.locations
    return finding.code, finding.severity, tuple((place.path, place.line) for place in causes)
