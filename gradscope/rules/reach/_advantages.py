"""Advantages that an actor takes with the graph of the critic that estimated them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.analysis.calls import Calls
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import COMPARING_LOSSES, SCALES, SUBTRACTIONS
from gradscope.analysis.reach import passes
from gradscope.analysis.words import code, parameter_subjects
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Graph, Op
from gradscope.rules.reach._bootstraps import squared
from gradscope.store import Trace

MAX_UPSTREAM = 400  # values looked at for a log-probability


@dataclass(frozen=True)
class Advantage:
    """`(returns - value) * log_prob`, whose value leads back to a critic."""

    difference: Op  # data minus the critic's estimate
    product: Op  # with the log-probability
    lesson: Op  # the critic's own loss
    parameters: frozenset[int]  # of the critic alone
    times: int


def advantages(known: Calls) -> Iterator[tuple[Graph, Advantage]]:
    """Once per line: where the critic has a loss of its own, and the actor's trains it too."""
    told: set[tuple[str, int]] = set()
    for number in known.paths.graph_ids:
        graph = known.paths.graph(number)
        for op in graph.ops:
            place = op.site.user.location()
            if op.name in SCALES and len(op.inputs) == 2 and op.outputs and place not in told:
                found = _advantage(known, graph, op)
                if found is not None:
                    told.add(place)
                    yield graph, found


def _advantage(known: Calls, graph: Graph, product: Op) -> Advantage | None:
    used = known.paths.used.order
    if (graph.id, product.outputs[0]) not in used or len(set(product.inputs)) < 2:
        return None
    for weight, chance in (product.inputs, product.inputs[::-1]):
        difference = _difference(graph, weight)
        if difference is None or not _log_probability(graph, chance):
            continue
        estimate = next(i for i in difference.inputs[:2] if graph.values[i].requires_grad)
        reach = known.paths.reach
        actor = reach([(graph.id, chance)]).parameters
        critic = (reach([(graph.id, estimate)]).parameters - actor) & known.trained
        lesson = _lesson(known, graph, difference, estimate)
        if critic and lesson is not None:
            times = known.paths.times_through(graph.id, product.nodes) or graph.count
            return Advantage(difference, product, lesson, frozenset(critic), times)
    return None


def _difference(graph: Graph, value: int) -> Op | None:
    """The op that took an estimate with a graph from data without one, perhaps negated since."""
    for _ in range(3):
        op = graph.maker(value)
        if op is None or op.module is not None or not op.inputs:
            return None
        tracked = [i for i in op.inputs[:2] if graph.values[i].requires_grad]
        if op.name in SUBTRACTIONS and len(op.inputs) >= 2 and len(tracked) == 1:
            data = next(i for i in op.inputs[:2] if i not in tracked)
            return None if graph.values[data].kind == "parameter" or graph.values[tracked[0]].is_leaf else op
        if op.name not in ("neg", "__neg__") or not tracked:
            return None
        value = tracked[0]
    return None


def _log_probability(graph: Graph, value: int) -> bool:
    """Whether a distribution's `log_prob` stands behind a value, with a graph."""
    todo, seen = [value], {value}
    while todo and len(seen) < MAX_UPSTREAM:
        made = graph.values[todo.pop()].op
        if made is None:
            continue
        op = graph.ops[made]
        if any(f.kind == "torch" and f.function.endswith(".log_prob") for f in op.site.stack):
            return True
        for i in op.inputs:
            if i not in seen and graph.values[i].requires_grad:
                seen.add(i)
                todo.append(i)
    return False


def _lesson(known: Calls, graph: Graph, difference: Op, estimate: int) -> Op | None:
    """The loss that compares the same estimate with data."""
    used = known.paths.used.order
    readers: list[Op] = [difference, *graph.consumers.get(estimate, ())]
    for op in readers:
        own = op.name in COMPARING_LOSSES or (op.name in SUBTRACTIONS and squared(graph, op))
        if own and op.outputs and (graph.id, op.outputs[0]) in used:
            return op
    return None


def advantage_finding(trace: Trace, graph: Graph, found: Advantage) -> Finding:
    """GS314 for an advantage that carries its critic's graph."""
    made, product = found.difference.site.user, found.product.site.user
    name = names_of(trace).name(graph, found.difference.outputs[0]) or ""
    subject = f"`{name}`" if name else code(trace, made, "the advantage")
    lesson = found.lesson.site.user
    return Finding(
        message=f"the advantage {subject} carries the critic's graph: the policy's loss trains the critic as well",
        cause=made,
        cause_label="takes the critic's estimate, not detached",
        effect=product if product.location() != made.location() else None,
        effect_label="gradients flow into the critic as well",
        related=((lesson, "the critic's own loss"),) if lesson.location() != made.location() else (),
        seen=(
            f"in {passes(found.times)} {len(found.parameters)} parameters of the critic got a gradient of both",
        ),
        fix=f"multiply the log-probability by `{name or 'advantage'}.detach()`",
        count=found.times,
        edits=_detached(trace, found, name),
        subjects=parameter_subjects(found.parameters),
    )


def _detached(trace: Trace, found: Advantage, name: str) -> tuple[Edit, ...]:
    """`.detach()` behind the advantage's name where it is multiplied."""
    here = Source(trace, found.product.site.user.path)
    node = here.file.at(found.product.site.user)
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    for side in sides:
        if isinstance(side, ast.Name) and side.id == name:
            return here.append(side, ".detach()")
    return ()
