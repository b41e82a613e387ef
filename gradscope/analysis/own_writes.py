"""Parameters that the program's own code writes while they are in use: averages, target networks, updates by hand.

What is written before a parameter's first pass is its initialisation, also that of a second model that is
made after the first one was trained. What is written after its last one (the best checkpoint is loaded, the
model is moved to the CPU) trains nothing any more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.loop import stretches
from gradscope.analysis.memo import once
from gradscope.analysis.ops import MIXED_IN
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.writes import initialises
from gradscope.events import Update
from gradscope.model import Graph, Op
from gradscope.store import Trace

Time = tuple[int, int]  # (segment, op in its graph)

ENDLESS = 1 << 60
SCALING = {"mul_", "div_"}


class _Write(NamedTuple):
    parameter: int
    call: int  # the user's call, with all that led to it
    segments: list[int]  # in each of which it is made
    position: int
    op: Op | None  # None: `p.data = …` of what another line made
    used: bool = False  # its gradient had been read since the last pass


@once
def kept_up(trace: Trace) -> set[int]:
    """Those that the program trains, or keeps up with others, by itself. Not those of a call that also
    writes what steps train: it loads, resets, averages or bounds the whole model."""
    found = set()
    stepped = {p.id for p in trace.parameters if p.steps and p.optimizers}
    shared = {write.call for write in _writes(trace) if write.parameter in stepped}
    for write in _writes(trace):
        if write.parameter not in found and (write.used or write.call not in shared):
            if write.used or _in_use(trace, write) or _follows(trace, write, stepped):
                found.add(write.parameter)
    return found


@once
def written_in_use(trace: Trace) -> set[int]:
    """All that the program's own code writes between two of its passes."""
    return {write.parameter for write in _writes(trace) if _in_use(trace, write)}


def _in_use(trace: Trace, write: _Write) -> bool:
    """Whether it is written after one pass that it goes into and before another."""
    span = _spans(trace).get(write.parameter)
    if span is None:  # it goes into no pass: those of the run count
        return bool(paths(trace).parameters[write.parameter].updates)
    first, last = span
    at = bisect_left(write.segments, first[0] + (write.position <= first[1]))
    return at < len(write.segments) and (write.segments[at], write.position) < last


def _follows(trace: Trace, write: _Write, stepped: set[int]) -> bool:
    """Whether it takes over, at whatever time after its first pass, what steps have trained."""
    first = _spans(trace).get(write.parameter, ((0, 0), (0, 0)))[0]
    if write.op is None or (write.segments[-1], write.position) < first:
        return False
    known, graph = paths(trace), paths(trace).graph(write.op.graph)
    given = {v for i in write.op.inputs if i not in write.op.writes for v in (i, *graph.upstream(i))}
    sources = {p.id for v in given if (p := known.parameter_of((graph.id, v))) is not None}
    return bool(sources & stepped - {write.parameter})


@once
def taken_over(trace: Trace) -> dict[int, Op]:
    """Those into which the program writes, after a step, what was computed from parameters that steps train: a copy or
    an average, though it was kept elsewhere in between. Or numbers that were made where nobody looked."""
    known = paths(trace)
    found: dict[int, Op] = {}
    stepped = {p.id for p in trace.parameters if p.steps and p.optimizers}
    first = next((segment.index for segment in trace.segments if segment.is_step), ENDLESS)
    for write in _writes(trace):
        op = write.op
        if op is None or write.parameter in stepped or write.segments[-1] <= first:
            continue
        given = known.flow((op.graph, i) for i in op.inputs if i not in op.writes).order
        values = map(known.value, given)
        unseen = any(value.kind == "input" and value.origin is None for value in values)
        if unseen or known.parameters_in(given) & stepped:
            found[write.parameter] = op
    return found


# -- when a parameter is used --------------------------------------------------------------


@once
def _spans(trace: Trace) -> dict[int, tuple[Time, Time]]:
    """Parameter → its first and its last use on the way to a loss."""
    known = paths(trace)
    rows: dict[int, tuple[Time, Time]] = {}  # graph → (index, repeat) of its first and last segment
    unlooked = -1
    for segment in trace.segments:
        if segment.graph is not None:
            here = (segment.index, segment.repeat)
            rows[segment.graph] = (rows.get(segment.graph, (here, here))[0], here)
        elif segment.is_step:
            unlooked = segment.index
    found: dict[int, tuple[Time, Time]] = {}
    for parameter, keys in known.feeding.items():
        for key in keys:
            ops = [op.index for _, op in known.used.feeds.get(key, ()) if op and key[1] not in op.writes]
            if not ops or key[0] not in rows:
                continue
            (begin, again), (end, more) = rows[key[0]]
            first = (begin, -1 if again > 1 else min(ops))  # what comes first in a loop comes after its end
            last = (end, ENDLESS if more > 1 else max(ops))
            was = found.get(parameter, (first, last))
            found[parameter] = (min(was[0], first), max(was[1], last, (unlooked, ENDLESS)))
    return found


# -- what is written -----------------------------------------------------------------------


@once
def _writes(trace: Trace) -> list[_Write]:
    """Every write of the program's to a parameter, but by torch's own initialisers."""
    known = paths(trace)
    segments: dict[int, list[int]] = {}
    for segment in trace.segments if known.first_pass is not None else ():
        if segment.graph is not None:
            segments.setdefault(segment.graph, []).append(segment.index)
    used = {(e.parameter, e.site.user.id) for e in known.updates if e.used}
    found = [
        _Write(parameter, call, indices, op.index, op, (parameter, call) in used)
        for number, indices in segments.items()
        for parameter, op in _written(known, known.graph(number))
        for call in (op.site.user.id,)
    ]
    return found + list(_assigned(trace, known))


def _written(known: Paths, graph: Graph) -> Iterator[tuple[int, Op]]:
    for op in graph.writing:
        for value in op.writes if not initialises(op) else ():
            parameter = known.parameter_of((graph.id, known.memory(graph.id, value)))
            if parameter is not None:
                yield parameter.id, op


def _assigned(trace: Trace, known: Paths) -> Iterator[_Write]:
    """`p.data = …`, which is no op."""
    if not any(event.how == "assigned" for event in known.updates):
        return
    found: dict[tuple[int, int, int, bool], list[int]] = {}
    ops: dict[tuple[int, int, int, bool], Op | None] = {}
    for segment, events in stretches(trace):
        for event in events:
            if isinstance(event, Update) and event.how == "assigned":
                call, used = event.site.user.id, bool(event.used)
                key = event.parameter, call, event.position, used
                found.setdefault(key, []).append(segment.index)
                if ops.get(key) is None:
                    ops[key] = assigned_from(known, event)
    for key, segments in found.items():
        parameter, call, position, used = key
        if parameter in known.parameters:
            yield _Write(parameter, call, segments, position, ops[key], used)


def assigned_from(known: Paths, event: Update) -> Op | None:
    """The op that made what `p.data = …` assigns, where the same line has computed it."""
    ops = known.graph(event.graph).ops if event.position >= 0 else ()
    op = ops[event.position] if event.position < len(ops) else None
    return op if op is not None and op.site.user.location() == event.site.user.location() else None


class Scaled(NamedTuple):
    """A line that multiplies parameters by a number, as a decay of the program's own does."""

    op: Op  # one of its writes
    times: int  # segments in which it does
    parameters: set[int]


@once
def scaled_by_hand(trace: Trace) -> list[Scaled]:
    """Every line that multiplies a parameter in place by nothing else that has a gradient or is a parameter."""
    found: dict[int, Scaled] = {}
    repeats = {segment.index: segment.repeat for segment in trace.segments}
    for write in _writes(trace):
        op = write.op
        if op is None or op.name not in SCALING or any(i not in op.writes for i in op.inputs):
            continue
        times = sum(repeats.get(index, 1) for index in write.segments)
        before = found.get(write.call, Scaled(op, 0, set()))
        found[write.call] = Scaled(before.op, max(before.times, times), before.parameters | {write.parameter})
    return list(found.values())


class MixedIn(NamedTuple):
    """A parameter that the program writes a mixture of itself and another one into."""

    parameter: int
    other: int
    op: Op
    times: int  # segments in which it does


@once
def mixed_in(trace: Trace) -> list[MixedIn]:
    """Every such write, as a running average is made: `add_` and the like of the other one, or what both made."""
    known, found = paths(trace), []
    for write in _writes(trace):
        if write.op is None or not write.op.writes:
            continue
        op = write.op
        given = known.flow((op.graph, i) for i in op.inputs if i not in op.writes).order
        sources = known.parameters_in(given)
        if op.name in MIXED_IN or write.parameter in sources:
            found += [
                MixedIn(write.parameter, p, op, len(write.segments)) for p in sources - {write.parameter}
            ]
    return found
