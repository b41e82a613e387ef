"""Sequences: whether a value still has their places apart, and the lookup that a loss was compared with."""

from __future__ import annotations

from gradscope.events import NextAnswers, OwnAnswers
from gradscope.model import Graph, Op
from gradscope.store import Trace


def compared(trace: Trace, event: NextAnswers | OwnAnswers) -> tuple[Graph, Op, list[Op]] | None:
    """A graph that has the event's loss and lookups of its embedding: with the first call of the loss there, and all of
    the lookups."""
    for graph in trace.graphs:
        losses = (op for op in graph.called({event.name}) if op.site.id == event.site.id)
        lookups = [op for op in graph.called({"embedding"}) if op.site.id == event.embedding]
        loss = next(losses, None)
        if loss is not None and lookups:
            return graph, loss, lookups
    return None


def keeps_places(shape: tuple[int, ...], samples: int, places: int) -> bool:
    """Whether a value of this form has something for each place of each sample."""
    if samples * places in shape:
        return True
    left = list(shape)
    for size in (samples, places):
        if size not in left:
            return False
        left.remove(size)
    return True
