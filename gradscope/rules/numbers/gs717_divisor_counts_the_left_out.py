"""A masked sum is divided by the number of places that were left out, in place of those that were kept.

Why: a mean over the places of a mask is their sum by their number. With the mask the other way round in the divisor a
sample of which much counts is divided by little, and one of which all counts by nothing: the loss jumps by orders of
magnitude from batch to batch, and a few samples are all that is learned.

Fix: count what was kept, `(~mask).sum()` where `masked_fill(mask, 0)` has left out what the mask is true for.

Measured: what was summed had been set to zero where a mask is true, or false, or chosen by it, and the divisor is the
sum of that mask the other way round, over the same axes; or of one that was made by the same question, or its
opposite, of the same values.
Silent where another term of the loss keeps what this one leaves out: a detector's negatives are divided by the number
of its positives.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from typing import NamedTuple

from gradscope.analysis.ops import (
    CASTS,
    DIVISIONS,
    INVERSIONS,
    MASKING,
    MULTIPLICATIONS,
    NEGATIONS,
    REVERSED_SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import shape_of
from gradscope.rules.numbers._masks import CHOOSING, zeroed_by_where
from gradscope.source import method_name
from gradscope.store import Trace

DEEP = 12
FORMS = CASTS | {
    "unsqueeze",
    "squeeze",
    "view",
    "reshape",
    "expand",
    "expand_as",
    "contiguous",
    "detach",
    "bool",
    "int",
    "long",
}
BOUNDED = {"clamp", "clamp_", "clamp_min", "clamp_min_", "clip", "add"}  # of a count: kept above 0
OTHER_WAY = INVERSIONS | REVERSED_SUBTRACTIONS
SCALED = CASTS | NEGATIONS
OPPOSITES = {"ne": "eq", "ge": "lt", "le": "gt"}
COMPARED = {*OPPOSITES, *OPPOSITES.values()}
ASKED = COMPARED | {"isnan", "isfinite", "isinf"}


class Mask(NamedTuple):
    """A value, or the question that gave it; or what is true where that one is false."""

    value: Hashable
    turned: bool


class Kept(NamedTuple):
    """The call that sets to zero all but the places of a mask."""

    op: Op
    mask: Mask


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        padding = torch.arange(12) >= torch.randint(2, 11, (8, 1))
        error = (head(rnn(torch.randn(8, 12, 3))[0]).squeeze(-1) - torch.randn(8, 12)).pow(2)
        error = error.masked_fill(padding, 0.0)  # effect: GS717
        loss = (error.sum(1) / padding.sum(1)).mean()  # cause: GS717
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        padding = torch.arange(12) >= torch.randint(2, 11, (8, 1))
        error = (head(rnn(torch.randn(8, 12, 3))[0]).squeeze(-1) - torch.randn(8, 12)).pow(2)
        error = error.masked_fill(padding, 0.0)
        loss = (error.sum(1) / (~padding).sum(1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS717", name="divisor-counts-the-left-out", severity="warning")
def divisor_counts_the_left_out(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls(DIVISIONS):
        if len(op.inputs) != 2 or op.site.user.location() in told:
            continue
        graph = known.graph(key[0])
        counting, kept = (
            _sum_behind(graph, op.inputs[1], BOUNDED | FORMS),
            _sum_behind(graph, op.inputs[0], SCALED),
        )
        if counting is None or kept is None or counting.extra.get("dims") != kept.extra.get("dims"):
            continue
        counted, left = _mask(known, graph, counting.inputs[0]), _kept(known, graph, kept.inputs[0])
        if left is None or counted != Mask(left.mask.value, not left.mask.turned):
            continue
        if shape_of(known, (graph.id, counting.inputs[0])) and not _keeps(known, graph, counted):
            told.add(op.site.user.location())
            yield _finding(trace, graph, op, counting, left)


def _sum_behind(graph: Graph, value: int, through: set[str]) -> Op | None:
    op = graph.maker_behind(value, through)
    return op if op is not None and op.name == "sum" and op.inputs else None


def _mask(known: Paths, graph: Graph, value: int) -> Mask:
    """What a mask was made of, through casts and other forms of it, and whether it was turned round on the way."""
    key, turned = known.made((graph.id, value)), False
    while (op := known.maker(key)) is not None and op.name in FORMS | OTHER_WAY and len(op.inputs) == 1:
        turned ^= op.name in OTHER_WAY
        key = known.made((op.graph, op.inputs[0]))
    question = _question(known, op) if op is not None else None
    if question is None:
        return Mask(key, turned)
    name, given, number = question
    return Mask((OPPOSITES.get(name, name), given, number), turned ^ (name in OPPOSITES))


def _question(known: Paths, op: Op) -> tuple[str, tuple[Key, ...], str] | None:
    """What a call asks of which values, beside which number: another one that asks it has the same answer."""
    name = op.name.strip("_")
    if name not in ASKED:
        return None
    number = _number(known, op) if name in COMPARED and len(op.inputs) == 1 else ""
    given = tuple(known.made((op.graph, value)) for value in op.inputs)
    return (name, given, number) if number is not None else None


def _number(known: Paths, op: Op) -> str | None:
    """The number that a value is compared with, as it is written."""
    node = known.trace.source_file(op.site.user.path).at(op.site.user)
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        sides = [node.left, node.comparators[0]]
        return ast.unparse(next((side for side in sides if isinstance(side, ast.Constant)), sides[1]))
    return ast.unparse(node.args[-1]) if isinstance(node, ast.Call) and node.args else None


def _kept(known: Paths, graph: Graph, value: int) -> Kept | None:
    """What has set places of a value to zero, last."""
    op = graph.maker_behind(value, SCALED)
    chosen_by = _chosen(graph, value)
    if chosen_by is not None:
        return Kept(chosen_by, _mask(known, graph, chosen_by.inputs[1]))
    if op is not None and op.name == "where":
        chosen = zeroed_by_where(known, op)
        if chosen is None or chosen.turned:
            return None
        return Kept(op, _mask(known, graph, chosen.mask[1]))
    if op is None or len(op.inputs) != 2:
        return None
    if op.name in MASKING:
        mask = _mask(known, graph, op.inputs[1])
        return Kept(op, Mask(mask.value, not mask.turned))
    factors = [i for i in op.inputs if not graph.values[i].requires_grad]
    if op.name in MULTIPLICATIONS and len(factors) == 1:
        return Kept(op, _mask(known, graph, factors[0]))
    return None


def _chosen(graph: Graph, value: int) -> Op | None:
    """What has chosen the places by a mask, `x[mask]`, of which the value has a number each: its rows are theirs."""
    rows = graph.values[value].shape[:1]
    for _ in range(DEEP):
        op = graph.maker(value)
        if op is None or graph.values[value].shape[:1] != rows or not graph.values[value].requires_grad:
            return None
        if op.name in CHOOSING and len(op.inputs) == 2 and graph.values[op.inputs[1]].dtype == "bool":
            return op
        trained = [i for i in op.inputs if graph.values[i].requires_grad]
        if len(trained) != 1:
            return None
        value = trained[0]
    return None


def _keeps(known: Paths, graph: Graph, mask: Mask) -> bool:
    """Whether another term takes part at these places alone."""
    names = MASKING | MULTIPLICATIONS | CHOOSING | {"where"}
    return any(
        (kept := _kept(known, graph, output)) is not None and kept.mask == mask
        for op in graph.called(names)
        for output in op.outputs
        if graph.values[output].requires_grad
    )


def _finding(trace: Trace, graph: Graph, division: Op, counting: Op, left: Kept) -> Finding:
    whole, zeroed = code(trace, division.site.user, "the division"), left.op.site.user
    text, edits = _turned(trace, counting)
    picks = left.op.name in CHOOSING
    does = "chose places" if picks else "set places to zero"
    counts = "all the others" if picks else "the same places of the same mask"
    return Finding(
        message=f"{whole} divides by the number of places that were left out, and not of those that were kept",
        cause=counting.site.user,
        cause_label="counts what was left out",
        effect=zeroed,
        effect_label="chooses what is kept" if picks else "leaves it out",
        seen=(
            f"{located(trace, zeroed)} {does} by a mask, and {code(trace, counting.site.user, 'the sum')}"
            f" counts {counts}, over the same axes",
        ),
        fix=f"count what was kept: {text or 'turn the mask round'} in {located(trace, counting.site.user)}",
        edits=edits,
        count=graph.count,
    )


def _turned(trace: Trace, counting: Op) -> tuple[str, Edits]:
    """The sum of the mask the other way round."""
    here = Source(trace, counting.site.user.path)
    call = here.file.at(counting.site.user)
    given = written_input(trace, counting, 0) if isinstance(call, ast.Call) else None
    if given is None:
        return "", ()
    if isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.Invert):
        new = here.file.text(given.operand)
    elif (
        method_name(given) in OTHER_WAY
        and isinstance(given, ast.Call)
        and isinstance(given.func, ast.Attribute)
    ):
        imported = here.file.is_imported(given.func.value)
        new = here.file.text(given.args[0] if imported and given.args else given.func.value)
    else:
        new = f"~{here.part(given)}" if _is_boolean(trace, counting) else f"1 - {here.part(given)}"
    return f"`{new}` in place of `{here.file.text(given)}`", here.replace(given, new)


def _is_boolean(trace: Trace, counting: Op) -> bool:
    graph = trace.graph(counting.graph)
    return "bool" in graph.values[counting.inputs[0]].dtype
