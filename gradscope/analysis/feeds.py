"""Models that work on what other models give them, and whose training reaches whom."""

from __future__ import annotations

import ast

from gradscope.analysis.calls import Call, calls
from gradscope.analysis.memo import once
from gradscope.analysis.ops import DRAWS, FILLS, WRITES_OF_PARTS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.text import nodes_of_functions
from gradscope.analysis.writes import loads_state
from gradscope.model import Graph, Parameter
from gradscope.store import Trace


def feeding(trace: Trace, own: list[Parameter], trained: dict[int, list[Parameter]]) -> list[Parameter]:
    """The stepped parameters of the models, of those `trained`, on whose results a new model works (see `fed`)."""
    stepped, mine = _sides(trace, own, trained)
    if mine and _writes(trace, own)[1]:
        return []
    found: list[Parameter] = []
    for call in mine:
        inputs = [(call.event.graph, i) for i in call.event.inputs]
        reached = calls(trace).paths.reach(inputs).parameters
        found = next((group for group in stepped.values() if any(p.id in reached for p in group)), [])
        if not found:
            return []  # it works on data as well: it compares, as a perceptual loss does
    return found


def fed(trace: Trace, own: list[Parameter], trained: dict[int, list[Parameter]]) -> list[Parameter]:
    """The stepped parameters of the models, of those `trained`, that train on what the model of these parameters gives
    them: its gradients were wanted as theirs are, if it was made in this run and is in training
    mode (what was loaded or put into eval mode serves as it is)."""
    stepped, mine = _sides(trace, own, trained)
    ids = {p.id for p in own}
    known = calls(trace)
    for other in known.all if mine and _writes(trace, own) == (True, False) else ():
        inputs = [(other.event.graph, i) for i in other.event.inputs]
        target = other.event.module
        if target in stepped and other.trains and ids & known.paths.reach(inputs).parameters:
            return stepped[target]
    return []


def drawn_here(trace: Trace, own: list[Parameter]) -> bool:
    """Whether this run drew these parameters at random and nothing has given them values since: weights of a layer
    that nobody chose. Biases and scales may be constants."""
    drawn, weights = _drawn(trace), [p for p in own if len(p.shape) > 1]
    return bool(weights) and not _data_given(trace) and all(drawn.get(p.id, False) for p in weights)


def cannot_judge(trace: Trace, own: list[Parameter]) -> bool:
    """Whether these parameters can know nothing yet: weights that this run drew, or numbers without any weights among
    them, as those that weigh the terms of a loss, that nothing has loaded."""
    alone = all(len(p.shape) < 2 for p in own) and not _writes(trace, own)[1]
    return drawn_here(trace, own) or (alone and not _data_given(trace))


@once
def _data_given(trace: Trace) -> bool:
    """Whether the program's text has `weight.data = …` somewhere, which is no op."""
    return any(
        node.attr == "data" and isinstance(node.ctx, ast.Store)
        for _, _, node in nodes_of_functions(trace, ast.Attribute)
    )


@once
def _drawn(trace: Trace) -> dict[int, bool]:
    """Parameters that an op of this run gave values → whether the last one drew them."""
    known, found = paths(trace), dict[int, bool]()
    for graph in trace.graphs:
        for op in graph.writing:
            if op.name in DRAWS | FILLS | WRITES_OF_PARTS:
                made = _whole(known, graph, op.writes[0])
                if made is not None:
                    found[made.id] = op.name in DRAWS
    return found


def _whole(known: Paths, graph: Graph, value: int) -> Parameter | None:
    """The parameter all of whose numbers a write to this value gives: its own memory, also by way of `.data`."""
    made = known.parameter_of((graph.id, known.memory(graph.id, value)))
    return made if made is not None and graph.values[value].shape == made.shape else None


def _sides(
    trace: Trace, own: list[Parameter], trained: dict[int, list[Parameter]]
) -> tuple[dict[int, list[Parameter]], list[Call]]:
    """The stepped parameters of each other model; the calls of this one with gradients on, all in training mode."""
    root = trace.modules[own[0].module or 0].root
    stepped = {r: parameters for r, parameters in trained.items() if r != root}
    mine = [c for c in calls(trace).all if c.event.module == root and c.event.grad]
    if not stepped or not any(c.trains for c in mine) or not all(c.event.training for c in mine):
        return {}, []
    return stepped, mine


def _writes(trace: Trace, own: list[Parameter]) -> tuple[bool, bool]:
    """Whether this run wrote any of these parameters (to initialise them); whether it loaded any."""
    found = [loaded for p in own if (loaded := _written(trace).get(p.id)) is not None]
    return bool(found), any(found)


@once
def _written(trace: Trace) -> dict[int, bool]:
    """Parameters that an op of this run wrote → whether one of them loaded it."""
    known, found = paths(trace), dict[int, bool]()
    for graph in trace.graphs:
        for op in graph.writing:
            made = known.parameter_of((graph.id, op.writes[0]))
            if made is not None:
                loads = loads_state(op)
                found[made.id] = found.get(made.id, False) or loads
    return found
