"""Lines that switch `requires_grad` off and on: which of them take back what others set."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace

from gradscope.analysis.loop import in_order
from gradscope.events import Backward, ModuleCall, RequiresGrad, Step
from gradscope.model import Site
from gradscope.store import Trace

Line = tuple[str, int]


@dataclass
class Switch:
    """What one line sets."""

    event: RequiresGrad
    leaves: set[int] = field(default_factory=set)


def taken_back(trace: Trace) -> Iterator[tuple[Switch, Switch, set[int]]]:
    """Each line that switched off, one that switched on with nothing run in between, and the leaves of both."""
    lines: dict[tuple[Line, bool], Switch] = {}
    last: dict[int, Line] = {}
    undone: dict[tuple[Line, Line], set[int]] = {}
    for _, event in in_order(trace):
        if isinstance(event, (ModuleCall, Backward, Step)):
            last.clear()
        if isinstance(event, RequiresGrad) and event.leaf is not None:
            line = event.site.user.location()
            lines.setdefault((line, event.to), Switch(event)).leaves.add(event.leaf)
            if not event.to:
                last[event.leaf] = line
            elif event.leaf in last:
                undone.setdefault((last.pop(event.leaf), line), set()).add(event.leaf)
    for (before, after), leaves in undone.items():
        yield lines[before, False], lines[after, True], leaves


def used_between(trace: Trace, off: RequiresGrad, on: RequiresGrad, leaves: Set[int]) -> bool:
    """Whether something was computed from them in between, which is then without their graph."""
    if off.graph != on.graph or off.graph < 0:
        return True
    graph = trace.graph(off.graph)
    ops = graph.ops[off.position + 1 : on.position + 1]
    return any(graph.values[index].parameter in leaves for op in ops for index in op.inputs)


@dataclass
class OffAtThePass:
    """The pass before a step, at which all that the optimizer holds was switched off."""

    off: RequiresGrad  # the line that did it
    on: RequiresGrad | None  # one that switches them on elsewhere
    event: Backward


def off_at_the_pass(trace: Trace, step: Site, ids: Set[int]) -> OffAtThePass | None:
    """What kept the pass before this line's steps from reaching these parameters, in the first of the steps in which
    they had no gradient: None where that was something else. Later turns may not have been looked at."""
    off: dict[int, RequiresGrad] = {}
    on: RequiresGrad | None = None
    last: Backward | None = None
    found: OffAtThePass | None = None
    for _, event in in_order(trace):
        if isinstance(event, RequiresGrad) and event.parameter is not None and event.parameter in ids:
            if event.to:
                off.pop(event.parameter, None)
                on = on or event
            else:
                off[event.parameter] = event
        elif isinstance(event, Backward):
            last = event
        elif isinstance(event, Step) and event.site.user == step and not event.fed:
            if last is None or ids & set(last.filled) or (found is None and off.keys() != ids):
                return None
            found = found or OffAtThePass(next(iter(off.values())), None, last)
    return replace(found, on=on) if found is not None else None
