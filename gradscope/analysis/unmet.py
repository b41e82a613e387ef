"""Ranks that wait for each other in calls that do not belong together: what each was in when the run ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gradscope.analysis.loop import in_order
from gradscope.analysis.memo import once
from gradscope.analysis.names import place
from gradscope.analysis.parting import acts, by_group, ended_well, wrapping
from gradscope.analysis.standing import last_words
from gradscope.analysis.wrappers import wrapped
from gradscope.events import Backward, Crashed
from gradscope.model import Site
from gradscope.store import Member, Run

PASS, CALL, OVER = "a backward pass", "a call of the wrapped model", "the end of the program"
_GONE = (
    "Connection closed by peer", "Connection reset by peer", "Timed out waiting", "Broken pipe",
    "Application timeout caused pair closure",
)  # fmt: skip
_ONE_WAY = (
    "send",
    "recv",
    "isend",
    "irecv",
    "batch_isend_irecv",
    "wait",
    "send_object_list",
    "recv_object_list",
)
_SHOWN = 4  # counts
_PASSES = ("Tensor.backward", "_engine_run_backward", "grad")


class Wait(NamedTuple):
    """What a rank was in at its end. `passes`: backward passes of the wrapped model before."""

    member: Member
    inside: str
    site: Site | None  # None where it was through
    passes: int
    failed: bool  # torch gave the waiting up; else a signal ended it there
    in_c: bool = False  # by a signal that C code raised


class Unmet(NamedTuple):
    """`ahead`: those that wait in what the others do not come to. `counts`: a line that some ranks went through more
    often than others, with how often."""

    ahead: list[Wait]
    others: list[Wait]
    counts: str


def unmet(run: Run) -> Unmet | None:
    """Where the ranks of a run wait in different calls. None where one of them is unknown, or ended otherwise: then
    the others wait for that."""
    if len(run.ranks) < max(run.world, 2) or all(ended_well(m.trace.program) for m in run.ranks):
        return None
    found = waits(run)
    if len(found) < len(run.ranks):
        return None
    inner = sorted((w for w in found if w.inside in (PASS, CALL)), key=lambda wait: wait.inside != PASS)
    outer = [wait for wait in found if wait not in inner]
    if not outer:  # some are in a pass, others have begun the next round without one
        outer = [wait for wait in inner if wait.inside != PASS]
        inner = [wait for wait in inner if wait.inside == PASS]
    if inner and outer and min(w.passes for w in inner) >= max(w.passes for w in outer):
        return Unmet(inner, outer, _counts(run))
    kinds = dict.fromkeys(wait.inside for wait in found)
    if len(kinds) > 1 and not {PASS, CALL, OVER} & set(kinds):
        first = next(iter(kinds))
        return Unmet(
            [w for w in found if w.inside == first], [w for w in found if w.inside != first], _counts(run)
        )
    return None


@once
def waits(run: Run) -> list[Wait]:
    """What each rank was in at its end, where that is known."""
    found = []
    for group in run.alike:
        wait = _wait(group[0])
        found += [wait._replace(member=m) for m in group if wait is not None and m.rank is not None]
        run.leave(group[0])
    return found


def _wait(member: Member) -> Wait | None:
    trace = member.trace
    known = {id for of in wrapped(trace) for id in of.parameters}
    passes = sum(
        times
        for times, event in in_order(trace)
        if isinstance(event, Backward) and not known.isdisjoint(event.filled)
    )
    if ended_well(trace.program):
        return Wait(member, OVER, None, passes, False)
    text = str((trace.program.get("exception") or {}).get("text", ""))
    crashes = trace.of(Crashed)
    failed = bool(crashes) and any(said in text for said in _GONE)
    site = crashes[-1].site if failed else trace.site(trace.program.get("stood"))
    if site is None and not text:
        return _waited_in_c(member, passes)
    inside = _inside(site.stack) if site is not None and (failed or not text) else ""
    return Wait(member, inside, site.user, passes, failed) if site is not None and inside else None


def _waited_in_c(member: Member, passes: int) -> Wait | None:
    """Of a process that C code ended in a call between ranks."""
    for frames in last_words(member.trace)[1]:
        user = next((frame for frame in frames if frame.kind == "user"), None)
        if user is not None:
            inside = _inside(frames[frames.index(user) :: -1])
            return Wait(member, inside, user, passes, True, in_c=True) if inside else None
    return None


def _inside(stack: Sequence[Site]) -> str:
    """What a rank waits in there; "" where it does not."""
    frames = [frame for frame in stack if frame.kind == "torch"]
    for frame in frames:
        if frame.function == "DistributedDataParallel.forward" or (
            frame.function == "forward" and frame.path.endswith("parallel/distributed.py")
        ):
            return CALL
        if frame.function in _PASSES:
            return PASS
    for frame in reversed(frames):
        if (
            "distributed" in frame.path
            and frame.function.isidentifier()
            and not frame.function.startswith("_")
        ):
            return "" if frame.function in _ONE_WAY else f"`{frame.function}`"
    return ""


def _counts(run: Run) -> str:
    """The first line of the loop that not all ranks went through as often."""
    asked = by_group(run, wrapping(run), acts)
    for _, (count, sites) in asked:
        for key in count:
            times: dict[int, Member] = {}
            for member, (other, _) in asked:
                times.setdefault(other[key], member)
            if len(times) > 1:
                told = ", ".join(f"{n:,} times on {m.name}" for n, m in list(times.items())[:_SHOWN])
                return f"{place(sites[key])} was gone through {told}"
    return ""
