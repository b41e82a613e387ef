"""Weights that are normalised within groups are 1 each: every group holds a single one, and the scores decide nothing.

Why: a softmax over the edges of a graph divides each edge's number by the sum of its group. Where the groups are those
of another index than the one whose messages are added up, as the sources in place of the destinations, a group may
hold a single edge: its weight is 1 whatever its score, and what makes the scores gets a gradient of zero.

Fix: sum by the index by which the weighted values are added up.

Measured: all results of the division were 1, in all calls that were looked at; the divisor was added up by one index,
and what the results are multiplied with by another. Silent on: weights of which one is not 1, weights that are added
up by the index of their own groups.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import ADDITIONS, DIVISIONS, MULTIPLICATIONS, PASSING, SUMS_OF_GROUPS
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.events import SharesOfOne
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace

PICKS = {"__getitem__", "index_select", "gather"}
FORMS = PASSING | {"expand_as", "broadcast_to"}
FAR = 12  # ops between the weights and the sum that takes them


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    source, goal = torch.arange(12), torch.arange(12) % 4
    layer, rate, head = nn.Linear(3, 5), nn.Linear(5, 1), nn.Linear(5, 2)
    opt = torch.optim.Adam([*layer.parameters(), *rate.parameters(), *head.parameters()], lr=0.01)
    for _ in range(8):
        sent = layer(torch.randn(12, 3))[source]
        grade = rate(sent).exp()
        total = torch.zeros(12, 1).index_add(0, source, grade)  # effect: GS718
        share = grade / total[source]  # cause: GS718
        heard = torch.zeros(4, 5).index_add(0, goal, sent * share)
        opt.zero_grad()
        nn.functional.cross_entropy(head(heard), torch.arange(4) % 2).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    source, goal = torch.arange(12), torch.arange(12) % 4
    layer, rate, head = nn.Linear(3, 5), nn.Linear(5, 1), nn.Linear(5, 2)
    opt = torch.optim.Adam([*layer.parameters(), *rate.parameters(), *head.parameters()], lr=0.01)
    for _ in range(8):
        sent = layer(torch.randn(12, 3))[source]
        grade = rate(sent).exp()
        total = torch.zeros(4, 1).index_add(0, goal, grade)
        share = grade / total[goal]
        heard = torch.zeros(4, 5).index_add(0, goal, sent * share)
        opt.zero_grad()
        nn.functional.cross_entropy(head(heard), torch.arange(4) % 2).backward()
        opt.step()


@dataclass(frozen=True)
class _Groups:
    """A division by the sums of groups, and the sum over other groups that its results go into."""

    divided: Op
    picked: Op
    summed: Op
    index: int  # by which the divisor is added up
    taken: Op
    other: int  # and the weighted values


@rule("GS718", name="shares-of-one", severity="warning", needs=SharesOfOne)
def shares_of_one(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(SharesOfOne):
        for graph in trace.graphs:
            divided = [op for op in graph.called(DIVISIONS) if op.site.id == event.site.id]
            found = next((groups for op in divided if (groups := _groups(graph, op)) is not None), None)
            if found is not None:
                yield _finding(trace, event, graph, found)
                break


def _groups(graph: Graph, divided: Op) -> _Groups | None:
    if len(divided.inputs) != 2:
        return None
    at, under = divided.inputs
    while (op := graph.maker(under)) is not None and (op.name in ADDITIONS or op.name in PASSING - PICKS):
        under = op.inputs[0]
    if op is None or op.name not in PICKS or len(op.inputs) != 2:
        return None
    summed, index = graph.maker(op.inputs[0]), op.inputs[1]
    if summed is None or summed.name not in SUMS_OF_GROUPS or not {at, index} <= set(summed.inputs):
        return None
    taken = _taken(graph, divided)
    other = next((i for i in taken.inputs if _is_index(graph, i)), None) if taken is not None else None
    if taken is None or other is None or other == index:
        return None
    return _Groups(divided, op, summed, index, taken, other)


def _taken(graph: Graph, divided: Op) -> Op | None:
    """The sum over groups that the weighted values go into."""
    behind = graph.readers_behind(divided.outputs, lambda op: op.name in MULTIPLICATIONS | PASSING)
    return next((op for _, op in islice(behind, FAR) if op.name in SUMS_OF_GROUPS), None)


def _before_forms(graph: Graph, found: _Groups) -> int:
    """The index of the weighted values, as it was before it got the shape of these."""
    at = found.other
    while graph.values[at].shape != graph.values[found.index].shape:
        maker = graph.maker(at)
        if maker is None or maker.name not in FORMS or not maker.inputs:
            return found.other
        at = maker.inputs[0]
    return at


def _is_index(graph: Graph, index: int) -> bool:
    return graph.values[index].dtype in ("int64", "int32")


def _finding(trace: Trace, event: SharesOfOne, graph: Graph, found: _Groups) -> Finding:
    names = names_of(trace)
    index, other = names.name(graph, found.index), names.name(graph, _before_forms(graph, found))
    made = graph.maker(found.index)
    written = code(trace, made.site.user) if made is not None and not index else ""
    groups = f"`{index}`" if index else written or "its index"
    goal = f"`{other}`" if other else "the index"
    ids = sorted(paths(trace).reach([(graph.id, found.divided.inputs[0])]).parameters)
    shares = code(trace, found.divided.site.user, "the weights")
    return Finding(
        message=f"{shares} is 1 for each of {event.shares:,}: every group of {groups} holds a single one, and the"
        " scores decide nothing",
        cause=found.divided.site.user,
        cause_label="divides each number by itself",
        effect=found.summed.site.user,
        effect_label=f"adds up by {groups}",
        related=((found.taken.site.user, f"adds the weighted values up by {goal}"),),
        seen=(
            f"all results of {shares} were 1 in all {event.calls:,} calls that were looked at",
            *((f"behind the scores: {parameter_names(trace, ids)}",) if ids else ()),
        ),
        fix=f"add up by {goal}, as {located(trace, found.taken.site.user)} does, in place of {groups}"
        + (
            f" ({made.site.user.path.rpartition('/')[2]}:{made.site.user.line})"
            if made is not None and written
            else ""
        ),
        edits=_by_the_other(trace, found, made, index, other),
        count=event.calls,
        subjects=parameter_subjects(ids),
    )


def _by_the_other(
    trace: Trace, found: _Groups, made: Op | None, index: str | None, other: str | None
) -> Edits:
    """The other index where the divisor is added up and picked from; where what is given there has no name, in place
    of that."""
    if other is None or not other.isidentifier():
        return ()
    if index is None:
        node = _node(trace, made) if made is not None else None
        return Source(trace, made.site.user.path).replace(node, other) if made and node else ()
    places = {(op.site.user.path, op.site.user.function) for op in (found.summed, found.picked, found.taken)}
    if len(places) > 1:
        return ()
    here = Source(trace, found.summed.site.user.path)
    nodes = [node for op in (found.summed, found.picked) if (node := _node(trace, op)) is not None]
    named = [n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == index]
    return tuple(edit for name in named for edit in here.replace(name, other))


def _node(trace: Trace, op: Op) -> ast.expr | None:
    node = trace.source_file(op.site.user.path).at(op.site.user)
    return node if isinstance(node, ast.expr) else None
