"""Models that a forked child trains a copy of, while the process that has started it works with the first one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.loop import in_order
from gradscope.analysis.writes import written_parameters
from gradscope.events import Forked, ModuleCall, OptimizerMade
from gradscope.model import Parameter, Site
from gradscope.store import Member, Run, Trace


class ChildCopy(NamedTuple):
    """`parameters`: ids in the first child's trace."""

    start: Site  # where the children were started
    parent: Member
    children: list[Member]
    parameters: list[int]
    steps: int  # of the first child
    call: Site  # where the parent works with its own


def child_copies(run: Run) -> ChildCopy | None:
    """The first such parent of the run."""
    started: dict[int, list[Member]] = {}  # process → its children
    for member in run.members:
        if (process := (member.trace.program.get("child") or {}).get("parent")) is not None:
            started.setdefault(process, []).append(member)
    for parent in run.members:
        own_children = started.get(parent.trace.program.get("process", 0))
        if not own_children:
            continue
        found = [
            (fork.site.user, child, copied)
            for fork in parent.trace.of(Forked)
            for child in own_children
            if child.trace.program.get("process") == fork.process
            and (copied := list(_copied(child.trace, parent.trace, fork)))
        ]
        call = _works_with(parent.trace, [own for _, _, copied in found for _, own in copied])
        if found and call is not None:
            start, _, copied = found[0]
            ids = [trained.id for trained, _ in copied]
            children = [one for _, one, _ in found]
            return ChildCopy(start, parent, children, ids, max(one.steps for one, _ in copied), call)
    return None


def _copied(child: Trace, parent: Trace, fork: Forked) -> Iterator[tuple[Parameter, Parameter]]:
    """What the child has trained of what its parent had made and has not changed since, each with the parent's own."""
    written = _written_since(parent, fork)
    apart = {id for event in child.of(OptimizerMade) for id in event.apart}
    for trained in child.parameters:
        alike = [p for p in parent.parameters if (p.name, p.shape) == (trained.name, trained.shape)]
        if trained.id in apart and trained.changed and trained.site is None and len(alike) == 1:
            own = alike[0]
            if not (own.changed or own.updates or own.steps or own.passes or own.id in written):
                yield trained, own


def _written_since(trace: Trace, fork: Forked) -> set[int]:
    """Parameters, by id, that the program has written to after that: what a child sent back was loaded."""
    later = (
        (graph, op)
        for graph in trace.graphs
        for op in graph.writing
        if (graph.id, op.index) > (fork.graph, fork.position)
    )
    return {id for graph, op in later for id in written_parameters(graph, op)}


def _works_with(trace: Trace, parameters: list[Parameter]) -> Site | None:
    """Where a module of these parameters is called, after a child was started and without gradients."""
    roots = {trace.modules[p.module].root for p in parameters if p.module is not None}
    started = False
    for _, event in in_order(trace):
        started = started or isinstance(event, Forked)
        if started and isinstance(event, ModuleCall) and not event.grad and event.called in trace.modules:
            if trace.modules[event.called].root in roots:
                return event.site.user
    return None
