"""How each process of a run ended, and where one stood that did not end by itself."""

from __future__ import annotations

import ast
import re
import signal
from pathlib import PurePath
from typing import Any, NamedTuple

from gradscope.analysis.loop import timeline
from gradscope.analysis.names import place
from gradscope.analysis.text import site_of
from gradscope.analysis.words import counted
from gradscope.events import Crashed
from gradscope.model import Site, listed_ranks
from gradscope.store import Member, Run, Trace

# What Python's fault handler says, and the signal that it means.
_FATAL = {
    "Aborted": "SIGABRT", "Segmentation fault": "SIGSEGV", "Bus error": "SIGBUS",
    "Floating point exception": "SIGFPE", "Floating-point exception": "SIGFPE", "Illegal instruction": "SIGILL",
}  # fmt: skip
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.*)$', re.MULTILINE)


class Ending(NamedTuple):
    """How a process ended that did not come to its end without a fault. `how`: "was killed by SIGKILL"; `site`: where
    that was, None where it is not known; `doing`: what it did there ("it stood at train.py:3, after 2 steps")."""

    how: str
    site: Site | None = None
    doing: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.how}: {self.doing}" if self.doing else self.how


def how_it_ended(run: Run) -> list[str]:
    """A sentence for each process that was killed, hangs or failed, alike ones together; none where all ended well."""
    said: dict[str, list[str]] = {}
    for member in run.members:
        if (found := ending(run, member)) is not None:
            said.setdefault(found.sentence, []).append(member.name)
    return [
        f"{_subject(names)} {text if len(names) == 1 else _of_several(text)}" for text, names in said.items()
    ]


def _of_several(text: str) -> str:
    how, colon, where = text.partition(": ")
    how = how.replace("was ", "were ").replace("has ", "have ")
    return f"{how}{colon}{where.replace('it ', 'each ', 1)}"


def stood_at(trace: Trace) -> Site | None:
    """The call in which the process was when a signal ended it, else what it was last seen to do."""
    site = trace.site(trace.program.get("stood"))
    if site is not None:
        return site
    return next((events[-1].site for _, events in reversed(timeline(trace)) if events), None)


def ending(run: Run, member: Member) -> Ending | None:
    """None of a process that came to its end without a fault, or is there still and waits for work."""
    program: dict[str, Any] = member.trace.program
    exception = program.get("exception") or {}
    interrupted = exception.get("type") == "KeyboardInterrupt"
    if exception and not interrupted:
        crashes = member.trace.of(Crashed)
        site = crashes[-1].site.user if crashes else None
        known = site is not None and site.kind == "user"
        where = f" at {place(site)}" if site is not None and known else ""
        return Ending(f"ended by {exception.get('type', 'an exception')}{where}", site if known else None)
    if not program.get("ended") and (died := _died(member.trace)) is not None:
        return died
    code = run.exit_code(member)
    if program.get("ended") and (code is None or code >= 0) and not interrupted:
        return _left(member.trace, code) if code else _after_its_end(run, member)
    if outlives(program):
        return None
    site = stood_at(member.trace)
    if (site is None or site.user.kind != "user") and program.get("child") and code == -signal.SIGTERM:
        return None  # a pool ends workers that wait for work like this
    if interrupted:
        how = "was interrupted"
    elif code is None:
        how = "has not ended yet, or was killed"
    elif code < 0:
        how = f"was {'killed' if code == -signal.SIGKILL else 'ended'} by {signal_name(-code)}"
    else:
        how = f"ended with exit code {code}"
    if site is None or site.user.kind != "user":
        return Ending(how)
    stood = program.get("stood") is not None
    doing = f" in `{site.function.rpartition('.')[2]}`" if site.kind == "torch" and stood else ""
    steps = counted(member.trace.summary["steps"], "step")
    told = f"it stood{doing} at {place(site.user)}, after {steps}"
    if not stood:  # as far as the trace was written
        told = f"it was last seen at {place(site.user)}, after {steps} or more"
    return Ending(how, site.user, told)


def _left(trace: Trace, code: int) -> Ending:
    """Of a process that has ended itself: with which code, and where."""
    how, site = f"ended with exit code {code}", trace.site(trace.program.get("left"))
    if site is None or site.user.kind != "user":
        return Ending(how)
    steps = counted(trace.summary["steps"], "step")
    return Ending(how, site.user, f"it ended itself at {place(site.user)}, after {steps}")


def _after_its_end(run: Run, member: Member) -> Ending | None:
    """Of a process whose program was through: a signal of C code that came while Python was leaving."""
    code = run.seen_to_end(member)
    if code is None or code >= 0 or code == -signal.SIGTERM:
        return None
    return Ending(f"came to the end of its program, and was then ended by {signal_name(-code)}")


def outlives(program: dict[str, Any]) -> bool:
    """Whether it is of a DataLoader's worker that is there still: it waits for work until its program is gone."""
    return not program.get("ended", True) and bool((program.get("child") or {}).get("loader"))


def _died(trace: Trace) -> Ending | None:
    """Of a process that C code ended: by which signal, and where the program stood."""
    head, stacks = last_words(trace)
    name = _FATAL.get(head.removeprefix("Fatal Python error: ").strip())
    if name is None:
        return None
    how = f"was ended by {name}, which its own code or a library raised"
    site = next((site for frames in stacks for site in frames if site.kind == "user"), None)
    if site is None:
        return Ending(how)
    steps = counted(trace.summary["steps"], "step")  # as far as the trace was written
    return Ending(how, site, f"it stood at {place(site)}, after {steps} or more")


def last_words(trace: Trace) -> tuple[str, list[list[Site]]]:
    """What Python's fault handler wrote: its first line, and the frames of each thread, innermost first: those of the
    one that failed, then of the main one."""

    def frame(path: str, line: int, function: str) -> Site:
        file = trace.source_file(path) if path in trace.sources else None
        if file is not None:
            statements = (node for node in file.nodes if isinstance(node, ast.stmt) and node.lineno == line)
            if (statement := next(statements, None)) is not None:
                return file.head(site_of(path, function, statement))
        kind = "user" if file is not None else "torch" if "torch" in PurePath(path).parts else "library"
        return Site(-1, path, line, 1, line, 1, function, kind)

    head, _, threads = trace.last_words.partition("\n\n")
    stacks = threads.split("\n\n")[::-1]  # the first thread that there was is the last that it names
    stacks.sort(key=lambda text: not text.startswith("Current thread"))
    frames = [
        [frame(path, int(line), function) for path, line, function in _FRAME.findall(stack)]
        for stack in stacks
    ]
    return head, frames


def _subject(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    if all(name.startswith("rank ") for name in names):
        return f"ranks {listed_ranks([name.removeprefix('rank ') for name in names])}"
    return listed_ranks(names)


def signal_name(number: int) -> str:
    """SIGTERM of 15."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
