"""What `DistributedDataParallel` was given, and each round of it: a call of the wrapper, and the passes after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.loop import in_order
from gradscope.analysis.memo import once
from gradscope.events import Backward, ModuleCall, Step, Unsynced, Wrapped
from gradscope.model import Event
from gradscope.store import Trace


@dataclass
class Round:
    """What came between two calls of a wrapper, or of a part of its model past the wrapper. `times`: how often in
    a row."""

    call: ModuleCall
    around: bool  # the model was called, not the wrapper
    synced: bool  # the wrapper averages its gradients
    times: int
    filled: set[int] = field(default_factory=set)
    passes: list[Backward] = field(default_factory=list)
    step: Step | None = None  # that used what it filled
    closed: bool = False  # nothing more can come of it


@once
def wrapped(trace: Trace) -> list[Wrapped]:
    """The models that were wrapped, by number."""
    return trace.of(Wrapped)


def rounds(trace: Trace, of: Wrapped) -> Iterator[Round]:
    """Its rounds in program order, as far as they were looked at."""
    known = set(of.parameters)
    inner = within(trace, of.inner)
    current: Round | None = None
    synced = True
    for times, event in in_order(trace):
        if isinstance(event, Unsynced) and event.wrapper == of.wrapper:
            synced = False
        elif isinstance(event, ModuleCall) and event.builds_graph:
            through = event.called == of.module
            if not through and event.called not in inner:
                continue
            if through or current is None or (current.step is not None and current.passes):
                if current is not None:
                    current.closed = True
                    yield current
                current = Round(event, not through, synced, times)
                synced = True
        elif current is not None:
            current = _went_on(current, event, known)
    if current is not None:
        yield current


def _went_on(current: Round, event: Event, known: set[int]) -> Round | None:
    if isinstance(event, Backward) and not known.isdisjoint(event.filled):
        if event.unlooked:
            return None
        current.filled |= known & set(event.filled)
        current.passes.append(event)
    elif isinstance(event, Step) and current.passes and not known.isdisjoint(event.fresh):
        current.step = current.step or event
        current.closed = True
    return current


def within(trace: Trace, module: int) -> set[int]:
    """The module and what is below it."""
    found = {module} - {-1}
    for number, other in sorted(trace.modules.items()):
        if other.parent in found:
            found.add(number)
    return found
