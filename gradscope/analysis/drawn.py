"""Dropout as a program writes it itself: numbers are drawn and compared, something is multiplied by the result or set
to zero where that says so, and what is kept is divided by its share."""

from __future__ import annotations

from gradscope.analysis.ops import (
    ADDITIONS,
    CASTS,
    JOINING,
    MASKING,
    MULTIPLICATIONS,
    ORDERINGS,
    SCALES,
    SOFTMAXES,
    SUBTRACTIONS,
    ZEROS,
)
from gradscope.analysis.reach import Key, Paths
from gradscope.model import Graph, Op

CUTTING = ORDERINGS | {"floor", "floor_", "bool", "int", "long"}
TO_A_MASK = CASTS | ADDITIONS | SUBTRACTIONS | CUTTING | {
    "logical_not", "__invert__", "expand", "expand_as", "view", "reshape", "unsqueeze", "bernoulli",
}  # fmt: skip
DRAWN_AS_A_MASK = {"bernoulli", "bernoulli_"}
CHANCES = SOFTMAXES | {"softmax_"}  # what makes nothing of the most negative number, as of a zero
DEEP = 24


def drops(graph: Graph, draw: Op) -> bool:
    """Whether what was drawn becomes a mask that something is multiplied by, or set to zero by, with a plain number as
    a factor of the mask, of what it is laid over, or of the result."""
    todo = [(value, draw.name in DRAWN_AS_A_MASK, False) for value in (*draw.outputs, *draw.written)]
    seen = {value for value, _, _ in todo}
    while todo and len(seen) < DEEP:
        value, cut, scaled = todo.pop()
        for op in graph.consumers.get(value, ()):
            other = _laid_over(graph, op, value) if cut else None
            if other is not None:
                maker = graph.maker(other)
                before = maker is not None and _by_a_number(maker)
                made = (*op.outputs, *op.written)
                after = any(_by_a_number(reader) for one in made for reader in graph.consumers.get(one, ()))
                if scaled or before or after:
                    return True
            elif op.name in TO_A_MASK or (cut and _by_a_number(op)):
                results = [result for result in (*op.outputs, *op.written) if result not in seen]
                seen.update(results)
                todo += [
                    (result, cut or op.name in CUTTING, scaled or _by_a_number(op)) for result in results
                ]
    return False


def _laid_over(graph: Graph, op: Op, mask: int) -> int | None:
    """What a mask is laid over: the other factor of a product, or what `where`, `masked_fill` and `h[mask] = 0` leave
    as it is in some places and set to zero in the others."""
    if op.name in MULTIPLICATIONS:
        return _but(op, mask) if len(op.inputs) == 2 and op.outputs else None
    if op.name == "where" and op.inputs[:1] == (mask,):
        kept = [i for i in op.inputs[1:] if not _is_zero(graph, i)]
        zeros = len(kept) == 1
    elif op.name in MASKING or op.name == "__setitem__":
        kept, zeros = [i for i in op.inputs if i != mask][:1], len(op.inputs) == 2
    else:
        return None
    readers = [reader for one in (*op.outputs, *op.written) for reader in graph.consumers.get(one, ())]
    return kept[0] if zeros and kept and not any(reader.name in CHANCES for reader in readers) else None


def _but(op: Op, value: int) -> int:
    return op.inputs[0] if op.inputs[1] == value else op.inputs[1]


def _is_zero(graph: Graph, value: int) -> bool:
    maker = graph.maker(value)
    return maker is not None and maker.name in ZEROS


def are_joined(known: Paths, draws: list[tuple[Graph, Op]]) -> bool:
    """Whether results of several draws that no pass goes through are put together, as those of Monte Carlo dropout."""
    drawn = {(graph.id, value) for graph, op in draws for value in (*op.outputs, *op.written)}
    evaluated = {key[0] for key in drawn if key not in known.used.order}
    for number in known.graph_ids if evaluated else ():
        graph = known.graph(number)
        from_there = number in evaluated or any(
            v.origin is not None and v.origin[0] in evaluated for v in graph.values
        )
        for op in graph.called(JOINING | ADDITIONS) if from_there else ():
            given = [(number, value) for value in dict.fromkeys(op.inputs)]
            behind = [(key, drawn & known.flow([key]).order.keys()) for key in given]
            behind = [(key, some) for key, some in behind if some]
            if len(behind) > 1 and _apart(known, *behind[0], *behind[1]):
                return True
    return False


def _apart(known: Paths, one: Key, mine: set[Key], other: Key, others: set[Key]) -> bool:
    """Whether two values come from draws of their own: other ones, or those of another turn of the same line."""
    return mine.isdisjoint(others) or (known.made(one) == known.made(other) != one)


def _by_a_number(op: Op) -> bool:
    return op.name in SCALES and len(op.inputs) == 1
