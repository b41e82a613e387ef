"""Heads of attention are cut from runs of places: a `view` stands where an axis had to be split and moved.

Why: `view` and `reshape` leave the elements in the order in which they lie in memory. Of (batch, places, heads * size)
a view as (batch * heads, places, size) has the right sizes, but its "head" holds all columns of a few places and not
its own columns of all places: attention runs within such a stretch, and places of different ones never meet.

Fix: split the last axis, then move it: `x.view(batch, -1, heads, size).transpose(1, 2)`, and on the way back
`x.transpose(1, 2).reshape(batch, -1, heads * size)`.

Measured: which elements each axis of the scores is made of. Silent on: heads that are split off the last axis and
moved, views behind a `permute`, stretches of a sequence that keep their features whole.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.axes import RESHAPES, Axes, Straddle, axes, size_of
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

AFTER = {"matmul", "bmm", "scaled_dot_product_attention", "dropout", "contiguous"}
DEEP = 4


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    qkv, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*qkv.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = qkv(torch.randn(6, 5, 8)).chunk(3, -1)
        q, k, v = (t.reshape(6 * 2, 5, 4) for t in (q, k, v))  # cause: GS779
        weights = (q @ k.transpose(-1, -2) / 2).softmax(-1)  # effect: GS779
        mixed = (weights @ v).view(6, 5, 8)
        opt.zero_grad()
        nn.functional.cross_entropy(head(mixed).mean(1), torch.randint(0, 2, (6,))).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    qkv, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*qkv.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = qkv(torch.randn(6, 5, 8)).chunk(3, -1)
        q, k, v = (t.reshape(6, 5, 2, 4).transpose(1, 2) for t in (q, k, v))
        weights = (q @ k.transpose(-1, -2) / 2).softmax(-1)
        mixed = (weights @ v).transpose(1, 2).reshape(6, 5, 8)
        opt.zero_grad()
        nn.functional.cross_entropy(head(mixed).mean(1), torch.randint(0, 2, (6,))).backward()
        opt.step()


@rule("GS779", name="heads-cut-from-rows", severity="warning", over=("GS759",))
def heads_cut_from_rows(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(RESHAPES):
        return
    known, found = paths(trace), axes(trace)
    told: set[tuple[str, int]] = set()
    for op in found.ops if found.straddles else ():
        straddle = _of_scores(known, found, op)
        if straddle is not None and straddle.op.site.user.location() not in told:
            told.add(straddle.op.site.user.location())
            yield _finding(trace, known, straddle, op)


def _of_scores(known: Paths, found: Axes, op: Op) -> Straddle | None:
    """The view that cut the places of queries and of keys alike into runs with parts of their features."""
    own = [found.of((op.graph, value)) for value in op.inputs[:2]]
    if op.name == "softmax" and op.extra.get("dims") in ([-1], [len(own[0]) - 1]) and len(own[0]) > 2:
        pair = own[0][-2:]
    elif op.name == "scaled_dot_product_attention" and len(own) > 1 and min(map(len, own)) > 2:
        pair = (own[0][-2], own[1][-2])
    else:
        return None
    one, other = (found.straddles.get(axis) for axis in pair)
    if one is None or other is None or one.before != other.before or one.op.name not in RESHAPES:
        return None
    values = known.graph(one.op.graph).values
    features = found.of((one.op.graph, one.op.inputs[0]))[-1]
    mixed = not found.sources_of(features).isdisjoint(found.sources_of(one.axis))
    rank = len(values[one.op.inputs[0]].shape)
    return one if mixed and rank > 2 and one.taken == rank - 2 and size_of(one.before) > 1 else None


def _finding(trace: Trace, known: Paths, straddle: Straddle, scores: Op) -> Finding:
    op, site = straddle.op, straddle.op.site.user
    values = known.graph(op.graph).values
    taken, given = values[op.inputs[0]].shape, values[op.outputs[0]].shape
    count, size = taken[-1] // given[-1], given[-1]
    return Finding(
        message=f"{code(trace, site, f'`{op.name}`')} cuts {count} heads out of the order of memory: each holds a run"
        f" of places with all their features, and places of different runs never meet in"
        f" {code(trace, scores.site.user, 'attention')}",
        cause=site,
        cause_label=f"{taken} becomes {given}",
        effect=scores.site.user,
        effect_label=f"compares pieces of {size} features of a few places",
        seen=(
            f"{taken} was viewed as {given}: {count} pieces of {size} features of one place stand one behind the other"
            f" on axis {straddle.given}, which is {given[straddle.given]} long as that of the places was, and the"
            " scores were made of such pieces on both axes",
        ),
        fix=f"split the last axis and move it: `.view(batch, -1, {count}, {size}).transpose(1, 2)` in"
        f" {located(trace, site)}, and back by `.transpose(1, 2).reshape(…)`",
        edits=_moved(trace, known, straddle, scores),
        subjects=frozenset({("view", *site.location())}),
    )


def _moved(trace: Trace, known: Paths, straddle: Straddle, scores: Op) -> Edits:
    """The split as (batch, heads, places, size) and the way back from it, where both are plain calls of `view`."""
    back = _back(known, scores)
    if back is None:
        return ()
    calls = []
    for op in (straddle.op, back):
        here = Source(trace, op.site.user.path)
        call = here.file.at(op.site.user)
        if (
            not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Attribute)
            or here.file.is_imported(call.func)
            or len(call.args) != 3
            or call.keywords
            or any(isinstance(one, ast.Starred) for one in call.args)
        ):
            return ()
        calls.append((here, call, here.file.operand(call.func.value)))
    (here, split, given), (there, merge, mixed) = calls
    both = split.args[0]
    if not isinstance(both, ast.BinOp) or not isinstance(both.op, ast.Mult):
        return ()
    sides = [here.file.text(both.left), here.file.text(both.right)]
    batch = there.file.text(merge.args[0])
    if batch not in sides or sides[0] == sides[1]:  # which of them are the samples
        return ()
    heads = sides[1 - sides.index(batch)]
    places, size = (here.file.text(one) for one in split.args[1:])
    method = getattr(split.func, "attr", "view")
    rest = ", ".join(there.file.text(one) for one in merge.args)
    return (
        *here.replace(split, f"{given}.{method}({batch}, {places}, {heads}, {size}).transpose(1, 2)"),
        *there.replace(merge, f"{mixed}.transpose(1, 2).reshape({rest})"),
    )


def _back(known: Paths, scores: Op) -> Op | None:
    """The view that merges the heads again, of what attention gave: none where a call moves an axis before it, or one
    takes its matrices in three dimensions only."""
    graph, value = known.graph(scores.graph), scores.outputs[0]
    for _ in range(DEEP):
        readers = graph.consumers.get(value, ())
        if len(readers) != 1:
            return None
        op = readers[0]
        if op.name in RESHAPES:
            return op
        if op.name not in AFTER or op.name == "bmm" or not op.outputs:
            return None
        value = op.outputs[0]
    return None
