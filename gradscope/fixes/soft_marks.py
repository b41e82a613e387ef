"""What takes the place of one-hot rows of an `argmax` in a loss: the probabilities that it chose among."""

from __future__ import annotations

import ast

from gradscope.analysis.ops import CASTS, PASSING, SOFTMAXES
from gradscope.analysis.words import located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Graph, Op
from gradscope.store import Trace

FORMS = CASTS | PASSING


def soft_marks(trace: Trace, chosen: Op) -> tuple[str, Edits] | None:
    """The repair where `one_hot` marks the places that an `argmax` has found, laid out as its scores are; with the
    edits where all of it is one expression."""
    graph, dims = trace.graph(chosen.graph), list(chosen.extra.get("dims") or [])
    marks = [r for value in chosen.outputs for r in graph.consumers.get(value, ()) if r.name == "one_hot"]
    if chosen.name != "argmax" or len(dims) != 1 or not marks:
        return None
    last = _laid_out(graph, marks[0], graph.values[chosen.inputs[0]].shape)
    here = Source(trace, chosen.site.user.path)
    call, node = here.file.at(chosen.site.user), here.file.at(last.site.user) if last is not None else None
    scores = here.file.asked_of(call)
    if scores is None or last is None:
        return None
    maker = graph.maker(chosen.inputs[0])
    soft = here.part(scores)
    if maker is None or maker.name not in SOFTMAXES:
        soft = f"{soft}.softmax(dim={dims[0]})"
    elif maker.name == "log_softmax":
        soft = f"{soft}.exp()"
    within = isinstance(node, ast.expr) and any(part is call for part in ast.walk(node))
    edits = here.replace(node, soft) if within and isinstance(node, ast.expr) else ()
    place = located(trace, last.site.user)
    return (
        f"take the probabilities that it chooses among, `{soft}`, in place of {place}: they have a gradient",
        edits,
    )


def _laid_out(graph: Graph, marks: Op, shape: tuple[int, ...]) -> Op | None:
    """The last form of the marks that has the shape of the scores."""
    found, op = None, marks
    while True:
        if graph.values[op.outputs[0]].shape == shape:
            found = op
        readers = graph.consumers.get(op.outputs[0], ())
        if len(readers) != 1 or readers[0].name not in FORMS:
            return found
        op = readers[0]
