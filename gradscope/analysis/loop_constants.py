"""Values that are computed once, before a loop, and that each of its turns computes with as with constants."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gradscope.analysis.carried import all_carried
from gradscope.analysis.ops import ADDITIONS, SUBTRACTIONS
from gradscope.analysis.reach import paths
from gradscope.events import ErrorRaised
from gradscope.model import Graph, Op
from gradscope.store import Trace


class LoopConstants(NamedTuple):
    loop: ast.stmt
    lines: list[ast.Assign]  # that make the values, each of a plain name
    names: list[str]


def loop_constants(trace: Trace, event: ErrorRaised) -> LoopConstants | None:
    """What the failing pass found of the graphs from before the loop that it stands in, where all that this was
    computed with is called again in the turn, as a policy is whose old probabilities and advantages are kept; and
    where each part of the loss that it goes into has a graph of this turn as well."""
    known, place = paths(trace), event.site.user
    file, old = trace.source_file(place.path), all_carried(known, event)
    backward = file.statement(place)
    loop = file.loop_of(backward) if backward is not None else None
    if not old or loop is None or event.graph < 0:
        return None
    graph = known.graph(event.graph)
    again = known.parameters_in((graph.id, v) for root in event.roots for v in (root, *graph.upstream(root)))
    lines: list[ast.Assign] = []
    for one in old:
        key = known.made((event.graph, one.value.index))
        behind, maker = known.reach([key]).parameters, known.maker(key)
        if not behind or not behind <= again or maker is None or _is_a_term(graph, one.value.index):
            return None
        line = file.statement(maker.site.entry)
        if not isinstance(line, ast.Assign) or len(line.targets) != 1:
            return None
        before = line.lineno < loop.lineno and file.scope_of(line) is file.scope_of(loop)
        if not before or not isinstance(line.targets[0], ast.Name):
            return None
        lines += [line] if line not in lines else []
    return LoopConstants(loop, lines, [ast.unparse(line.targets[0]) for line in lines])


def _is_a_term(graph: Graph, value: int) -> bool:
    """Whether it, or what came of it alone, is added to the rest of the loss: without its graph it would train
    nothing."""
    own, met = {value}, list[Op]()
    for op in graph.ops:  # in order
        if own.isdisjoint(op.inputs):
            continue
        if any(graph.values[i].requires_grad and i not in own for i in op.inputs):
            met.append(op)
        else:
            own.update(op.outputs)
    single = [op for op in met if op.outputs and not graph.values[op.outputs[0]].shape]
    return not met or any(op.name in ADDITIONS | SUBTRACTIONS for op in single)
