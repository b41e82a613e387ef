"""A softmax goes over the rows of all groups, and what it weighs is summed group by group.

Why: nodes of several graphs, or edges of several nodes, stand below each other in one tensor. A softmax over all of
them makes weights that sum to one over the whole batch: those of one group sum to a small part of that, which depends
on what else is in the batch. Evaluated alone, or in batches of another size, a group gets sums many times as large as
those that the layers behind were trained on.

Fix: a softmax in each group: divide by the sum of the group.

Told of sums by an index, and of products with a matrix that has a one where each row's group is.
Silent on: sums that are divided, or that a norm takes the size of, weights that are used otherwise as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from gradscope.analysis.made import softmax_site
from gradscope.analysis.ops import (
    DIVISIONS,
    EQUALITIES,
    LAYERS,
    MULTIPLICATIONS,
    NORMING,
    NORMS,
    PASSING,
    PRODUCTS_OF_MATRICES,
    SUMS_OF_GROUPS,
)
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, listed, located
from gradscope.fixes.source import Edits, Source, free_name
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import arguments, names_in
from gradscope.store import Trace

WEIGHED = MULTIPLICATIONS | PASSING
ONE_OF_EACH_ROW = {"one_hot"} | EQUALITIES
SCALED = DIVISIONS | NORMS | NORMING
FAR = 12  # ops behind


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.Adam([*score.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        nodes, graph = torch.randn(12, 4), torch.arange(12) // 3
        weights = torch.softmax(score(nodes), dim=0)  # cause: GS382
        pooled = torch.zeros(4, 4).index_add(0, graph, weights * nodes)  # effect: GS382
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled), torch.randint(2, (4,))).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.Adam([*score.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        nodes, graph = torch.randn(12, 4), torch.arange(12) // 3
        grown = score(nodes).exp()
        weights = grown / torch.zeros(4, 1).index_add(0, graph, grown)[graph]
        pooled = torch.zeros(4, 4).index_add(0, graph, weights * nodes)
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled), torch.randint(2, (4,))).backward()
        opt.step()


class Pooled(NamedTuple):
    """A softmax over rows, the sum by groups that takes them, and how many groups it has."""

    softmax: Op
    summed: Op
    groups: int


@rule("GS382", name="one-softmax-for-all-groups", severity="warning")
def one_softmax_for_all_groups(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(SUMS_OF_GROUPS | ONE_OF_EACH_ROW) or "softmax" not in trace.op_names:
        return
    found: dict[tuple[str, int], list[tuple[Graph, Pooled]]] = {}
    for graph in trace.graphs:
        for op in graph.called({"softmax"}):
            pooled = _pooled(graph, op)
            if pooled is not None:
                found.setdefault(op.site.user.location(), []).append((graph, pooled))
    for calls in found.values():
        several = [(graph, pooled) for graph, pooled in calls if pooled.groups > 1]
        if several:
            yield _finding(trace, *several[0], sorted({pooled.groups for _, pooled in calls}), calls)


def _pooled(graph: Graph, op: Op) -> Pooled | None:
    shape = graph.values[op.outputs[0]].shape
    dims = op.extra.get("dims", [])
    if not shape or len(dims) != 1 or dims[0] % len(shape) != 0 or shape[0] < 2:
        return None
    behind = list(islice(graph.readers_behind(op.outputs, lambda one: one.name in WEIGHED), FAR))
    ends = [one for _, one in behind if one.name not in WEIGHED]
    if len(ends) != 1:
        return None
    taken = ends[0]
    groups = _groups(graph, taken, shape[0])
    if groups is None:
        return None
    further = graph.readers_behind(taken.outputs, lambda one: one.name in WEIGHED | LAYERS)
    if any(one.name in SCALED for _, one in islice(further, FAR)):
        return None
    return Pooled(op, taken, groups)


def _groups(graph: Graph, taken: Op, rows: int) -> int | None:
    """In how many groups a call sums so many rows; None for one that does otherwise."""
    values = [graph.values[index] for index in taken.inputs]
    sizes = graph.values[taken.outputs[0]].shape if taken.outputs else ()
    if taken.name in SUMS_OF_GROUPS:
        index = next((v for v in values if v.dtype in ("int64", "int32") and v.shape[:1] == (rows,)), None)
        alike = sizes[1:] == values[-1].shape[1:] and values[-1].shape[:1] == (rows,)
        return sizes[0] if index is not None and sizes and alike else None
    if taken.name not in PRODUCTS_OF_MATRICES:
        return None
    for value in values:  # `one_hot(group).T @ (weights * rows)`
        others = [size for size in value.shape if size != rows]
        if len(value.shape) == 2 and len(others) == 1 and _marks_groups(graph, value.index):
            return others[0] if sizes[:1] == (others[0],) and rows not in sizes else None
    return None


def _marks_groups(graph: Graph, index: int) -> bool:
    """Whether a matrix has a one in each row, where the row's group is, and else zeros."""
    value = graph.values[index]
    maker = graph.maker(index)
    while maker is not None and maker.name in PASSING and maker.inputs:
        maker = graph.maker(maker.inputs[0])
    if value.requires_grad or maker is None:
        return False
    if maker.name in EQUALITIES:  # `group[:, None] == arange(groups)`
        sides = [graph.values[side].shape for side in maker.inputs]
        counted = [_is_counted(graph, side) for side in maker.inputs]
        return len(sides) == 2 and any(counted) and all(1 in form or len(form) == 1 for form in sides)
    return maker.name in ONE_OF_EACH_ROW


def _is_counted(graph: Graph, index: int) -> bool:
    maker = graph.maker(index)
    while maker is not None and maker.name in PASSING and maker.inputs:
        maker = graph.maker(maker.inputs[0])
    return maker is not None and maker.name == "arange"


def _finding(
    trace: Trace, graph: Graph, found: Pooled, groups: list[int], calls: list[tuple[Graph, Pooled]]
) -> Finding:
    rows = graph.values[found.softmax.outputs[0]].shape[0]
    place = softmax_site(trace, found.softmax)
    softmax = code(trace, place, "`softmax`")
    by_index = found.summed.name in SUMS_OF_GROUPS
    named = _index_of(trace.source_file(found.summed.site.user.path).at(found.summed.site.user))
    index = (named if by_index else None) or "index"
    counts = [f"{1 / number:.2g} of {number:,}" for number in groups if number > 1]
    return Finding(
        message=f"{softmax} makes weights that sum to one over the {rows} rows of all groups, and"
        f" {code(trace, found.summed.site.user, f'`{found.summed.name}`')} sums them in {found.groups} groups",
        cause=place,
        cause_label="sums to one over the whole batch",
        effect=found.summed.site.user,
        effect_label="each group gets a part of that",
        seen=(
            f"the weights of a group sum to {listed(counts[:3])} groups on average"
            + (", and to 1 where there is one group alone" if groups[0] == 1 else ", not to 1"),
        ),
        fix=f"divide by the sum of the group in place of {located(trace, place)}: `e = (scores - scores.max()).exp()`,"
        f" `e / zeros.index_add(0, {index}, e)[{index}]`"
        + ("" if by_index else ", where `index` says the group of each row"),
        edits=_in_each_group(trace, found.softmax, found) if by_index else (),
        count=sum(graph.count for graph, _ in calls),
        subjects=frozenset({("softmax", *place.location())}),
    )


def _in_each_group(trace: Trace, softmax: Op, found: Pooled) -> Edits:
    """The softmax by the index that the sum has, where that is known before."""
    site, summed = softmax.site.user, found.summed.site.user
    here = Source(trace, site.path)
    node, statement = here.file.at(site), here.file.statement(site)
    given, index = written_input(trace, softmax, 0), _index_of(here.file.at(summed))
    scope = here.file.scope(site)
    same = (site.path, site.function) == (summed.path, summed.function)
    if not isinstance(node, ast.Call) or given is None or index is None or statement is None or not same:
        return ()
    bound = {argument.arg for argument in arguments(scope)} if isinstance(scope, ast.FunctionDef) else set()
    for one in ast.walk(scope):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.lineno < statement.lineno:
            bound.add(one.id)
    own = free_name(("grown", "grown_scores", "exponentials"), names_in(scope))
    if index not in bound:
        return ()
    scores = here.file.text(given)
    lines = () if isinstance(given, ast.Name) else (f"{own} = {scores}",)
    named = scores if isinstance(given, ast.Name) else own
    sums = f"{own}.new_zeros(int({index}.max()) + 1, *{own}.shape[1:]).index_add(0, {index}, {own})[{index}]"
    return (
        *here.before(statement, *lines, f"{own} = ({named} - {named}.max()).exp()"),
        *here.replace(
            node, f"({own} / {sums})" if not isinstance(statement, ast.Assign) else f"{own} / {sums}"
        ),
    )


def _index_of(node: ast.AST | None) -> str | None:
    """The name of the index of `x.index_add(0, index, …)`."""
    second = node.args[1] if isinstance(node, ast.Call) and len(node.args) > 1 else None
    return second.id if isinstance(second, ast.Name) else None
