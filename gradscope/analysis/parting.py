"""Where the parameters of ranks part that should be equal: the prints of them, compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose, isnan
from typing import Any

from gradscope.analysis.loop import in_order
from gradscope.analysis.memo import once
from gradscope.analysis.wrappers import wrapped
from gradscope.events import Backward, Clip, Scheduled, Step, Update, ZeroGrad
from gradscope.model import Site
from gradscope.store import Member, Run, Trace
from gradscope.store.outline import outline_of_prints

_NOISE = 1e-6  # relative: what other hardware may make of the same computation
_GONE = ("Connection closed by peer", "Connection reset by peer", "Timed out waiting", "Broken pipe")
_ACTS = (Backward, Clip, Scheduled, Step, Update, ZeroGrad)


@dataclass(frozen=True)
class Parting:
    """The first step after which parameters differed. `last`: the one before that was compared. `values`: member →
    the norm of the first of them; `known`: `DistributedDataParallel` averages their gradients."""

    step: int
    last: int
    site: Site | None
    parameters: list[int]  # ids in the first member's trace
    values: list[tuple[Member, float]]
    known: bool


@once
def parted(run: Run) -> Parting | None:
    """The first parting of the run; None where all that should be equal is."""
    members = _different(run)
    if len(members) < 2:
        return None
    numbers = set.intersection(*(set(member.trace.prints("parameters")) for member in members))
    found = [p for number in sorted(numbers) if (p := _of_optimizer(members, number)) is not None]
    return min(found, key=lambda parting: (not parting.known, parting.step), default=None)


def _wrapping(run: Run) -> list[Member]:
    return [member for group in run.alike if wrapped(group[0].trace) for member in group]


def _different(run: Run) -> list[Member]:
    """One rank for each set of prints that there is."""
    found: dict[str, Member] = {}
    for member in sorted(_wrapping(run), key=lambda m: m.rank if m.rank is not None else -1):
        found.setdefault(outline_of_prints(member.trace), member)
    return list(found.values())


def _of_optimizer(members: list[Member], number: int) -> Parting | None:
    tables = [member.trace.prints("parameters")[number] for member in members]
    common = sorted(set.intersection(*(set(table) for table in tables)))
    if not common or len({len(table[step][1]) for table in tables for step in common}) != 1:
        return None
    ids = [int(id) for id in tables[0][common[0]][1]]
    if not _same_shapes(members, [list(table[common[0]][1]) for table in tables]):
        return None
    averaged = {id for of in wrapped(members[0].trace) for id in of.parameters if _all_in(of.ranks, members)}
    once_equal: set[int] = set()
    last = 0
    for step in common:
        rows = [list(table[step][1].values()) for table in tables]
        differ = [place for place in range(len(ids)) if _differ([row[place] for row in rows])]
        once_equal |= set(range(len(ids))) - set(differ) if step == 0 else set()
        for known in (True, False):
            apart = [p for p in differ if (ids[p] in averaged) is known and (p in once_equal or known)]
            if apart and (step or known):
                values = [(member, row[apart[0]]) for member, row in zip(members, rows, strict=True)]
                site = members[0].trace.site(tables[0][step][0])
                return Parting(step, last, site, [ids[p] for p in apart], values, known)
        last = step
    return None


def _same_shapes(members: list[Member], ids: list[list[str]]) -> bool:
    """Whether the parameters at each place look the same on every rank."""
    shapes = [
        [member.trace.parameter(int(id)).shape for id in row]
        for member, row in zip(members, ids, strict=True)
    ]
    return all(other == shapes[0] for other in shapes)


def _all_in(ranks: tuple[int, ...], members: list[Member]) -> bool:
    return not ranks or all(member.rank in ranks for member in members)


def _differ(values: list[float]) -> bool:
    numbers = [value for value in values if not isnan(value)]
    if len(numbers) < len(values):
        return bool(numbers)
    return any(not isclose(value, values[0], rel_tol=_NOISE, abs_tol=1e-12) for value in values)


@dataclass(frozen=True)
class Uneven:
    """Ranks that were through, and others that waited for them in one more pass."""

    through: list[tuple[Member, int]]  # with how many passes
    waiting: list[tuple[Member, int]]
    site: Site  # of the passes


def uneven(run: Run) -> Uneven | None:
    """Where ranks make different numbers of passes, so that some wait for others that have ended well."""
    if all(_ended_well(member.trace.program) for member in run.ranks):
        return None
    counted = [(member, sum(event.count for event in _passes(member))) for member in _wrapping(run)]
    through = [(member, count) for member, count in counted if _ended_well(member.trace.program)]
    if not through:
        return None
    most = max(count for _, count in through)
    waiting = [
        (member, count)
        for member, count in counted
        if not _ended_well(member.trace.program) and count >= most and _waited(member.trace)
    ]
    passes = _passes(waiting[0][0]) if waiting else []
    return Uneven(through, waiting, passes[-1].site.user) if passes else None


def _passes(member: Member) -> list[Backward]:
    known = {id for of in wrapped(member.trace) for id in of.parameters}
    return [event for event in member.trace.of(Backward) if not known.isdisjoint(event.filled)]


def _waited(trace: Trace) -> bool:
    """Whether it ended in a call between ranks: a signal found it there, or the others' ends were met with."""
    site = trace.site(trace.program.get("stood"))
    if site is not None:
        return any(frame.kind == "torch" for frame in site.stack[-3:])
    text = str((trace.program.get("exception") or {}).get("text", ""))
    return any(said in text for said in _GONE)


def done_apart(run: Run) -> Iterator[tuple[Site, list[tuple[Member, int]]]]:
    """Lines of the loop that some ranks went through more often than others, the first of the program first, with
    how often each did. Only of ranks that ended by themselves: one that was stopped has done less for that."""
    members = [m for m in _wrapping(run) if _ended_well(m.trace.program)]
    if len(members) < 2:
        return
    counts = [_acts(member.trace) for member in members]
    sites: dict[tuple[str, str, int], Site] = {}
    for _, known in counts:
        for key, site in known.items():
            sites.setdefault(key, site)
    for key, site in sites.items():
        times = [count[key] for count, _ in counts]
        if len(set(times)) > 1:
            yield site, list(zip(members, times, strict=True))


def _ended_well(program: dict[str, Any]) -> bool:
    return bool(program.get("ended")) and not program.get("exit_code") and not program.get("exception")


def _acts(trace: Trace) -> tuple[Counter[tuple[str, str, int]], dict[tuple[str, str, int], Site]]:
    counts: Counter[tuple[str, str, int]] = Counter()
    sites: dict[tuple[str, str, int], Site] = {}
    for times, event in in_order(trace):
        if isinstance(event, _ACTS):
            site = event.site.user
            key = (event.kind, site.path, site.line)
            counts[key] += times
            sites.setdefault(key, site)
    return counts, sites
