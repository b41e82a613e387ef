"""What of a run was not watched, and how to watch it: silence about that would look like a good report."""

from __future__ import annotations

import shlex
from pathlib import PurePath
from statistics import fmean
from typing import Any

from gradscope.analysis.names import place
from gradscope.analysis.words import counted, quoted
from gradscope.escape import one_line
from gradscope.events import ErrorRaised, Lane
from gradscope.store import Trace

NO_PASS = "nothing, but no backward pass was seen either"
_LANES = 8  # threads of which is told what they trained
_LEAST = 0.05  # seconds of other processes that are worth a word
WITHIN = (
    "put `with gradscope.watch() as scope:` around the training in it, and `print(scope.report())` after it"
)
_WITHIN = WITHIN.replace("in it", "in the function that those processes run")


def unwatched(trace: Trace) -> list[str]:
    """What ran where gradscope did not look, a sentence each; first that it saw no training at all."""
    summary = trace.meta.get("summary", {})
    told = []
    if not trace.summary["passes"] and not _failed_pass(trace):
        told.append(f"no backward pass was seen in this process{_elsewhere(summary)}")
    if summary.get("unseen_passes"):
        where = counted(summary["unseen_threads"], "other thread")
        passes = counted(summary["unseen_passes"], "backward pass")
        told.append(
            f"{passes} in {where} not recorded, but for steps and losses: one thread at a time is watched"
        )
        told += _beside(trace)
    return told


def _beside(trace: Trace) -> list[str]:
    """What each of the other threads trained."""
    lanes: dict[int, list[Lane]] = {}
    for event in trace.of(Lane):
        lanes.setdefault(event.lane, []).append(event)
    told = [_lane(events) for events in lanes.values()]
    broken = [
        text for text, events in zip(told, lanes.values(), strict=True) if any(e.not_finite for e in events)
    ]
    told = [*broken, *(text for text in told if text not in broken)]
    more = [f"{counted(len(told) - _LANES, 'more thread')} trained as well"]
    return [*told[:_LANES], *(more if len(told) > _LANES else [])]


def _lane(events: list[Lane]) -> str:
    lines = []
    for event in events:
        text = f"{counted(event.passes, 'pass')} at {place(event.site.user)}"
        if event.losses:
            part = max(1, len(event.losses) // 10)
            first, last = fmean(event.losses[:part]), fmean(event.losses[-part:])
            text += f", loss {first:.4g} → {last:.4g}" if len(event.losses) > 1 else f", loss {first:.4g}"
        if event.not_finite:
            text += f", not finite in pass {event.not_finite:,}"
        lines.append(text)
    name = quoted(events[0].thread.replace("`", "'"))
    return f"thread {name}: {'; '.join(lines)}; {counted(events[0].steps, 'step')}"


def hints(trace: Trace) -> list[str]:
    """How a run without a backward pass is watched where it trains: commands, and lines to write."""
    summary = trace.meta.get("summary", {})
    if trace.summary["passes"] or _failed_pass(trace):
        return []
    argv = [str(arg) for arg in trace.program.get("argv", [])]
    if argv and argv[0].endswith(".ipynb"):
        return ["in a cell of the notebook, put `with gradscope.watch() as scope:` around the training"]
    again = _one_process(argv)
    if again:
        return [one_line(shlex.join(again))]
    if summary.get("processes"):
        return [_WITHIN]
    if summary.get("child_seconds", 0) >= _LEAST:
        return ["start what trains with `python -m gradscope run` in place of `python`", f"or {WITHIN}"]
    return []


def _failed_pass(trace: Trace) -> bool:
    """Whether the run ended in its first backward pass."""
    return any(error.where == "backward" for error in trace.of(ErrorRaised))


def _elsewhere(summary: dict[str, Any]) -> str:
    """What is known of other processes."""
    seconds = summary.get("child_seconds", 0)
    took = f", {seconds:.1f} s of computing," if seconds >= _LEAST else ""
    if made := summary.get("processes"):
        return f"; {counted(made, 'process')} that it made{took} ran unwatched"
    return f"; the programs that it started{took} ran unwatched" if took else ""


def _one_process(argv: list[str]) -> list[str]:
    """`pytest -n 2 …` with the tests in the process that is watched."""
    if not argv or not (argv[0].endswith("pytest/__main__.py") or _name(argv[0]) in ("pytest", "py.test")):
        return []
    rest, spread, at = [], False, 1
    while at < len(argv):
        name, equals, _ = argv[at].partition("=")
        if name in ("-n", "--numprocesses"):
            spread, at = True, at + (1 if equals else 2)
        elif name.startswith("-n") and name[2:].isdigit():
            spread, at = True, at + 1
        else:
            rest.append(argv[at])
            at += 1
    return ["gradscope", "run", "-m", "pytest", "-n", "0", *rest] if spread else []


def _name(path: str) -> str:
    return PurePath(path).stem
