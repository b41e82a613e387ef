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


def wrapping(run: Run) -> list[Member]:
    """The ranks that have wrapped a model."""
    return [member for group in run.alike if wrapped(group[0].trace) for member in group]


def _different(run: Run) -> list[Member]:
    """One rank for each set of prints that there is."""
    found: dict[str, Member] = {}
    for member in sorted(wrapping(run), key=lambda m: m.rank if m.rank is not None else -1):
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
                return Parting(
                    step,
                    last,
                    site.user if site is not None else None,
                    [ids[p] for p in apart],
                    values,
                    known,
                )
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


def done_apart(run: Run) -> Iterator[tuple[Site, list[tuple[Member, int]]]]:
    """Lines of the loop that some ranks went through more often than others, the first of the program first, with
    how often each did. Only of ranks that ended by themselves: one that was stopped has done less for that."""
    members = [m for m in wrapping(run) if ended_well(m.trace.program)]
    if len(members) < 2:
        return
    counts = [acts(member.trace) for member in members]
    sites: dict[tuple[str, str, int], Site] = {}
    for _, known in counts:
        for key, site in known.items():
            sites.setdefault(key, site)
    for key, site in sites.items():
        times = [count[key] for count, _ in counts]
        if len(set(times)) > 1:
            yield site, list(zip(members, times, strict=True))


def ended_well(program: dict[str, Any]) -> bool:
    """Whether a process came to its end by itself, and without a fault."""
    return bool(program.get("ended")) and not program.get("exit_code") and not program.get("exception")


def acts(trace: Trace) -> tuple[Counter[tuple[str, str, int]], dict[tuple[str, str, int], Site]]:
    """How often each line of the loop was gone through, in program order."""
    counts: Counter[tuple[str, str, int]] = Counter()
    sites: dict[tuple[str, str, int], Site] = {}
    for times, event in in_order(trace):
        if isinstance(event, _ACTS):
            site = event.site.user
            key = (event.kind, site.path, site.line)
            counts[key] += times
            sites.setdefault(key, site)
    return counts, sites
