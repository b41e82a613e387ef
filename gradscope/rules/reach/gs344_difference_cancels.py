"""A difference whose two sides hand their gradients to the same tensor: they cancel, and the term trains nothing.

Why: a straight-through value, `x + (q - x).detach()`, counts as `x` itself in the backward. What is subtracted from `x`
takes the gradient back that `x` gets: the sum is exactly zero, whatever stands behind the difference. In residual
quantizers every loss after the first then leaves the encoder alone.

Fix: subtract the value without its graph: `x - quantized.detach()`.

Measured: in the recorded graph both sides of the difference lead to one tensor by nothing but sums with what has no
graph, and a term of a loss has no other way to any parameter. Silent on: differences beside which a term has
another way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import ADDITIONS, COMPARING_LOSSES, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.terms import terms
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace

DIFFERENCES = SUBTRACTIONS | COMPARING_LOSSES
DEEP = 20  # sums from a side back to what it counts as


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    for _ in range(3):
        x = torch.randn(16, 4)
        z = encoder(x)
        first = z + (z.round() - z).detach()
        rest = z - first  # cause: GS344
        far = (rest - (2 * rest).round().detach() / 2).pow(2).mean()
        opt.zero_grad()
        ((decoder(first) - x).pow(2).mean() + far).backward()  # effect: GS344
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    for _ in range(3):
        x = torch.randn(16, 4)
        z = encoder(x)
        first = z + (z.round() - z).detach()
        rest = z - first.detach()
        far = (rest - (2 * rest).round().detach() / 2).pow(2).mean()
        opt.zero_grad()
        ((decoder(first) - x).pow(2).mean() + far).backward()
        opt.step()


WHY_DENSITY = """a sample that is drawn as the mean plus noise moves with the mean, and the density at it stays what it
was: its gradient to the mean is exactly zero. A policy gradient asks how likely this very sample is, as a constant."""


class Cancelling(NamedTuple):
    op: Op  # the difference
    taken: int  # of its inputs, what counts as the other in the backward
    by: Op  # the sum that makes it so


@rule("GS344", name="difference-cancels", severity="warning")
def difference_cancels(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for event in {event.graph: event for event in reversed(known.backwards) if event.graph >= 0}.values():
        graph = known.graph(event.graph)
        found = [one for op in graph.called(DIFFERENCES) if (one := _cancelling(graph, op)) is not None]
        dead = _dead(known, event, found) if found else None
        if dead is None:
            continue
        one = next((o for o in found if o.op.site.user.location() not in told), None)
        if one is not None:
            told.add(one.op.site.user.location())
            yield _finding(trace, event, one, *dead)


def _cancelling(graph: Graph, op: Op) -> Cancelling | None:
    tracked = [i for i in op.inputs if graph.values[i].requires_grad]
    if len(tracked) != 2 or not op.nodes:
        return None
    (left, _), (right, by) = (_counts_as(graph, i) for i in tracked)
    if left == right and by is not None:
        return Cancelling(op, tracked[1], by)
    other = _counts_as(graph, tracked[0])[1]
    return Cancelling(op, tracked[0], other) if left == right and other is not None else None


def _counts_as(graph: Graph, value: int) -> tuple[int, Op | None]:
    """What a value is in the backward: it, or what sums with things that have no graph were added to; and the nearest
    such sum."""
    nearest = None
    for _ in range(DEEP):
        op = graph.maker(value)
        tracked = [i for i in op.inputs if graph.values[i].requires_grad] if op is not None else []
        if op is None or op.name not in ADDITIONS or len(tracked) != 1 or not op.nodes:
            break
        if graph.values[tracked[0]].shape != graph.values[op.outputs[0]].shape:
            break
        nearest, value = nearest or op, tracked[0]
    return value, nearest


def _dead(known: Paths, event: Backward, found: list[Cancelling]) -> tuple[Op, frozenset[int]] | None:
    """The first term of the loss that has a way to parameters, and none but through these differences."""
    stop: list[Key] = [(event.graph, node) for one in found for node in one.op.nodes]
    for root in event.roots:
        for term in terms(known, (event.graph, root)):
            op, parameters = known.maker(term), known.reach([term]).parameters
            if op is not None and parameters and not known.reach([term], stop=stop).parameters:
                return op, parameters
    return None


def _finding(trace: Trace, event: Backward, one: Cancelling, term: Op, parameters: frozenset[int]) -> Finding:
    cause, by = one.op.site.user, one.by.site.user
    names = parameter_names(trace, sorted(parameters))
    text, edits = _without_graph(trace, one)
    density = _of_a_density(one.op)
    return Finding(
        message=f"the two sides of {code(trace, cause, 'a difference')} cancel in the backward: what is computed from"
        f" it does not train {names}",
        cause=cause,
        cause_label="both sides lead to one tensor, with gradients that sum to zero",
        effect=event.site.user,
        effect_label="goes through it for nothing",
        related=tuple(
            (site, label)
            for site, label in (
                (by, "counts as its input in the backward"),
                (term.site.user, "has no other way to a parameter"),
            )
            if site.location() not in (cause.location(), event.site.user.location())
        ),
        seen=(
            f"the gradient of {code(trace, term.site.user, 'the term')} reaches {names} by this difference alone, where"
            " it is exactly zero",
        ),
        fix=f"{'ask for the density of the sample' if density else 'subtract it'} without its graph: {text} in place of"
        f" {located(trace, cause)}",
        edits=edits,
        why=WHY_DENSITY if density else "",
        count=event.count,
        subjects=parameter_subjects(parameters) | {("term", *term.site.user.location())},
    )


def _of_a_density(op: Op) -> bool:
    """Whether it is a part of a distribution's `log_prob()`."""
    return any(frame.function.endswith(".log_prob") for frame in op.site.stack if frame.kind == "torch")


def _without_graph(trace: Trace, one: Cancelling) -> tuple[str, Edits]:
    """`x - quantized.detach()` for `x - quantized`, and the same for a loss of two arguments."""
    here = Source(trace, one.op.site.user.path)
    node = here.file.at(one.op.site.user)
    sides: list[ast.expr] = []
    if _of_a_density(one.op):
        sample = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else None
        if sample is None or not isinstance(node, ast.Call):
            return "`log_prob(sample.detach())`", ()
        new = f"{here.file.operand(sample)}.detach()"
        return f"`{here.text_with(node, sample, new) or new}`", here.replace(sample, new)
    if isinstance(node, ast.BinOp):
        sides = [node.left, node.right]
    elif isinstance(node, ast.Call) and one.op.name in COMPARING_LOSSES:
        sides = node.args[:2]
    if len(sides) != 2 or len(one.op.inputs) != 2 or not isinstance(node, ast.expr):
        return "`x - quantized.detach()`", ()
    side = sides[one.op.inputs.index(one.taken)]
    new = f"{here.file.operand(side)}.detach()"
    return f"`{here.text_with(node, side, new) or new}`", here.replace(side, new)
