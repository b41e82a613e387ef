"""Steps that use gradients which an earlier step has used, with no pass and no clear between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.looks import read_for_more, written_to
from gradscope.analysis.loop import in_order
from gradscope.analysis.scales import second_steps
from gradscope.events import Backward, Step, ZeroGrad
from gradscope.model import Site
from gradscope.store import Trace

Line = tuple[int, Site]  # the optimizer and where it steps


@dataclass
class SecondUse:
    """Two steps that move the same parameters by the same gradients."""

    first: Step
    again: Step
    parameters: set[int] = field(default_factory=set)
    count: int = 0
    alone: bool = False  # the second one's optimizer never steps by gradients of its own


def second_uses(trace: Trace) -> Iterator[SecondUse]:
    """Once for two lines and their optimizers, where it is so of at least half of the second one's steps. Gradients
    that the program reads, to do more than show them, may have been changed between: of these nothing is said."""
    last: dict[int, Step] = {}
    found: dict[tuple[Line, Line], SecondUse] = {}
    steps: dict[Line, int] = {}
    read = read_for_more(trace) | written_to(trace)
    bypassed = {second.again for second in second_steps(trace)}  # GS211's
    for repeat, event in in_order(trace):
        if isinstance(event, Backward):
            last.clear()
        elif isinstance(event, ZeroGrad):
            for number in event.parameters:
                last.pop(number, None)
        elif isinstance(event, Step) and not event.closure:
            line = event.optimizer, event.site.user
            if event.states.keys() - {"unknown"}:  # of steps that were slept through nothing is known
                steps[line] = steps.get(line, 0) + repeat
            again: dict[Line, set[int]] = {}
            for number in event.in_state("used") if event.site.user not in bypassed else ():
                before = last.get(number)
                if before is not None and number not in read:
                    again.setdefault((before.optimizer, before.site.user), set()).add(number)
            for earlier, parameters in again.items():
                use = found.setdefault((earlier, line), SecondUse(last[min(parameters)], event))
                use.parameters |= parameters
                use.count += repeat
            last.update(dict.fromkeys(event.in_state("fresh", "stale", "used"), event))
    for (_, line), use in found.items():
        if use.count > 1 and 2 * use.count >= steps[line]:
            often = sum(n for (number, _), n in steps.items() if number == line[0])
            held = set(trace.optimizers[line[0]].parameters) if line[0] in trace.optimizers else set[int]()
            use.alone = use.count == often and use.parameters >= held
            yield use
