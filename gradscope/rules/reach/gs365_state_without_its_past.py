"""The state of a recurrent layer is detached at each place of a sequence: only the last place learns.

Why: a loss at the end of a sequence goes back from place to place by the state. Where each place takes the state
without its graph, the way ends at the last one: the layer is trained to make the most of one place and a state that it
cannot change, and nothing teaches it what to keep in mind.

Fix: hand the state on as it is, and detach it between two steps of the optimizer, where the next one begins.

Measured: in a pass the layer ran at several places, each state was detached before the next one, and the pass reached
the last call alone. Silent on: losses at each place, whose calls are all reached; states that are detached once.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.ops import PASSING, RECURRENT, RECURRENT_CELLS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.calls import unwrapped
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 3  # places


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x, state = torch.randn(16, 6, 4), torch.zeros(16, 8)
        for t in range(6):
            state = state.detach()  # cause: GS365
            state = cell(x[:, t], state)  # effect: GS365
        loss = (head(state).squeeze(1) - x[:, 0, 0]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    state = torch.zeros(16, 8)
    for _ in range(3):
        x, state = torch.randn(16, 6, 4), state.detach()
        for t in range(6):
            state = cell(x[:, t], state)
        loss = (head(state).squeeze(1) - x[:, 0, 0]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS365", name="state-without-its-past", severity="warning")
def state_without_its_past(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for event in known.backwards if not trace.op_names.isdisjoint(RECURRENT | RECURRENT_CELLS) else ():
        graph = known.graph(event.graph)
        lines: dict[int, list[Op]] = {}
        for op in graph.cuts:
            if op.cut == "detach" and op.inputs and graph.values[op.inputs[0]].requires_grad:
                lines.setdefault(op.site.id, []).append(op)
        for cuts in lines.values():
            place = cuts[0].site.user.location()
            calls = [call for cut in cuts for call in _taken_by(graph, cut)] if place not in told else []
            if len(calls) >= ENOUGH - 1 and (last := _only_reached(known, event, graph, calls)) is not None:
                told.add(place)
                yield _finding(trace, cuts[0], last, len(calls) + 1)


def _taken_by(graph: Graph, cut: Op) -> Iterator[Op]:
    """The recurrent call that goes on with a state that was detached."""
    for _, op in graph.readers_behind(cut.outputs, lambda op: op.name in PASSING):
        if op.name in RECURRENT | RECURRENT_CELLS:
            yield op
            return


def _only_reached(known: Paths, event: Backward, graph: Graph, calls: list[Op]) -> Op | None:
    """The last of these calls of one line, where the pass comes to that one alone, and no other does to the others."""
    if len({call.site.id for call in calls}) > 1:
        return None
    nodes = known.reached.nodes
    reached = [call for call in calls if any((graph.id, node) in nodes for node in call.nodes)]
    return reached[0] if reached == calls[-1:] and known.reached.complete else None


def _finding(trace: Trace, cut: Op, last: Op, places: int) -> Finding:
    site = cut.site.user
    ids = {trace.graph(last.graph).values[index].parameter for index in last.inputs}
    return Finding(
        message=f"{code(trace, site, '`detach()`')} takes the graph off the state at each of {places} places: only the"
        " last one learns",
        cause=site,
        cause_label="the way back from the next place ends here",
        effect=last.site.user if last.site.user.location() != site.location() else None,
        effect_label=f"ran {places} times in a pass, of which the pass reached the last",
        seen=(
            f"in a pass `{last.name}` ran at {places} places, and took the state without its graph at"
            f" {places - 1} of them; the gradient came to the last call alone",
        ),
        fix=f"hand the state on as it is in {located(trace, site)}, and detach it where the next step of the optimizer"
        " begins",
        edits=unwrapped(trace, site),
        subjects=parameter_subjects(id for id in ids if id is not None) | {("state", *site.location())},
    )
