"""A loop puts what each turn made in front of what it has, and the last place is taken: that of the first turn.

Why: `outputs = torch.cat([state, outputs], 1)` turns the order of time round. `outputs[:, -1]` then is what the first
turn made, of the first place of the sequence alone: all that came after it has no part in the loss, and the weights
that carry the state on learn nothing.

Fix: put the newest behind the others, `torch.cat([outputs, state], 1)`.

Measured: a chain of `cat` calls of one line, each with the one before behind what is new, or one call that joins what
all turns made, each of them made of the one that stands behind it; the last one was read by one
operation alone, which took its last place.
Silent on: values of which anything else is read as well, such as all places of a pass that goes backwards.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from gradscope.analysis.ops import JOINING
from gradscope.analysis.reach import paths
from gradscope.analysis.text import own_nodes, site_of
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, method_name, names_in
from gradscope.store import Trace

MOST = 100  # values between two turns
ENOUGH = 2  # turns that put something in front


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.RNNCell(2, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        x, state = torch.randn(16, 5, 2), torch.zeros(16, 8)
        outputs = torch.zeros(16, 0, 8)
        for t in range(5):
            state = cell(x[:, t], state)
            outputs = torch.cat([state.unsqueeze(1), outputs], 1)  # cause: GS386
        last = outputs[:, -1]  # effect: GS386
        opt.zero_grad()
        (head(last) - x.sum((1, 2))[:, None]).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.RNNCell(2, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        x, state = torch.randn(16, 5, 2), torch.zeros(16, 8)
        outputs = torch.zeros(16, 0, 8)
        for t in range(5):
            state = cell(x[:, t], state)
            outputs = torch.cat([outputs, state.unsqueeze(1)], 1)
        last = outputs[:, -1]
        opt.zero_grad()
        (head(last) - x.sum((1, 2))[:, None]).pow(2).mean().backward()
        opt.step()


@rule("GS386", name="newest-in-front", severity="warning", over=("GS784",))
def newest_in_front(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for root in known.roots:
        graph = known.graph(root[0])
        for chain in (*_chains(graph), *_lists(graph)):
            place = chain[0].site.user
            taken = _taken(trace, graph, chain[-1])
            if taken is not None and place.location() not in told:
                told.add(place.location())
                ids = sorted(known.reach([root]).parameters)
                whole = _of_a_list if len(chain) == 1 else _finding
                yield whole(trace, graph, chain, taken, ids)


def _chains(graph: Graph) -> Iterator[list[Op]]:
    """Calls of one line that join something new and the result of the call before, in this order."""
    lines: dict[int, list[Op]] = {}
    for op in graph.called(JOINING):
        if len(op.inputs) == 2 and len(op.outputs) == 1 and len(op.extra.get("dims", [])) == 1:
            lines.setdefault(op.site.id, []).append(op)
    for calls in lines.values():
        chain: list[Op] = []
        for before, after in pairwise(calls):
            if after.inputs[1] == before.outputs[0] != after.inputs[0]:
                chain = chain or [before]
                chain.append(after)
            elif len(chain) > ENOUGH:
                yield chain
                chain = []
            else:
                chain = []
        if len(chain) > ENOUGH:
            yield chain


def _lists(graph: Graph) -> Iterator[list[Op]]:
    """The one call that joins what all turns of a loop made, the newest first: each is made by the same line of the
    next one, and the last of none."""
    for op in graph.called(JOINING):
        makers = [graph.maker(index) for index in op.inputs]
        first = makers[0] if makers else None
        if len(makers) <= ENOUGH or len(op.outputs) != 1 or first is None:
            continue
        if any(one is None or one.site.id != first.site.id for one in makers):
            continue
        befores = zip(op.inputs, (*op.inputs[1:], -1), strict=True)
        if all(_states(graph, index, first.site.id) == {before} for index, before in befores):
            yield [op]


def _states(graph: Graph, value: int, line: int) -> set[int]:
    """The nearest values behind one that the same line made; -1 for where there are none."""
    found: set[int] = set()
    maker = graph.maker(value)
    todo = list(maker.inputs) if maker is not None else []
    seen = set(todo)
    for current in todo:  # grows while it is walked
        op = graph.maker(current)
        if op is not None and op.site.id == line:
            found.add(current)
        elif op is not None and len(todo) < MOST:
            todo += [index for index in op.inputs if index not in seen]
            seen.update(op.inputs)
    return found or {-1}


def _axis(joined: Op, rank: int) -> int:
    """The axis that grows."""
    return int(joined.extra.get("dims", [0])[0]) % rank if rank else 0


def _taken(trace: Trace, graph: Graph, last: Op) -> Op | None:
    """The one call that reads the result, where it takes the last place along the axis that grows."""
    readers = graph.consumers.get(last.outputs[0], [])
    rank = len(graph.values[last.outputs[0]].shape)
    axis = _axis(last, rank)
    if len(readers) != 1 or readers[0].name != "__getitem__":
        return None
    place = readers[0].site.user
    node = trace.source_file(place.path).at(place)
    if not isinstance(node, ast.Subscript):
        return None
    entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    plain = all(isinstance(entry, ast.Slice) for entry in entries[:axis])
    return readers[0] if plain and len(entries) > axis and ast.unparse(entries[axis]) == "-1" else None


def _finding(trace: Trace, graph: Graph, chain: list[Op], taken: Op, ids: list[int]) -> Finding:
    place, turns = chain[0].site.user, len(chain)
    shape = graph.values[chain[-1].outputs[0]].shape
    axis = _axis(chain[-1], len(shape))
    return Finding(
        message=f"{code(trace, place)} puts the newest in front, and {code(trace, taken.site.user)} takes the last:"
        " what the first turn of the loop made",
        cause=place,
        cause_label="the newest comes first",
        effect=taken.site.user,
        effect_label=f"all other places of axis {axis} are in no loss",
        seen=(
            f"{turns} calls in a row, each with the result of the one before behind what is new; of the {shape[axis]}"
            " places of the last one nothing but the last is read",
        ),
        fix=f"put the newest behind the others in {located(trace, place)}",
        edits=_turned(trace, chain[0]),
        count=graph.count,
        subjects=parameter_subjects(ids),
    )


def _of_a_list(trace: Trace, graph: Graph, joined: list[Op], taken: Op, ids: list[int]) -> Finding:
    join = joined[0]
    put, edits = _put(trace, join)
    place, shape = put or join.site.user, graph.values[join.outputs[0]].shape
    return Finding(
        message=f"{code(trace, place)} puts the newest in front, and {code(trace, taken.site.user)} takes the last:"
        " what the first turn of the loop made",
        cause=place,
        cause_label="the newest comes first",
        effect=taken.site.user,
        effect_label="takes the last place, that of the first turn",
        related=((join.site.user, "joins them in this order"),)
        if join.site.user.location() not in (place.location(), taken.site.user.location())
        else (),
        seen=(
            f"each of the {len(join.inputs)} that are joined was made of the one behind it; of the"
            f" {shape[_axis(join, len(shape))]} places nothing but the last is read",
        ),
        fix=f"put the newest behind the others in {located(trace, place)}" + (": `append`" if edits else ""),
        edits=edits,
        count=graph.count,
        subjects=parameter_subjects(ids),
    )


def _put(trace: Trace, join: Op) -> tuple[Site | None, Edits]:
    """`states.insert(0, h)` of the list that is joined, and that as `states.append(h)`."""
    site = join.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    scope = here.file.scope(site)
    given = names_in(node) if node is not None else set()
    for call in own_nodes(scope):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        front = method_name(call) == "appendleft" or (
            method_name(call) == "insert" and len(call.args) == 2 and ast.unparse(call.args[0]) == "0"
        )
        if front and names_in(call.func.value) & given:
            name = scope.name if isinstance(scope, FUNCTIONS) else site.function
            new = f"{here.file.text(call.func.value)}.append({here.file.text(call.args[-1])})"
            return site_of(site.path, name, call), here.replace(call, new)
    return None, ()


def _turned(trace: Trace, op: Op) -> Edits:
    """Both parts of `torch.cat((new, old), 1)` in the other order."""
    here = Source(trace, op.site.user.path)
    node = here.file.at(op.site.user)
    parts = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(parts, ast.Tuple | ast.List) or len(parts.elts) != 2:
        return ()
    one, other = parts.elts
    return (*here.replace(one, here.file.text(other)), *here.replace(other, here.file.text(one)))
