"""Copies of a wrapped model (an averaged teacher, a target network) that are not the same on the ranks, though all work
with them and do the same to them: they were made before the wrapper sent one rank's parameters to all."""

from __future__ import annotations

from math import isclose
from typing import NamedTuple

from gradscope.analysis.left_behind import alike, left_behind, worked_with
from gradscope.analysis.parting import different, parted
from gradscope.analysis.wrappers import wrapped
from gradscope.events import Wrapped
from gradscope.model import Parameter, Site
from gradscope.store import Member, Run, Trace

_NOISE = 1e-6  # relative


class CopyApart(NamedTuple):
    """`parameters`: ids in the first member's trace. `values`: member → the norm of the first of them before `step`."""

    made: Site
    wrapper: Site
    call: Site  # where they are worked with
    parameters: list[int]
    values: list[tuple[Member, float]]
    step: int
    before: bool  # made above the line that wraps the model, in the same function


def copies_apart(run: Run) -> CopyApart | None:
    """None too where the models themselves part, or some ranks alone write to the copies."""
    members = different(run)
    if len(members) < 2 or len(run.ranks) != run.world or parted(run) is not None:
        return None
    tables = [_norms(member.trace) for member in members]
    trace = members[0].trace
    apart = [p for p in _copies(trace) if _apart([table.get(p.name, {}) for table in tables])]
    call = _call(trace, apart[0]) if apart else None
    if call is None or not all(_call(member.trace, apart[0]) for member in members):
        return None
    if left_behind(run) is not None:
        return None
    made, wrapper = apart[0].site, next(iter(trace.of(Wrapped))).site.user
    if made is None or made.user.kind != "user":
        return None
    step = min(set.intersection(*(set(table[apart[0].name]) for table in tables)))
    above = (made.user.path, made.user.function) == (wrapper.path, wrapper.function)
    return CopyApart(
        made.user,
        wrapper,
        call,
        [p.id for p in apart],
        [(member, table[apart[0].name][step]) for member, table in zip(members, tables, strict=True)],
        step,
        above and made.user.line < wrapper.line,
    )


def _copies(trace: Trace) -> list[Parameter]:
    """Frozen parameters of a module that is built as a wrapped one is."""
    known = {id for of in wrapped(trace) for id in of.parameters}
    trained = {(p.name.removeprefix("module."), p.shape) for p in trace.parameters if p.id in known}
    return [
        p
        for p in trace.parameters
        if p.id not in known and not p.optimizers and not p.passes and (p.name, p.shape) in trained
    ]


def _norms(trace: Trace) -> dict[str, dict[int, float]]:
    """Parameter outside the wrapper → step → its norm before that; none of two of one name."""
    found: dict[str, dict[int, float]] = {}
    for table in trace.prints("others").values():
        for step, (_, norms) in table.items():
            for id, norm in norms.items():
                found.setdefault(trace.parameter(int(id)).name, {}).setdefault(step, norm)
    names = [p.name for p in trace.parameters if not p.optimizers]
    return {name: norms for name, norms in found.items() if names.count(name) == 1}


def _apart(norms: list[dict[int, float]]) -> bool:
    """Whether they differ at each step of which they are known."""
    common = set.intersection(*map(set, norms))
    return bool(common) and all(
        any(not isclose(of_rank[step], norms[0][step], rel_tol=_NOISE, abs_tol=1e-12) for of_rank in norms)
        for step in common
    )


def _call(trace: Trace, like: Parameter) -> Site | None:
    """Where the program works with the module of the parameter of this name, often enough."""
    own = alike(trace, like)
    used = worked_with(trace, own) if own is not None else None
    return used[1] if used is not None else None
