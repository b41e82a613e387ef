"""A recurrent cell begins with one and the same state at each position: nothing is carried from one to the next.

Why: `output = cell(x, hidden)` in a loop over positions gives out the new state and leaves `hidden` as it was. Each
position then sees its own input and the first state, and none of what came before: the network is no recurrent one,
and whatever hangs on the order cannot be learned. Nothing raises, and the loss still falls a little.

Fix: give the result the name that the cell is called with: `hidden = cell(x, hidden)`.

Measured: a cell with trained weights was called three times or more in one pass at the same line, with other inputs
and the same state, and in no pass of the run was a state of it computed from what it gave.
Silent on: cells whose results are states of later calls, in this pass or a later one; a cell called once or twice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.loop import settled
from gradscope.analysis.ops import RECURRENT, RECURRENT_CELLS, ZEROS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, parameter_names, plural
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import LOOPS, names_in
from gradscope.store import Trace

CELLS = dict.fromkeys(RECURRENT_CELLS, 1) | {"lstm_cell": 2}  # tensors of their state
LAYERS = dict.fromkeys(RECURRENT, 1) | {"lstm": 2}
FEW = 3  # calls


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 2)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 5, 4)
        state, outputs = torch.zeros(16, 8), []
        for at in range(5):
            output = cell(x[:, at], state)  # cause: GS775
            outputs.append(output)
        loss = nn.functional.cross_entropy(head(torch.cat(outputs)), torch.randint(0, 2, (80,)))
        opt.zero_grad()
        loss.backward()  # effect: GS775
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 2)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 5, 4)
        state, outputs = torch.zeros(16, 8), []
        for at in range(5):
            state = cell(x[:, at], state)
            outputs.append(state)
        loss = nn.functional.cross_entropy(head(torch.cat(outputs)), torch.randint(0, 2, (80,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


class Call(NamedTuple):
    """One call of a cell in a graph."""

    graph: Graph
    op: Op
    weights: frozenset[int]
    x: int  # values
    state: tuple[int, ...]


@rule("GS775", name="state-begins-anew", severity="warning")
def state_begins_anew(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    cells: dict[frozenset[int], list[Call]] = {}
    for call in _calls(known):
        cells.setdefault(call.weights, []).append(call)
    for calls in cells.values():
        alike = _alike(known, calls)
        if alike and settled(trace) and not _carried(known, calls):
            yield _finding(trace, known, alike)


def _calls(known: Paths) -> Iterator[Call]:
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.ops:
            states = CELLS.get(op.name) or LAYERS.get(op.name)
            if states is None or len(op.inputs) <= states:
                continue
            weights = frozenset(
                p for i in op.inputs[1 + states :] if (p := graph.values[i].parameter) is not None
            )
            x, state = op.inputs[0], op.inputs[1 : 1 + states]
            if weights and (op.name in CELLS or _one_place(graph, x, state[0])):
                yield Call(graph, op, weights, x, tuple(state))


def _one_place(graph: Graph, x: int, state: int) -> bool:
    """Whether a layer is given one position of several sequences."""
    given, kept = graph.values[x].shape, graph.values[state].shape
    return len(given) == len(kept) == 3 and kept[1] > 1 and sorted(given[:2]) == [1, kept[1]]


def _carried(known: Paths, calls: list[Call]) -> bool:
    """Whether a state came from what a cell with these weights gave, in the same pass or before."""
    states = dict.fromkeys((call.graph.id, value) for call in calls for value in call.state)
    for number, value in known.flow(states).order:
        graph = known.graph(number)
        maker = graph.maker(value)
        if maker is not None and _weights(graph, maker) & calls[0].weights:
            return True
    return False


def _weights(graph: Graph, op: Op) -> set[int]:
    return {p for i in op.inputs if (p := graph.values[i].parameter) is not None}


def _alike(known: Paths, calls: list[Call]) -> list[Call]:
    """The calls of one line in one graph with the same state and other inputs, that a loss has."""
    lines: dict[tuple[int, int], list[Call]] = {}
    for call in calls:
        lines.setdefault((call.graph.id, call.op.site.id), []).append(call)
    for group in lines.values():
        used = [
            call for call in group if any((call.graph.id, o) in known.used.order for o in call.op.outputs)
        ]
        if (
            len(used) >= FEW
            and len({_begins(known, c) for c in used}) == 1
            and len({c.x for c in used}) == len(used)
        ):
            return used
    return []


def _begins(known: Paths, call: Call) -> tuple[int, ...] | str:
    """The state that a call is given; new zeros are as good as the same ones."""
    ops = [known.maker((call.graph.id, value)) for value in call.state]
    makers = {op.name if op is not None else "" for op in ops}
    return "zeros" if makers <= ZEROS else call.state


def _finding(trace: Trace, known: Paths, calls: list[Call]) -> Finding:
    first = calls[0]
    place = first.op.site.user
    outputs = [(call.graph.id, o) for call in calls for o in call.op.outputs]
    loss = next((e for key in outputs if (e := known.loss_of(key)) is not None), None)
    names = parameter_names(trace, sorted(first.weights))
    text = code(trace, place, "the cell")
    name, edits = _kept(trace, place, first.op.name in LAYERS)
    return Finding(
        message=f"{text} begins with the same state each time: nothing is carried from one position to the next",
        cause=place,
        cause_label=f"{plural(len(calls), 'call')} in one pass, all with the first state",
        effect=loss.site.user if loss is not None else None,
        effect_label="each position learns without what came before it",
        seen=(
            f"{plural(len(calls), 'call')} with {names} were given other inputs and the same state of shape"
            f" {first.graph.values[first.state[0]].shape}; no state of the run was computed from what they gave",
        ),
        fix=f"go on with what the call gives: {name}"
        if name
        else f"give what {text} returns to its next call as its state",
        edits=edits,
        count=loss.count if loss is not None else 1,
        subjects=frozenset({("state", *place.location())}),
    )


def _kept(trace: Trace, place: Site, layer: bool) -> tuple[str, Edits]:
    """`hidden = output` after `output = cell(x, hidden)` in a loop."""
    here = Source(trace, place.path)
    node, statement = here.file.at(place), here.file.statement(place)
    if not isinstance(node, ast.Call) or not isinstance(statement, ast.Assign) or statement.value is not node:
        return "", ()
    given = (
        node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "hx"), None)
    )
    if (
        not isinstance(here.file.parent.get(id(statement)), LOOPS)
        or len(statement.targets) != 1
        or given is None
    ):
        return "", ()
    target = statement.targets[0]
    if layer and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]  # behind its outputs
    elif layer:
        return "", ()
    if not isinstance(given, (ast.Name, ast.Tuple)) or not names_in(given, ast.Load):
        return "", ()
    if isinstance(given, ast.Tuple) and not all(isinstance(n, ast.Name) for n in given.elts):
        return "", ()
    new = f"{here.file.text(given).strip('()')} = {here.file.text(target).strip('()')}"
    return f"`{new}` behind it", here.after(statement, new)
