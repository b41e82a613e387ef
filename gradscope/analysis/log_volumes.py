"""Factors that what a loss is made of is multiplied with, and values that are the logarithm of one: a flow's volume."""

from __future__ import annotations

from gradscope.analysis.ops import DIVISIONS, LOGARITHMS, MULTIPLICATIONS, NEGATIONS, PASSING
from gradscope.analysis.reach import Key, Paths
from gradscope.model import Op

FORMS = NEGATIONS | (PASSING - {"chunk", "split", "unbind"})
BACK = 6  # calls between an exponent and its logarithm


def factor_of(known: Paths, key: Key) -> tuple[Op | None, int]:
    """The call that multiplies another tensor with a factor, or divides it by that, and which of the two."""
    graph = known.graph(key[0])
    shape = graph.values[key[1]].shape
    for reader in graph.consumers.get(key[1], ()):
        others = [i for i in reader.inputs if i != key[1]]
        if (
            len(others) != 1
            or not reader.outputs
            or graph.values[others[0]].shape[:1] != shape[:1]
            or not shape
        ):
            continue
        if (graph.id, reader.outputs[0]) not in known.used.order:
            continue
        if reader.name in MULTIPLICATIONS:
            return reader, 1
        if reader.name in DIVISIONS and reader.inputs[1] == key[1]:
            return reader, -1
    return None, 0


def stretched_by(known: Paths, key: Key) -> Op | None:
    """The call that multiplies another tensor with, or divides it by, what a value is the logarithm of, element by
    element: its exponential, also behind a minus, or what `log` was taken of."""
    graph, index = known.graph(key[0]), key[1]
    for _ in range(BACK):
        behind = graph.readers_behind([index], lambda op: op.name in NEGATIONS)
        for op in [reader for _, reader in behind if reader.name == "exp"]:
            found = factor_of(known, (graph.id, op.outputs[0]))[0] if op.outputs else None
            if found is not None:
                return found
        maker = graph.maker(index)
        if maker is None or not maker.inputs:
            return None
        if maker.name in LOGARITHMS:
            factor = known.source_behind((graph.id, maker.inputs[0]), {"abs"})
            return factor_of(known, factor)[0]
        if maker.name not in FORMS or len(maker.inputs) != 1:
            return None
        index = maker.inputs[0]
    return None
