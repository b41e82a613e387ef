"""Where the parameters of ranks part that should be equal: the prints of them, compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import isclose, isnan
from typing import Any, NamedTuple, TypeVar

from gradscope.analysis.loop import in_order
from gradscope.analysis.memo import once
from gradscope.analysis.wrappers import wrapped
from gradscope.analysis.writes import memory_root
from gradscope.events import Backward, Clip, Scheduled, Step, Update, WrappedLoad, ZeroGrad
from gradscope.model import Site
from gradscope.store import Member, Run, Trace
from gradscope.store.outline import outline_of_prints

T = TypeVar("T")

_NOISE = 1e-6  # relative: what other hardware may make of the same computation
_COMPARED = 32  # ranks, each with prints of its own
_DRIFT = 1e-3  # relative: of running statistics, what matters
_ACTS = (Backward, Clip, Scheduled, Step, Update, ZeroGrad)


class Parting(NamedTuple):
    """The first step after which parameters differed. `last`: the one before that was compared. `values`: member →
    the norm of the first of them; `known`: `DistributedDataParallel` averages their gradients."""

    step: int
    last: int
    site: Site | None
    parameters: list[int]  # ids in the first member's trace
    values: list[tuple[Member, float]]
    known: bool
    after_pass: bool = False  # `step` counts passes: some ranks make no steps


@once
def parted(run: Run) -> Parting | None:
    """The first parting of the run; None where all that should be equal is."""
    members = different(run)
    if len(members) < 2:
        return None
    found = [
        p for numbers in paired(members, "parameters") if (p := _of_optimizer(members, numbers)) is not None
    ]
    return min(found, key=lambda parting: (not parting.known, parting.step), default=None) or _of_passes(run)


def wrapping(run: Run) -> list[Member]:
    """The ranks that have wrapped a model."""
    return [member for group in run.alike if wrapped(group[0].trace) for member in group]


def different(run: Run) -> list[Member]:
    """One rank for each set of prints that there is, of many the first."""
    found: dict[str, Member] = {}
    for member in sorted(wrapping(run), key=lambda m: m.rank if m.rank is not None else -1):
        found.setdefault(outline_of_prints(member.trace), member)
        run.leave(member)
    return list(found.values())[:_COMPARED]


def _of_passes(run: Run) -> Parting | None:
    """What differs after a pass, where some ranks have trained and made no step at all."""
    members = wrapping_whole(run)
    counted = by_group(run, members, lambda trace: sum(o.steps for o in trace.optimizers.values()))
    steps = [count for _, count in counted]
    if not members or all(steps) or not any(steps):
        return None
    members = [*[m for m, count in counted if count][:2], *[m for m, count in counted if not count][:2]]
    if not all(member.trace.summary["passes"] for member in members):
        return None
    for number in sorted(set.intersection(*(set(m.trace.prints("weights")) for m in members))):
        printed = [member.trace.prints("weights")[number] for member in members]
        for turn in sorted(set.intersection(*(set(table) for table in printed))):
            tables = [table[turn][1] for table in printed]
            if len({len(table) for table in tables}) != 1 or not same_shapes(
                members, [list(t) for t in tables]
            ):
                continue
            rows = list(zip(*(table.values() for table in tables), strict=True))
            apart = [place for place, row in enumerate(rows) if _differ(list(row))]
            if apart:
                ids = [int(id) for id in tables[0]]
                values = list(zip(members, rows[apart[0]], strict=True))
                return Parting(turn, 0, None, [ids[p] for p in apart], values, True, after_pass=True)
    return None


def wrapping_whole(run: Run) -> list[Member]:
    """All ranks of the run, where each has wrapped a model and ended well."""
    members = wrapping(run)
    whole = len(members) == len(run.ranks) == run.world
    return members if whole and all(ended_well(m.trace.program) for m in members) else []


def paired(members: list[Member], kind: str) -> list[list[int]]:
    """The numbers of the optimizers that belong together, a rank each, as far as prints of this kind were taken: made
    at one line, the last ones there where a rank made more than others."""
    places = []
    for member in members:
        own: dict[tuple[str, int] | int, list[int]] = {}
        for number in sorted(member.trace.prints(kind)):
            optimizer = member.trace.optimizers.get(number)
            site = optimizer.site if optimizer is not None else None
            own.setdefault(site.user.location() if site is not None else number, []).append(number)
        places.append(own)
    found = _last_of_each([own.get(place, []) for own in places] for place in places[0])
    used = [{numbers[rank] for numbers in found} for rank in range(len(members))]
    left = [
        sorted({n for row in own.values() for n in row} - one) for own, one in zip(places, used, strict=True)
    ]
    return [*found, *_last_of_each([left])]  # made at other lines: in their order


def _last_of_each(rows_of_places: Iterable[list[list[int]]]) -> list[list[int]]:
    found = []
    for rows in rows_of_places:
        least = min(map(len, rows))
        found += [list(row) for row in zip(*(row[len(row) - least :] for row in rows), strict=True)]
    return found


def _of_optimizer(members: list[Member], numbers: list[int]) -> Parting | None:
    tables = [m.trace.prints("parameters")[number] for m, number in zip(members, numbers, strict=True)]
    common = sorted(set.intersection(*(set(table) for table in tables)))
    if not common or len({len(table[step][1]) for table in tables for step in common}) != 1:
        return None
    ids = [int(id) for id in tables[0][common[0]][1]]
    if not same_shapes(members, [list(table[common[0]][1]) for table in tables]):
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


class Drift(NamedTuple):
    """Buffers of a wrapped model that are not the same on the ranks that evaluate it. `values`: norms of the first."""

    site: Site | None  # of the evaluation
    wrapper: int
    buffers: list[str]
    values: list[tuple[Member, float]]


def drifted(run: Run) -> Drift | None:
    """The first evaluation in which that is so."""
    members = different(run)
    tables = {id(m): m.trace.prints("buffers") for m in members}
    members = [member for member in members if tables[id(member)]]
    for number in sorted({number for member in members for number in tables[id(member)]}):
        printed = [(m, tables[id(m)][number]) for m in members if number in tables[id(m)]]
        for turn in sorted(set.intersection(*(set(table) for _, table in printed))):
            found = [(member, table[turn][1]) for member, table in printed]
            names = list(found[0][1])
            if any(list(numbers) != names for _, numbers in found):
                continue
            apart = [name for name in names if _differ([numbers[name] for _, numbers in found], _DRIFT)]
            if apart:
                site = found[0][0].trace.site(printed[0][1][turn][0])
                values = [(member, numbers[apart[0]]) for member, numbers in found]
                return Drift(site.user if site is not None else None, number, apart, values)
    return None


def same_shapes(members: list[Member], ids: list[list[str]]) -> bool:
    """Whether the parameters at each place look the same on every rank."""
    shapes = [
        [member.trace.parameter(int(id)).shape for id in row]
        for member, row in zip(members, ids, strict=True)
    ]
    return all(other == shapes[0] for other in shapes)


def _all_in(ranks: tuple[int, ...], members: list[Member]) -> bool:
    return not ranks or all(member.rank in ranks for member in members)


def _differ(values: list[float], noise: float = _NOISE) -> bool:
    numbers = [value for value in values if not isnan(value)]
    if len(numbers) < len(values):
        return bool(numbers)
    return any(not isclose(value, values[0], rel_tol=noise, abs_tol=1e-12) for value in values)


def by_group(run: Run, members: Iterable[Member], ask: Callable[[Trace], T]) -> list[tuple[Member, T]]:
    """What is so of each of these ranks: those that have done the same are asked once."""
    wanted = {id(member) for member in members}
    found: list[tuple[Member, T]] = []
    for group in run.alike:
        if any(id(member) in wanted for member in group):
            told = ask(group[0].trace)
            run.leave(group[0])
            found += [(member, told) for member in group if id(member) in wanted]
    return sorted(found, key=lambda one: one[0].rank if one[0].rank is not None else -1)


def done_apart(run: Run) -> Iterator[tuple[Site, list[tuple[Member, int]]]]:
    """Lines of the loop that some ranks went through more often than others, the first of the program first, with
    how often each did. Only of ranks that ended by themselves: one that was stopped has done less for that."""
    members = [m for m in wrapping(run) if ended_well(m.trace.program)]
    if len(members) < 2:
        return
    found = by_group(run, members, acts)
    members, counts = [member for member, _ in found], [own for _, own in found]
    sites: dict[tuple[str, str, int], Site] = {}
    for _, known in counts:
        for key, site in known.items():
            sites.setdefault(key, site)
    for key, site in sites.items():
        times = [count[key] for count, _ in counts]
        if len(set(times)) > 1:
            yield site, list(zip(members, times, strict=True))


class OtherPasses(NamedTuple):
    """A step that the ranks make behind different passes. `passes`: member → the number of its pass."""

    site: Site
    number: int
    passes: list[tuple[Member, int]]


def stepped_apart(run: Run) -> OtherPasses | None:
    """The first one, where each rank decides by itself in which passes it makes its steps."""
    found = by_group(run, wrapping(run), _passes_of_steps)
    for number, steps in enumerate(zip(*(own for _, own in found), strict=False), 1):
        if len({passes for passes, _ in steps}) > 1:
            members = [member for member, _ in found]
            return OtherPasses(
                steps[0][1], number, [(m, passes) for m, (passes, _) in zip(members, steps, strict=True)]
            )
    return None


def _passes_of_steps(trace: Trace) -> list[tuple[int, Site]]:
    """How many passes came before each step, as long as each was looked at."""
    found: list[tuple[int, Site]] = []
    passes = 0
    for times, event in in_order(trace):
        if times > 1:
            break
        if isinstance(event, Backward):
            passes += 1
        elif isinstance(event, Step):
            found.append((passes, event.site.user))
    return found


def written_apart(run: Run) -> Iterator[tuple[Site, list[Member]]]:
    """Lines that load into wrapped models, or write to their parameters in place up to the first step after they were
    wrapped, on some ranks only: with the ranks that do."""
    for of_rank in (_loads, _writes_at_first):
        found = by_group(run, wrapping(run), of_rank)
        for _, sites in found:
            for place, site in sites.items():
                members = [member for member, own in found if place in own]
                if len(members) < len(found):
                    yield site, members


def _loads(trace: Trace) -> dict[tuple[str, int], Site]:
    return {event.site.user.location(): event.site.user for event in trace.of(WrappedLoad)}


def _writes_at_first(trace: Trace) -> dict[tuple[str, int], Site]:
    last = max((of.segment for of in wrapped(trace)), default=0)
    known = {id for of in wrapped(trace) for id in of.parameters}
    found: dict[tuple[str, int], Site] = {}
    for number in dict.fromkeys(s.graph for s in trace.segments if s.graph is not None and s.index <= last):
        graph = trace.graph(number)
        ours = {value.index for value in graph.values if value.parameter in known}
        for op in graph.writing:
            for before, after in zip(op.writes, op.written, strict=False):
                if memory_root(graph, before) in ours:
                    ours.add(after)  # what was written to is another value from then on
                    found[op.site.user.location()] = op.site.user
    return found


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
