"""The training loop in program order: steps, passes, what each used and cleared."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import islice
from math import isfinite

from gradscope.analysis.memo import once
from gradscope.events import Backward, Crashed, OptimizerMade, Step
from gradscope.model import Event, Parameter, Segment, Site
from gradscope.source import LOOPS, stands_in
from gradscope.store import Trace


@once
def stretches(trace: Trace) -> list[tuple[Segment, list[Event]]]:
    """Every segment in program order, with its events."""
    lists: dict[int, list[Event]] = {}
    for event in trace.events:
        lists.setdefault(event.segment, []).append(event)
    first: dict[tuple[int | None, int | None], int] = {}
    found = []
    for segment in trace.segments:
        index = first.setdefault((segment.events, segment.graph), segment.index)
        found.append((segment, lists.get(index, []) if segment.events is not None else []))
    return found


@once
def timeline(trace: Trace) -> list[tuple[int, list[Event]]]:
    """The run in program order: (how often in a row, events) of each stretch that has any."""
    return [(segment.repeat, events) for segment, events in stretches(trace) if segment.events is not None]


def in_order(trace: Trace) -> Iterator[tuple[int, Event]]:
    """Every event in program order, with how often its stretch came in a row."""
    for repeat, events in timeline(trace):
        for event in events:
            yield repeat, event


def since_filled(trace: Trace, ids: Set[int]) -> Iterator[tuple[int, Event]]:
    """The run, in program order, from the first pass on that put a gradient into any of these."""
    first = _first_filled(trace)
    begun = min((first[id] for id in ids if id in first), default=None)
    return islice(in_order(trace), begun, None) if begun is not None else iter(())


def filled_since(trace: Trace, ids: Set[int]) -> set[int]:
    """The parameters that passes put gradients into since the first that put one into any of these."""
    events = (event for _, event in since_filled(trace, ids))
    return {id for event in events if isinstance(event, Backward) for id in event.filled}


@once
def _first_filled(trace: Trace) -> dict[int, int]:
    """Parameter → the place in the run of the first pass that filled its gradient. Kept, since some ask for each of
    a thousand models."""
    first: dict[int, int] = {}
    for place, (_, event) in enumerate(in_order(trace)):
        if isinstance(event, Backward):
            for id in event.filled:
                first.setdefault(id, place)
    return first


def steps_between(trace: Trace, first: int, end: int | None = None) -> Iterator[tuple[Segment, Step]]:
    """The steps of the segments from `first` on, to before `end`, each with its segment."""
    for segment, events in stretches(trace):
        if segment.index >= first and (end is None or segment.index < end):
            yield from ((segment, event) for event in events if isinstance(event, Step))


def one_after_the_other(trace: Trace, optimizers: Set[int]) -> bool:
    """Whether each of these is made after the last step of those before, and no other optimizer steps."""
    newest = -1
    for _, event in in_order(trace):
        if isinstance(event, OptimizerMade) and event.optimizer in optimizers:
            newest = event.optimizer
        elif isinstance(event, Step) and newest >= 0 and event.optimizer != newest:
            return False
    return True


def parameters_of(trace: Trace, ids: list[int]) -> list[Parameter]:
    """Those that the trace knows: it forgets what lived for one step only."""
    known = {p.id: p for p in trace.parameters}
    return [known[id] for id in ids if id in known]


def short_lived(p: Parameter) -> bool:
    """Whether one pass alone filled it, and nothing trained it."""
    return p.passes == 1 and not p.optimizers and idle(p)


def idle(p: Parameter) -> bool:
    """Whether nothing in the run ever changed this parameter or used its gradient."""
    return not (p.steps or p.updates or p.changed or used_for_itself(p))


def read_for_itself(p: Parameter, others: list[Parameter]) -> bool:
    """Whether some line reads the gradient of this one and of none of the others: somebody wants to
    see it. A log of all gradients reads theirs too."""
    return bool(set(p.read_at) - {place for other in others for place in other.read_at})


def settled(trace: Trace) -> bool:
    """Whether the program ended by itself: what it had not done until an exception, it might do."""
    return trace.program.get("exception") is None


def over(trace: Trace, call: Site) -> bool:
    """Whether the loops in which this call was made had come to their end, also where an exception ended the program
    after them."""
    if settled(trace):
        return True
    loops = [
        (frame, node)
        for frame in call.stack
        if frame.kind == "user"
        for node in trace.source_file(frame.path).around(frame)
        if isinstance(node, LOOPS)
    ]
    ends = [frame for event in trace.of(Crashed) for frame in event.site.stack]
    return bool(loops and ends) and not any(
        frame.path == end.path and stands_in(node, end) for frame, node in loops for end in ends
    )


def nearest_backward(trace: Trace, ids: set[int]) -> Backward | None:
    """The first backward pass that put a gradient into any of these."""
    for event in trace.of(Backward):
        if ids & set(event.filled):
            return event
    return None


def norm(trace: Trace, parameter: int) -> float | None:
    """The last norm measured of this parameter's gradient."""
    measured = trace.numbers("grad_norm", parameter)
    last = measured[-1][1] if measured else trace.parameter(parameter).grad_norm
    return last if isinstance(last, float) and isfinite(last) else None


def used_for_itself(p: Parameter) -> bool:
    """Whether its gradients came to something without a step: more than that they were printed. The
    numbers of a leaf that is no `nn.Parameter` may be what is wanted (a saliency map)."""
    return bool(p.taken or (p.handed and not p.declared))


def taken_for_itself(p: Parameter, others: list[Parameter]) -> bool:
    """Whether some line takes the gradient of this one and of none of the others: what is done with
    all gradients is done with theirs too."""
    return bool(set(p.taken_at) - {place for other in others for place in other.taken_at})
