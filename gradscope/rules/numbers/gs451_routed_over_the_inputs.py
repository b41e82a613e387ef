"""Routing by agreement normalises over the inputs: the outputs do not compete for an input.

Why: in a capsule network each input divides itself among the outputs: its coefficients sum to one over these, and the
agreement of its vote with an output draws more of it there. A softmax over the inputs makes each output a mean of all
votes instead. With many inputs every coefficient is tiny, the outputs are short, and what one output gets is nothing
that another one lacks.

Fix: the softmax over the axis of the outputs, which the weighted sum leaves.

Measured: logits to which the product of votes with what they were summed to is added, turn by turn; the softmax of them
goes over the very axis that the sum of the weighted votes takes in; each input has a vote of its own for each output.
Silent on: attention, whose values are the same for all queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope import equations
from gradscope.analysis.made import softmax_site
from gradscope.analysis.ops import (
    ADDITIONS,
    ALIASES,
    MULTIPLICATIONS,
    PASSING,
    PRODUCTS_OF_MATRICES,
    REDUCTIONS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.trails import Sum, Trail, trail
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import along
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

SAME = PASSING | ALIASES
FORMED = SAME | REDUCTIONS


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    weight = nn.Parameter(0.1 * torch.randn(12, 3, 5, 4))
    opt = torch.optim.Adam([weight], lr=0.01)
    for _ in range(5):
        votes = (weight @ torch.randn(8, 12, 1, 4, 1)).squeeze(-1)  # of 12 inputs for 3 outputs
        logits = torch.zeros(8, 12, 3, 1)
        for _ in range(3):
            shares = torch.softmax(logits, dim=1)  # cause: GS451
            total = (shares * votes).sum(dim=1, keepdim=True)  # effect: GS451
            out = total * total.norm(dim=-1, keepdim=True) / (1 + total.square().sum(-1, keepdim=True))
            logits = logits + (votes * out).sum(dim=-1, keepdim=True)
        loss = (out.norm(dim=-1).squeeze(1) - torch.rand(8, 3)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    weight = nn.Parameter(0.1 * torch.randn(12, 3, 5, 4))
    opt = torch.optim.Adam([weight], lr=0.01)
    for _ in range(5):
        votes = (weight @ torch.randn(8, 12, 1, 4, 1)).squeeze(-1)
        logits = torch.zeros(8, 12, 3, 1)
        for _ in range(3):
            shares = torch.softmax(logits, dim=2)
            total = (shares * votes).sum(dim=1, keepdim=True)
            out = total * total.norm(dim=-1, keepdim=True) / (1 + total.square().sum(-1, keepdim=True))
            logits = logits + (votes * out).sum(dim=-1, keepdim=True)
        loss = (out.norm(dim=-1).squeeze(1) - torch.rand(8, 3)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class Routed(NamedTuple):
    """A softmax of routing, the sum of what it weighs, and the axis of the outputs."""

    softmax: Op
    summed: Sum
    over: int
    outputs: int


@rule("GS451", name="routed-over-the-inputs", severity="note")
def routed_over_the_inputs(trace: Trace) -> Iterator[Finding]:
    if "softmax" not in trace.op_names:
        return
    known = paths(trace)
    told: dict[tuple[str, int], Routed] = {}
    for key, op in known.used_calls({"softmax"}):
        place = op.site.user.location()
        if place not in told:
            for earlier, added in _turns(known, (key[0], op.inputs[0])):
                found = _routed(trace, known, earlier, added) if earlier.site.id == op.site.id else None
                if found is not None:
                    told[place] = found
                    break
    for found in told.values():
        yield _finding(trace, known, found)


def _turns(known: Paths, logits: Key) -> Iterator[tuple[Op, Key]]:
    """Of logits that are a sum: the softmax that one side went through before, and the other side."""
    op = known.maker_behind(logits, SAME)
    if op is None or op.name not in ADDITIONS or len(op.inputs) != 2:
        return
    for before, added in (op.inputs, op.inputs[::-1]):
        graph = known.graph(op.graph)
        for reader in graph.consumers.get(before, ()):
            if reader.name == "softmax" and reader.outputs:
                yield reader, (op.graph, added)


def _routed(trace: Trace, known: Paths, softmax: Op, added: Key) -> Routed | None:
    """Where the votes that the softmax weighs are multiplied by what they were summed to, and that is added."""
    weights = (softmax.graph, softmax.outputs[0])
    shape, dims = known.value(weights).shape, softmax.extra.get("dims", [])
    if len(dims) != 1 or len(shape) < 2:
        return None
    over = dims[0] % len(shape)
    product = known.maker_behind(added, FORMED)
    if (
        product is None
        or product.name not in MULTIPLICATIONS | PRODUCTS_OF_MATRICES
        or len(product.inputs) != 2
    ):
        return None
    sides = [known.source_behind((product.graph, index), SAME) for index in product.inputs]
    followed = trail(trace, weights)
    for use in followed.sums:
        if use.over != {over} or use.other is None:
            continue
        votes = known.source_behind(use.other, SAME)
        made = next((side for side in sides if side != votes), None)
        if (
            votes not in sides
            or made is None
            or (use.op.graph, use.op.outputs[0]) not in known.flow([made]).order
        ):
            continue
        outputs = [axis for axis in use.left if axis and shape[axis] > 1]
        if len(outputs) == 1 and shape[over] > 1 and _own_votes(known, followed, use, outputs[0]):
            return Routed(softmax, use, over, outputs[0])
    return None


def _own_votes(known: Paths, followed: Trail, use: Sum, outputs: int) -> bool:
    """Whether votes are multiplied with their weights one by one: each input has one for each output."""
    if use.op.name in PRODUCTS_OF_MATRICES:
        equation = equations.of(use.op)
        if equation is None or len(equation.operands) != 2:
            return False
        one, other = (set(operand) for operand in equation.operands)
        return one <= other or other <= one
    if use.other is None:
        return False
    graph, votes = known.graph(use.other[0]), known.value(use.other).shape
    for op in graph.consumers.get(use.other[1], ()):
        for index in op.inputs if op.name in MULTIPLICATIONS else ():
            weights = (graph.id, index)
            if weights != use.other and outputs in followed.places(weights):
                axes = followed.of(weights)
                places = [
                    place - len(axes)
                    for place, axis in enumerate(axes)
                    if any(followed.numbers.get(source) == outputs for source in followed.sources_of(axis))
                ]
                return all(-place <= len(votes) and votes[place] > 1 for place in places)
    return False


def _finding(trace: Trace, known: Paths, found: Routed) -> Finding:
    op, shape = found.softmax, known.value((found.softmax.graph, found.softmax.outputs[0])).shape
    place, summed = softmax_site(trace, op), found.summed.op.site.user
    inputs, outputs = shape[found.over], shape[found.outputs]
    given = op.extra["dims"][0]
    wanted = found.outputs - len(shape) if given < 0 else found.outputs
    return Finding(
        message=f"{code(trace, place, '`softmax`')} makes the coefficients of the routing sum to one over the {inputs}"
        f" inputs of axis {found.over}, and not over the {outputs} outputs of axis {found.outputs}",
        cause=place,
        cause_label=f"goes over the inputs: each has about 1/{inputs}",
        effect=summed,
        effect_label=f"sums over the same {inputs} inputs, as a mean",
        seen=(
            f"coefficients of shape {shape} sum to one along axis {found.over}, along which `{found.summed.op.name}`"
            " adds up what they weigh; how far the votes agree with that sum is added to the scores for the next turn",
        ),
        fix=f"give `dim={wanted}` to {located(trace, place, '`softmax`')}: each input divides itself among the outputs",
        edits=along(trace, place, "softmax", wanted),
        subjects=frozenset({("softmax", *place.location())}),
    )
