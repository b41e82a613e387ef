"""Which ranks went first, where others failed because they waited for them."""

from __future__ import annotations

import signal
from typing import NamedTuple

from gradscope.analysis.memo import once
from gradscope.analysis.standing import Ending, ending, stood_at
from gradscope.analysis.unmet import Wait, unmet, waits
from gradscope.store import Member, Run

KILLED, RAISED, LEFT, INTERRUPTED, UNKNOWN, THROUGH, HUNG = range(
    7
)  # the first that there is has caused the others
# What torch raises where another rank has failed.
_CONSEQUENCES = ("DistBackendError", "DistNetworkError", "DistStoreError")


class FirstGone(NamedTuple):
    """`how` is one of the above; `ending` that of the first of `members`, None where it came to its end without a
    fault; `waits`: what torch ended on others because of it."""

    members: list[Member]
    how: int
    ending: Ending | None
    waits: list[Wait]


@once
def first_gone(run: Run) -> FirstGone | None:
    """None where no rank failed in waiting, all waited, or nothing is known of one that did not."""
    if not any(member.trace.program.get("exception") for member in run.ranks):
        return None
    waiting = [wait for wait in waits(run) if wait.site is not None]
    failed = [wait for wait in waiting if wait.failed and not wait.in_c]
    if not failed or unmet(run) is not None:
        return None
    there = {id(wait.member) for wait in waiting}
    late = all(
        "Timed out" in str((w.member.trace.program.get("exception") or {}).get("text")) for w in failed
    )
    found: dict[int, list[Member]] = {}
    for member in run.ranks:
        if id(member) not in there and (how := _how(run, member, late)) is not None:
            found.setdefault(how, []).append(member)
    if not found:
        return None
    first = min(found)
    return FirstGone(found[first], first, ending(run, found[first][0]), failed)


def _how(run: Run, member: Member, late: bool) -> int | None:
    """None of one that says nothing: the launcher ended it, because another had failed."""
    program = member.trace.program
    if exception := program.get("exception"):
        if exception.get("type") == "KeyboardInterrupt":
            return INTERRUPTED
        return None if exception.get("type") in _CONSEQUENCES else RAISED
    code = run.exit_code(member)
    if code is None:
        return UNKNOWN if member.trace.last_words == "" else KILLED
    if code == 0:
        return THROUGH
    if code > 0:
        return LEFT
    if program.get("stood") is None and code not in (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP):
        return KILLED
    return HUNG if late and stood_at(member.trace) is not None else None
