"""Leaves that the program made itself and wants the gradient of."""

from __future__ import annotations

from gradscope.analysis.memo import once
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.events import Backward, GradRead
from gradscope.model import Value
from gradscope.store import Trace

Place = tuple[str, int]


def leaf_place(value: Value) -> Place | None:
    """The line that made a leaf."""
    return value.site.user.location() if value.site is not None else None


def serves_leaves(trace: Trace, event: Backward) -> bool:
    """Whether a pass gives a gradient to a leaf of the program's own that wants it, or may."""
    if not event.leaves or event.graph < 0:
        return bool(event.leaves)
    values = trace.graph(event.graph).values
    places = {leaf_place(values[leaf["value"]]) for leaf in event.leaves}
    return None in places or not places.isdisjoint(wanted_leaves(trace))


@once
def wanted_leaves(trace: Trace) -> frozenset[Place]:
    """Where leaves were made of which some gradient was read, asked for, or used for an update."""
    known, found = paths(trace), set[Place | None]()
    for read in trace.of(GradRead):
        if read.graph >= 0:
            found |= _asked_of(known, (read.graph, read.value))
    for event in known.backwards:
        for index in event.inputs:
            found |= _asked_of(known, (event.graph, index))
    for parameter in known.parameters.values():
        if parameter.reads or parameter.optimizers or parameter.registered or parameter.updates:
            if parameter.site is not None and not parameter.registered:
                found.add(parameter.site.user.location())
    return frozenset(place for place in found if place is not None)


def _asked_of(known: Paths, asked: Key) -> set[Place | None]:
    """Where the tensor was made whose gradient is asked for, and the leaves by which alone it has one."""
    asked = known.made(asked)
    reach = known.reach([asked])
    behind = [known.parameters[id] for id in reach.parameters if id in known.parameters]
    if any(p.registered or p.declared or p.optimizers or p.updates for p in behind):
        return {leaf_place(known.value(asked))}
    return {leaf_place(known.value(key)) for key in (asked, *reach.leaves)}
