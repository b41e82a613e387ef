"""The state of a recurrent layer is detached at each place of a sequence: only the last place learns.

Why: a loss at the end of a sequence goes back from place to place by the state. Where each place takes the state
without its graph, the way ends at the last one: the layer is trained to make the most of one place and a state that it
cannot change, and nothing teaches it what to keep in mind.

Fix: hand the state on as it is, and detach it between two steps of the optimizer, where the next one begins.

Measured: in a pass the layer ran at several places, each state was detached before the next one, and the pass reached
the last call alone; a linear layer, where it was given another input at each. Silent on: losses at each place, whose
calls are all reached; states that are detached once; a value that is made better step by step from one and the same
input.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import (
    ADDITIONS,
    JOINING,
    PASSING,
    PRODUCTS_OF_MATRICES,
    RECURRENT,
    RECURRENT_CELLS,
)
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.calls import unwrapped
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site, Span
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

CELLS = RECURRENT | RECURRENT_CELLS
PRODUCTS = PRODUCTS_OF_MATRICES | {"addmm"}
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
    cells: dict[int, list[tuple[Op, list[Op]]]] = {}
    for event in known.backwards:
        graph = known.graph(event.graph)
        if graph.id not in cells:
            cells[graph.id] = list(_detached(graph))
        for cut, calls in cells[graph.id]:
            if cut.site.user.location() in told:
                continue
            if (last := _only_reached(known, event, graph, calls)) is not None:
                told.add(cut.site.user.location())
                yield _finding(trace, cut, last, len(calls) + 1)


def _detached(graph: Graph) -> Iterator[tuple[Op, list[Op]]]:
    """The first cut of a line that detaches a state again and again, and the recurrent calls that go on with it."""
    lines: dict[tuple[Span, ...], list[Op]] = {}
    for op in graph.cuts:
        if op.cut in ("detach", "data") and op.inputs and graph.values[op.inputs[0]].requires_grad:
            lines.setdefault(tuple(frame.span() for frame in op.site.stack), []).append(op)
    for cuts in lines.values():
        calls = list({id(call): call for cut in cuts for call in _taken_by(graph, cut)}.values())
        if len(cuts) >= ENOUGH - 1 and len(calls) >= ENOUGH - 1:
            yield cuts[0], calls


def _taken_by(graph: Graph, cut: Op) -> Iterator[Op]:
    """The recurrent call that goes on with a state that was detached, or the linear layer of a cell by hand."""
    for _, op in graph.readers_behind(cut.outputs, lambda op: op.name in PASSING):
        if op.name in CELLS or _is_linear(graph, op):
            yield op
            return


def _is_linear(graph: Graph, op: Op) -> bool:
    """Whether a call is a linear layer: as such, or by a product of the state with a weight."""
    weighs = op.name in PRODUCTS and any(graph.values[value].kind == "parameter" for value in op.inputs)
    return op.name == "linear" or weighs


def _others(graph: Graph, call: Op) -> frozenset[int]:
    """What a linear layer is given, or what is added to its result, beside the state."""
    joined = graph.maker(call.inputs[0])
    if joined is not None and joined.name in JOINING:
        made = [graph.maker(value) for value in joined.inputs]
        others = zip(joined.inputs, made, strict=True)
        return frozenset(value for value, op in others if op is None or op.cut is None)
    sums = graph.readers_behind(call.outputs, lambda op: op.name in ADDITIONS)
    return frozenset(value for own, op in sums if op.name in ADDITIONS for value in op.inputs if value != own)


def _only_reached(known: Paths, event: Backward, graph: Graph, calls: list[Op]) -> Op | None:
    """The last of these calls of one line, where the pass comes to that one alone, and no other does to the others."""
    if len({call.site.id for call in calls}) > 1:
        return None
    others = [_others(graph, call) for call in calls if _is_linear(graph, call)]
    if others and (len(set(others)) < len(others) or not all(others)):
        return None
    nodes = known.reached.nodes
    reached = [call for call in calls if any((graph.id, node) in nodes for node in call.nodes)]
    return reached[0] if reached == calls[-1:] and known.reached.complete else None


def _finding(trace: Trace, cut: Op, last: Op, places: int) -> Finding:
    site = _beside(cut, last)
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
        edits=_handed_on(trace, site),
        subjects=parameter_subjects(id for id in ids if id is not None) | {("state", *site.location())},
    )


def _beside(cut: Op, last: Op) -> Site:
    """The line of the layer's own function that detaches the state, perhaps by a function of its own."""
    beside = last.site.user
    frames = list(cut.site.frames_in(beside))
    return frames[-1] if frames else cut.site.user


def _handed_on(trace: Trace, site: Site) -> Edits:
    """`h` for `h.detach()`, `h.data` and `without_graph(h)`; nothing at all for `h = without_graph(h)`."""
    here = Source(trace, site.path)
    node, line = here.file.at(site), here.file.statement(site)
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return here.replace(node, here.file.text(node.value))
    if not isinstance(node, ast.Call) or called_name(node) == "detach":
        return unwrapped(trace, site)
    if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        return ()
    state = here.file.text(node.args[0])
    if isinstance(line, ast.Assign) and line.value is node and here.file.text(line.targets[0]) == state:
        return here.remove(line)
    return here.replace(node, state)
