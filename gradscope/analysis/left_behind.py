"""Parameters outside the wrapped model (an averaged teacher, a target network) that only some ranks write to, and all
work with."""

from __future__ import annotations

from math import isclose
from typing import NamedTuple

from gradscope.analysis.loop import in_order
from gradscope.analysis.parting import done_apart
from gradscope.analysis.wrappers import wrapped
from gradscope.events import ModuleCall, Update
from gradscope.model import Parameter, Site
from gradscope.store import Member, Run, Trace

_LEAST = 3  # calls, and writes
_NOISE = 1e-6  # relative


class LeftBehind(NamedTuple):
    """`parameters`: ids in the first writer's trace; `norms`: of the first of them on the first writer and on the first
    of the others, before the same step; `call`: where that one works with them."""

    site: Site  # of the write
    parameters: list[int]
    writers: list[Member]
    times: int  # of one of the writers
    others: list[Member]
    norms: tuple[float, float]
    step: int
    calls: int  # of the first of the others, of their module
    call: Site


def left_behind(run: Run) -> LeftBehind | None:
    """The first line of which that is so."""
    for site, counted in done_apart(run):
        writers, others = [m for m, n in counted if n], [m for m, n in counted if not n]
        if not others or not writers:
            continue
        trace = writers[0].trace
        ids = sorted({
            event.parameter for event in trace.of(Update)
            if event.parameter is not None and event.site.user.location() == site.location()
        })  # fmt: skip
        known = {id for of in wrapped(trace) for id in of.parameters}
        outside = [id for id in ids if id not in known and not trace.parameter(id).optimizers]
        times = next(count for member, count in counted if count)
        if not outside or len(outside) < len(ids) or times < _LEAST * len(outside):
            continue
        like = trace.parameter(outside[0])
        used = [_used(other.trace, like) for other in others]
        parted = [_differ(trace, other.trace, like) for other in others]
        if all(used) and all(parted) and used[0] is not None and parted[0] is not None:
            return LeftBehind(site, outside, writers, times, others, *parted[0], *used[0])
    return None


def _differ(one: Trace, two: Trace, like: Parameter) -> tuple[tuple[float, float], int] | None:
    """The norms of a parameter on both ranks before a step of the same number, where they are not the same."""
    for step, norm in _norms(one, like).items():
        other = _norms(two, like).get(step)
        if other is not None and not isclose(norm, other, rel_tol=_NOISE):
            return (norm, other), step
    return None


def _norms(trace: Trace, like: Parameter) -> dict[int, float]:
    ids = {str(p.id) for p in trace.parameters if (p.name, p.shape) == (like.name, like.shape)}
    return {
        step: norm
        for table in trace.prints("others").values()
        for step, (_, norms) in table.items()
        for id, norm in norms.items()
        if id in ids and len(ids) == 1
    }


def _used(trace: Trace, like: Parameter) -> tuple[int, Site] | None:
    """How often this rank calls the module whose parameter of the same name nothing here writes to, and where."""
    own = alike(trace, like)
    if own is None or own.changed or own.updates or own.optimizers:
        return None
    return worked_with(trace, own)


def alike(trace: Trace, like: Parameter) -> Parameter | None:
    """The parameter of a rank that has the name and shape of another rank's."""
    return next((p for p in trace.parameters if (p.name, p.shape) == (like.name, like.shape)), None)


def worked_with(trace: Trace, own: Parameter) -> tuple[int, Site] | None:
    """How often the program calls the module of a parameter, and where first; None where that is hardly ever."""
    if own.module is None:
        return None
    root = trace.modules[own.module].root
    called = [
        (times, event) for times, event in in_order(trace)
        if isinstance(event, ModuleCall) and event.called in trace.modules
        and trace.modules[event.called].root == root
    ]  # fmt: skip
    count = sum(times for times, _ in called)
    return (count, called[0][1].site.user) if count >= _LEAST else None
