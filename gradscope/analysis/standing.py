"""How each process of a run ended, and where one stood that did not end by itself."""

from __future__ import annotations

import re
import signal
from typing import Any

from gradscope.analysis.loop import timeline
from gradscope.analysis.names import place
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


def how_it_ended(run: Run) -> list[str]:
    """A sentence for each process that was killed, hangs or failed, alike ones together; none where all ended well."""
    said: dict[str, list[str]] = {}
    for member in run.members:
        if text := _end(member):
            said.setdefault(text, []).append(member.name)
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


def _end(member: Member) -> str:
    program: dict[str, Any] = member.trace.program
    exception = program.get("exception")
    if exception:
        crashes = member.trace.of(Crashed)
        site = crashes[-1].site.user if crashes else None
        where = f" at {place(site)}" if site is not None and site.kind == "user" else ""
        return f"ended by {exception.get('type', 'an exception')}{where}"
    code = program.get("exit_code")
    if not program.get("ended") and (how := _died(member.trace)):
        return how
    if program.get("ended") and isinstance(code, int) and code >= 0:
        return f"ended with exit code {code}" if code else ""
    if (program.get("ended") and code is None) or outlives(program):
        return ""
    how = (
        f"was ended by {signal_name(-code)}" if isinstance(code, int) else "has not ended yet, or was killed"
    )
    site = stood_at(member.trace)
    if site is None or site.user.kind != "user":
        resting = program.get("child") and code == -signal.SIGTERM
        return "" if resting else how  # a pool ends workers that wait for work like this
    doing = f" in `{site.function.rpartition('.')[2]}`" if site.kind == "torch" and "stood" in program else ""
    verb = "it stood" if program.get("stood") is not None else "it was last seen"
    step = member.trace.summary["steps"]
    return f"{how}: {verb}{doing} at {place(site.user)}, after {counted(step, 'step')}"


def outlives(program: dict[str, Any]) -> bool:
    """Whether it is of a DataLoader's worker that is there still: it waits for work until its program is gone."""
    return not program.get("ended", True) and bool((program.get("child") or {}).get("loader"))


def _died(trace: Trace) -> str:
    """Of a process that C code ended: by which signal, and where the program stood. "" of others."""
    head, _, threads = trace.last_words.partition("\n\n")
    name = _FATAL.get(head.removeprefix("Fatal Python error: ").strip())
    if name is None:
        return ""
    how = f"was ended by {name}, which its own code or a library raised"
    stacks = threads.split("\n\n")[::-1]  # the first thread that there was is the last that it names
    for stack in sorted(stacks, key=lambda text: not text.startswith("Current thread")):
        for path, line, function in _FRAME.findall(stack):
            if path in trace.sources:
                site = Site(-1, path, int(line), 1, int(line), 1, function, "user")
                step = trace.summary["steps"]  # as far as the trace was written
                return f"{how}: it stood at {place(site)}, after {counted(step, 'step')} or more"
    return how


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
