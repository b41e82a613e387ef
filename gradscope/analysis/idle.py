"""Steps for which nothing was computed, or something for another optimizer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.gradients import thrown_away
from gradscope.analysis.loop import in_order, timeline
from gradscope.analysis.memo import once
from gradscope.events import Backward, ModuleCall, Step
from gradscope.model import Site
from gradscope.store import Trace


@dataclass
class Tally:
    """The steps of one optimizer."""

    steps: int = 0
    idle: int = 0  # those for which nothing was computed
    fed: int = 0  # those that found a gradient
    at: Counter[Site] = field(default_factory=Counter)  # steps by line, and those without a gradient
    empty: Counter[Site] = field(default_factory=Counter)
    first: int | None = None  # the segment of the first of these
    closure: bool = False
    moved: Counter[Site] = field(default_factory=Counter)  # of these, with parameters that did change

    def told(self) -> Counter[Site]:
        """Lines whose steps, or most of all steps, found nothing."""
        # An optimizer that moves its parameters without `.grad` never finds one.
        empty = self.empty if self.fed else self.empty - self.moved
        count, steps = empty.total(), self.steps - self.idle
        if (count >= 2 or self.steps == 1) and count * 2 >= steps:
            return empty
        return Counter({s: n for s, n in empty.items() if n >= 2 and n == self.at[s]})


def steps(trace: Trace) -> Iterator[tuple[Step, int, int]]:
    """Each step with its count and how many of them came after a backward, or a forward with a graph."""
    passes, stepped_at = 0, dict.fromkeys(trace.optimizers, 0)
    computed: dict[tuple[str, int], bool] = {}  # of each line's last step that was looked at
    for repeat, events in timeline(trace):
        before = passes
        for event in events:
            if isinstance(event, Backward):
                passes += 1
            elif isinstance(event, Step) and event.optimizer in stepped_at:
                place = event.site.user.location()
                if event.graph >= 0:
                    computed[place] = _forward_before(trace, event)
                own = passes > before or computed.get(place, False)
                yield event, repeat, repeat if own else int(passes > stepped_at[event.optimizer])
                stepped_at[event.optimizer] = passes


def tallied(trace: Trace) -> dict[int, Tally]:
    """The steps of each optimizer, counted."""
    found: dict[int, Tally] = {}
    for event, repeat, worked in steps(trace):
        _count(trace, event, repeat, worked, found.setdefault(event.optimizer, Tally()))
    return found


def _count(trace: Trace, event: Step, repeat: int, worked: int, tally: Tally) -> None:
    """`worked` of the steps came after a backward or a forward of their own."""
    states, site = event.states, event.site.user
    tally.steps += repeat
    tally.at[site] += repeat
    tally.closure = tally.closure or bool(event.closure)
    worked = repeat if tally.closure else worked
    ids = [*states.get("none", ()), *states.get("zero", ())]
    if event.fed:
        tally.fed += repeat
    elif any(trace.parameter(p).requires_grad for p in ids):
        tally.idle += repeat - worked
        tally.empty[site] += worked
        if worked and (tally.first is None or event.segment < tally.first):
            tally.first = event.segment
        if not states.get("zero") and all(trace.parameter(p).changed for p in ids):
            tally.moved[site] += worked


@once
def tried_out(trace: Trace) -> set[int]:
    """Optimizers that step again and again while nothing is computed for them."""
    made: dict[int, int] = {}
    useful: dict[int, int] = {}
    for event, repeat, worked in steps(trace):
        number = event.optimizer
        made[number] = made.get(number, 0) + repeat
        useful[number] = useful.get(number, 0) + worked
    return {number for number, count in made.items() if count >= 2 and useful[number] <= 1}


@once
def mistaken(trace: Trace) -> dict[int, tuple[int, Backward]]:
    """Optimizers that step without a gradient after passes for one that never steps: (that one, a pass). Not one
    whose own pass comes too late and is thrown away: it has been taken for no other."""
    resting = {n: set(o.parameters) for n, o in trace.optimizers.items() if not o.steps}
    found: dict[int, tuple[int, Backward]] = {}
    last: Backward | None = None
    for _, event in in_order(trace) if resting else ():
        if isinstance(event, Backward) and event.filled:
            last = event
        elif isinstance(event, Step) and last is not None and not event.fed:
            filled = set(last.filled)
            own = next((n for n, held in resting.items() if filled <= held), None)
            if own is not None and event.optimizer in trace.optimizers:
                found.setdefault(event.optimizer, (own, last))
    wasted = [ids for ids in thrown_away(trace).values() if ids] if found else []
    return {
        number: one
        for number, one in found.items()
        if not any(ids <= set(trace.optimizers[number].parameters) for ids in wasted)
    }


def _forward_before(trace: Trace, step: Step) -> bool:
    """Whether anything with a gradient was computed in the stretch that the step ends."""
    return step.graph >= 0 and bool(trace.graph(step.graph).nodes)


def forwards(trace: Trace, optimizers: set[int]) -> bool:
    """Whether a model of these optimizers runs forward as in training: a backward is missing,
    where a schedule that is only tried out runs nothing."""
    stepped = {p.module for p in trace.parameters if optimizers & set(p.optimizers)}
    roots = {trace.modules[m].root for m in stepped if m in trace.modules}
    calls = [e for e in trace.of(ModuleCall) if e.module in roots and e.graph >= 0]
    return sum(e.count for e in calls if e.training and _has_graph(trace, e)) >= 2


def _has_graph(trace: Trace, event: ModuleCall) -> bool:
    values = trace.graph(event.graph).values
    return any(values[i].requires_grad for i in event.outputs if i < len(values))
