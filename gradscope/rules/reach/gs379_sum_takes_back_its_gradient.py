"""A value is added to a difference that takes it away again, with its graph: it gets a gradient of zero.

Why: `x + (q - x)` is meant as a straight-through estimator: the value of q, with the gradient of x. With its graph
the bracket hands x the same gradient with a minus: the two sum to zero, all of it goes to q, and what x is computed
from is not trained by anything behind the sum.

Fix: take the bracket without its graph: `x + (q - x).detach()`.

Measured: the sum and the difference have one value in the recorded graph, and no gradient comes from the other one to
parameters that this value is computed from: it does not need them, or rounds what they give. Silent on: differences
that are scaled before they are added, as of an interpolation.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import ADDITIONS, REVERSED_SUBTRACTIONS, SUBTRACTIONS, ZERO_GRADIENT
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
    codebook = nn.Embedding(8, 2)
    parts = [encoder, decoder, codebook]
    opt = torch.optim.Adam([p for part in parts for p in part.parameters()])
    for _ in range(3):
        x = torch.randn(16, 4)
        z = encoder(x)
        quantized = codebook(torch.cdist(z, codebook.weight).argmin(1))
        latent = nn.functional.mse_loss(quantized, z)
        quantized = z + (quantized - z)  # cause: GS379
        opt.zero_grad()
        (nn.functional.mse_loss(decoder(quantized), x) + latent).backward()  # effect: GS379
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
    codebook = nn.Embedding(8, 2)
    parts = [encoder, decoder, codebook]
    opt = torch.optim.Adam([p for part in parts for p in part.parameters()])
    for _ in range(3):
        x = torch.randn(16, 4)
        z = encoder(x)
        quantized = codebook(torch.cdist(z, codebook.weight).argmin(1))
        latent = nn.functional.mse_loss(quantized, z)
        quantized = z + (quantized - z).detach()
        opt.zero_grad()
        (nn.functional.mse_loss(decoder(quantized), x) + latent).backward()
        opt.step()


@rule("GS379", name="sum-takes-back-its-gradient", severity="warning")
def sum_takes_back_its_gradient(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for event in {event.graph: event for event in reversed(known.backwards) if event.graph >= 0}.values():
        graph = known.graph(event.graph)
        way = known.flow([(event.graph, root) for root in event.roots]).order
        for op in graph.called(ADDITIONS):
            place = op.site.user
            if place.location() in told or not any((graph.id, value) in way for value in op.outputs):
                continue
            difference = _taking_back(graph, op)
            lost = _lost(known, graph, difference) if difference is not None else frozenset()
            if difference is not None and lost:
                told.add(place.location())
                yield _finding(trace, event, op, difference, lost)


def _taking_back(graph: Graph, op: Op) -> Op | None:
    """The difference that a sum adds to what that takes away: nothing stands between the two."""
    if len(op.inputs) != 2 or not op.nodes:
        return None
    for added, whole in (op.inputs, op.inputs[::-1]):
        made = graph.maker(added)
        if made is None or made.name not in SUBTRACTIONS or len(made.inputs) != 2 or not made.nodes:
            continue
        taken = made.inputs[0 if made.name in REVERSED_SUBTRACTIONS else 1]
        if taken == whole and graph.values[whole].requires_grad:
            return made
    return None


def _lost(known: Paths, graph: Graph, difference: Op) -> frozenset[int]:
    """The parameters behind what is taken away that get nothing from what it is taken from, such as a rounded value."""
    kept, taken = difference.inputs
    if difference.name in REVERSED_SUBTRACTIONS:
        kept, taken = taken, kept
    behind = known.reach([(graph.id, kept)], ZERO_GRADIENT)
    lost = known.reach([(graph.id, taken)]).parameters - behind.parameters
    return lost if behind.complete else frozenset()


def _finding(trace: Trace, event: Backward, total: Op, difference: Op, lost: frozenset[int]) -> Finding:
    place = total.site.user
    names = parameter_names(trace, sorted(lost))
    text, edits = _without_graph(trace, place, difference)
    return Finding(
        message=f"{code(trace, place, 'a sum')} adds a value and takes it away again: no gradient comes through it to"
        f" {names}",
        cause=place,
        cause_label="+1 times its gradient by the sum, -1 times by the difference",
        effect=event.site.user,
        effect_label="goes through it for nothing",
        seen=(
            f"the sum and its difference have one value, computed from {names}, to which no gradient comes from what"
            " the difference is taken from",
        ),
        fix=f"take the difference without its graph: {text} in {located(trace, place)}",
        edits=edits,
        count=event.count,
        subjects=parameter_subjects(lost) | {("term", *place.location())},
    )


def _without_graph(trace: Trace, place: Site, difference: Op) -> tuple[str, Edits]:
    here = Source(trace, place.path)
    node = here.file.at(difference.site.user)
    if not isinstance(node, (ast.BinOp, ast.Call)):
        return "`x + (q - x).detach()`", ()
    return f"`{here.part(node)}.detach()`", here.behind(node, ".detach()")
