"""Networks that a pass goes through for nothing: the call that brings them into a loss."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gradscope.model import Event, Parameter, Site
from gradscope.rules._calls import Call, Calls
from gradscope.rules._common import listed
from gradscope.rules._unread import Unread, asked_at, beyond, feeds_trained


@dataclass
class Waste:
    """A network whose gradients are computed for nothing."""

    name: str
    parameters: list[Parameter]
    call: Call
    entry: Site  # the line that asks it
    event: Event
    times: int
    through: bool  # what is trained needs the gradient through it
    mild: bool  # or it gives a trained network its features


def wasted(known: Calls, group: Unread) -> Waste | None:
    """The call that brings the network into a loss, and the pass that goes through it."""
    ids = {p.id for p in group.parameters}
    events = [e for e in group.passes if ids & set(e.data.get("accumulated", ()))]
    for event in events:
        around = _around(known, event, group.members)
        for call in known.all:
            if not call.trains or call.event.graph != event.graph or call.event.position > event.position:
                continue
            if not ids & {p.id for p in known.parameters(call.event)} and call is not around:
                continue
            times = sum(e.count for e in events)
            through = beyond(known, event, group.members)
            mild = through or feeds_trained(known, call.event)
            entry = asked_at(known, event, group.members, call.entry)
            return Waste(group.name, group.parameters, call, entry, event, times, through, mild)
    return None


def _around(known: Calls, event: Event, members: set[int]) -> Call | None:
    """The outermost call in which these modules ran, where they were known (by `eval()`) before
    the model that they became a part of."""
    ran = next((op.index for op in known.paths.graph(event.graph).ops if op.module in members), None)
    if ran is None:
        return None
    calls = [call for call in known.all if call.event.graph == event.graph and call.event.position > ran]
    return min(calls, key=lambda call: call.event.position, default=None)


def joined(one: Waste, other: Waste) -> Waste:
    """Two networks that one line brings into the loss, as one."""
    names = listed([*dict.fromkeys((one.name, other.name))])
    return replace(one, name=names, parameters=[*one.parameters, *other.parameters])
