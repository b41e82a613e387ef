"""Answers that a loop has put behind each other meet targets that are flattened sample by sample.

Why: `torch.cat` of what each step gave lies step by step: first all samples of step 0. `reshape(-1)` of targets (batch,
steps) goes sample by sample. Each answer is compared with the target of another sample at another step, and the network
learns how often each target comes.

Fix: turn the targets first, `targets.T.reshape(-1)`, or `torch.stack(out, dim=1)` the answers to (batch, steps, …).

The two sizes are those of the run, and differ, so that they are not one and the same layout. Two views that put the
same axes into one in different orders are GS709's. Silent on: sizes that are equal.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.axes import POINTWISE, RESHAPES
from gradscope.analysis.ops import CASTS, CLASS_LOSSES, COMPARING_LOSSES, JOINING, LAYERS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import losses
from gradscope.source import PRIMARIES
from gradscope.store import Trace

FLATTENING = RESHAPES | {"flatten", "ravel"}
BY_ROW = POINTWISE | LAYERS | {"matmul"}  # keep the rows in their order
NEAR = 8  # calls between the flattening and the loss


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(5, 8), nn.Linear(8, 5)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()])
    for _ in range(3):
        tokens = torch.randint(5, (6, 10))  # samples, steps
        state, out = torch.zeros(6, 8), []
        for x in nn.functional.one_hot(tokens.T, 5).float():
            state = cell(x, state)
            out.append(head(state))
        scores = torch.cat(out)  # effect: GS483
        opt.zero_grad()
        nn.functional.cross_entropy(scores, tokens.reshape(-1)).backward()  # cause: GS483
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(5, 8), nn.Linear(8, 5)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()])
    for _ in range(3):
        tokens = torch.randint(5, (6, 10))
        state, out = torch.zeros(6, 8), []
        for x in nn.functional.one_hot(tokens.T, 5).float():
            state = cell(x, state)
            out.append(head(state))
        scores = torch.cat(out)
        opt.zero_grad()
        nn.functional.cross_entropy(scores, tokens.T.reshape(-1)).backward()
        opt.step()


class _Flat(NamedTuple):
    """What made the rows of a tensor of those of two axes: `outer` times the `inner` ones."""

    op: Op
    outer: int
    inner: int


@rule("GS483", name="flattened-in-another-order", severity="warning")
def flattened_in_another_order(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for predicted, op in losses(known, CLASS_LOSSES | COMPARING_LOSSES):
        if len(op.inputs) < 2 or op.site.user.location() in told:
            continue
        answers, targets = _flat(known, predicted), _flat(known, (op.graph, op.inputs[1]))
        if answers is None or targets is None or answers.outer == answers.inner:
            continue
        if answers.op.name not in JOINING or targets.op.name in JOINING:
            continue
        if (answers.outer, answers.inner) == (targets.inner, targets.outer):
            told.add(op.site.user.location())
            yield _finding(trace, op, answers, targets)


def _flat(known: Paths, key: Key) -> _Flat | None:
    """The last call that put the rows of two axes behind each other."""
    for _ in range(NEAR):
        op = known.maker(key)
        if op is None or not op.inputs:
            return None
        given = known.value((op.graph, op.inputs[0])).shape
        made = known.value(key).shape
        if not made or not given:
            return None
        if op.name in JOINING and op.extra.get("dims", [0]) == [0] and len(op.inputs) > 1:
            alike = {known.value((op.graph, one)).shape for one in op.inputs} == {given}
            outer, inner = len(op.inputs), given[0]
            return _Flat(op, outer, inner) if alike and inner > 1 and made[0] == outer * inner else None
        if op.name in FLATTENING and made[0] != given[0]:
            merged = len(given) > 1 and (given[0] * given[1], *given[2:]) == made
            return _Flat(op, given[0], given[1]) if merged and min(given[:2]) > 1 else None
        if made[0] != given[0] or op.name not in BY_ROW | CASTS | FLATTENING:
            return None
        key = op.graph, op.inputs[0]
    return None


def _finding(trace: Trace, op: Op, answers: _Flat, targets: _Flat) -> Finding:
    said = code(trace, answers.op.site.user, "the answers")
    wanted = code(trace, targets.op.site.user, "the targets")
    edits, turned = _turned(trace, targets.op)
    return Finding(
        message=f"{said} and {wanted} are flattened in two orders: each answer is compared with the target of another"
        " place",
        cause=targets.op.site.user,
        cause_label=f"goes through ({targets.outer}, {targets.inner}): all {targets.inner} of row 0 first",
        effect=answers.op.site.user,
        effect_label=f"puts {answers.outer} parts of {answers.inner} rows behind each other",
        related=((op.site.user, "compares them"),),
        seen=(
            f"row 1 of the answers is part 0, row 1, and that of the targets row 0, column 1: of {answers.outer} ×"
            f" {answers.inner} places only those on the same number in both orders meet",
        ),
        fix=f"turn the targets before they are flattened{f': {turned}' if turned else ''}, in"
        f" {located(trace, targets.op.site.user)}",
        edits=edits,
    )


def _turned(trace: Trace, flattening: Op) -> tuple[Edits, str]:
    """`y.T.reshape(-1)`, or `torch.flatten(y.T)`."""
    here = Source(trace, flattening.site.user.path)
    call = here.file.at(flattening.site.user)
    if not isinstance(call, ast.Call):
        return (), ""
    node = (
        call.args[0] if call.args and here.file.is_imported(call.func) else getattr(call.func, "value", None)
    )
    if not isinstance(node, PRIMARIES):
        return (), ""
    edits = here.behind(node, ".transpose(0, 1)")
    view = {"view": "reshape"}.get(flattening.name)
    if view is not None and isinstance(call.func, ast.Attribute):
        return (), f"`{here.file.text(node)}.transpose(0, 1).{view}(…)`"
    return edits, f"`{here.file.text(node)}.transpose(0, 1)`"
