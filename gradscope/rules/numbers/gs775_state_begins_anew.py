"""A recurrent cell begins with one and the same state at each position: nothing is carried from one to the next.

Why: `output = cell(x, hidden)` in a loop over positions gives out the new state and leaves `hidden` as it was. Each
position then sees its own input and the first state, and none of what came before: the network is no recurrent one,
and whatever hangs on the order cannot be learned. Nothing raises, and the loss still falls a little.

Fix: give the result the name that the cell is called with: `hidden = cell(x, hidden)`.

Measured: a cell with trained weights was called three times or more in one pass at the same line, with other inputs
and the same state, and in no pass of the run was a state of it computed from what it gave.
So it is with a cell that is written by hand, where all that its turns gave but the last was thrown away.
Silent on: cells whose results are states of later calls, in this pass or a later one; a cell called once or twice; in
cells by hand, results that anything reads.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.loop import settled
from gradscope.analysis.ops import ADDITIONS, JOINING, RECURRENT, RECURRENT_CELLS, ZEROS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, parameter_names, plural
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, LOOPS, names_in
from gradscope.store import Trace

CELLS = dict.fromkeys(RECURRENT_CELLS, 1) | {"lstm_cell": 2}  # tensors of their state
LAYERS = dict.fromkeys(RECURRENT, 1) | {"lstm": 2}
PRODUCTS = {"linear", "matmul", "mm"}
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
            yield _finding(trace, known, alike, alike[0].op.site.user)
    told: set[tuple[str, int]] = set()
    for turns in _by_hand(known) if settled(trace) else ():
        place = _in_a_loop(trace, turns[0].op)
        if place is not None and place.location() not in told and not _carried(known, turns):
            told.add(place.location())
            yield _finding(trace, known, turns, place)


def _by_hand(known: Paths) -> Iterator[list[Call]]:
    """The turns of a loop that mix one and the same state with other inputs, by a product of its own that is added or
    joined to them before one, and of which a loss has the last alone."""
    for number in known.graph_ids:
        graph = known.graph(number)
        lines: dict[tuple[int, int], list[Call]] = {}
        for op in graph.ops:
            for call in _mixing(graph, op):
                lines.setdefault((op.site.id, call.state[0]), []).append(call)
        for turns in lines.values():
            others = {turn.x for turn in turns}
            used = [any((number, o) in known.used.order for o in turn.op.outputs) for turn in turns]
            if len(others) == len(turns) >= FEW and used == [False] * (len(turns) - 1) + [True]:
                if not any(_is_read(graph, turn.op) for turn in turns[:-1]):
                    yield turns


def _mixing(graph: Graph, op: Op) -> Iterator[Call]:
    """The sum, or the joined tensor, in which a state and an input meet: once for each that may be the state."""
    if len(op.inputs) != 2 or op.name not in ADDITIONS | JOINING:
        return
    for state, x in (op.inputs, op.inputs[::-1]):
        if op.name in JOINING:
            products = [
                one for one in graph.consumers.get(op.outputs[0], ()) if one.name in PRODUCTS and one.nodes
            ]
        else:
            made = graph.maker(state)
            products = [made] if made is not None and made.name in PRODUCTS else []
            state = next((i for one in products for i in one.inputs if graph.values[i].parameter is None), -1)
        weights = frozenset(p for one in products for p in _weights(graph, one))
        if weights and state >= 0:
            yield Call(graph, op, weights, x, (state,))


def _is_read(graph: Graph, op: Op) -> bool:
    """Whether numbers are taken out of what came of a call, as for a measure or a choice."""
    return any(
        not reader.nodes for _, reader in graph.readers_behind(op.outputs, lambda one: bool(one.nodes))
    )


def _in_a_loop(trace: Trace, op: Op) -> Site | None:
    """The innermost line of the program on the way to a call that stands in a loop of its function."""
    for site in [op.site.user, *reversed(op.site.stack)]:
        if site.kind == "user":
            around = trace.source_file(site.path).around(site)
            inner = next((node for node in around if isinstance(node, (*LOOPS, *FUNCTIONS))), None)
            if isinstance(inner, LOOPS):
                return site
    return None


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


def _finding(trace: Trace, known: Paths, calls: list[Call], place: Site) -> Finding:
    first = calls[0]
    outputs = [(call.graph.id, o) for call in calls for o in call.op.outputs]
    loss = next((e for key in outputs if (e := known.loss_of(key)) is not None), None)
    names = parameter_names(trace, sorted(first.weights))
    text = code(trace, place, "the cell")
    by_hand = first.op.name not in LAYERS and first.op.name not in CELLS
    name, edits = _kept(trace, place, first.op.name in LAYERS, by_hand)
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


def _kept(trace: Trace, place: Site, layer: bool, by_hand: bool) -> tuple[str, Edits]:
    """`hidden = output` after `output = cell(x, hidden)` in a loop."""
    here = Source(trace, place.path)
    node, statement = here.file.at(place), here.file.statement(place)
    if not isinstance(node, ast.Call) or not isinstance(statement, ast.Assign) or statement.value is not node:
        return "", ()
    given = (
        node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "hx"), None)
    )
    if by_hand:
        loop = here.file.parent.get(id(statement))
        given = _left_as_it_is(node, loop) if loop is not None else None
    if (
        not isinstance(here.file.parent.get(id(statement)), LOOPS)
        or len(statement.targets) != 1
        or given is None
    ):
        return "", ()
    target = statement.targets[0]
    if by_hand and not isinstance(target, ast.Name):
        return "", ()
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


def _left_as_it_is(call: ast.Call, loop: ast.AST) -> ast.expr | None:
    """The only name among a call's arguments to which its loop gives nothing new: the state."""
    new = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    given = [*call.args, *(k.value for k in call.keywords)]
    left = [one for one in given if not (new & names_in(one, ast.Load))]
    return left[0] if len(left) == 1 and isinstance(left[0], ast.Name) else None
