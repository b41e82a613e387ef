"""Softmax and the losses made of it as a program writes them itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import (
    ADDITIONS,
    DISTRIBUTIONS,
    MULTIPLICATIONS,
    PICKS_OF_ROWS,
    QUOTIENTS,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths
from gradscope.model import Op

# What a divisor or a largest score goes through before it is used: the same numbers.
SAME = {
    "unsqueeze", "view", "reshape", "expand", "expand_as", "detach", "clone", "clamp", "clamp_min", "squeeze",
}  # fmt: skip
EXP = {"exp", "exp_"}
LARGEST = {"max", "amax", "values"}


class WrittenOut(NamedTuple):
    """A softmax of the program's own: `made` is its last call, `along` the one that goes over the classes."""

    made: Op
    along: Op
    scores: Key  # without the largest, where that was taken off

    @property
    def words(self) -> str:
        return "exp(…) / sum" if self.along.name == "sum" else "exp(… - logsumexp)"


def softmax_written_out(known: Paths, op: Op) -> WrittenOut | None:
    """The softmax that ends in this call: `e / e.sum(…)` with `e` an exponential, `exp(z - logsumexp(z))`."""
    if op.name in QUOTIENTS and len(op.inputs) == 2:
        top, bottom = _maker(known, op, 0), _divisor(known, op)
        if top is None or top.name not in EXP or bottom is None or bottom.name != "sum" or not top.inputs:
            return None
        same = known.made((bottom.graph, bottom.inputs[0])) == known.made((op.graph, op.inputs[0]))
        return WrittenOut(op, bottom, _scores(known, (top.graph, top.inputs[0]))) if same else None
    if op.name in EXP and op.inputs:
        less = known.maker((op.graph, op.inputs[0]))
        along = log_softmax_written_out(known, less) if less is not None else None
        return (
            WrittenOut(op, along, _scores(known, (along.graph, along.inputs[0])))
            if along is not None
            else None
        )
    return None


def log_softmax_written_out(known: Paths, op: Op) -> Op | None:
    """The `logsumexp` of `z - logsumexp(z)`."""
    if op.name not in SUBTRACTIONS or len(op.inputs) != 2:
        return None
    along = known.maker_behind((op.graph, op.inputs[1]), SAME)
    if along is None or along.name != "logsumexp":
        return None
    same = known.made((along.graph, along.inputs[0])) == known.made((op.graph, op.inputs[0]))
    return along if same else None


def is_cross_entropy(known: Paths, op: Op) -> bool:
    """Whether a `logsumexp` is that of a cross entropy: what one place of the same scores holds is taken off it, or it
    off that."""
    own = known.made((op.graph, op.inputs[0]))
    for reader in _readers(known, op):
        if reader.name in SUBTRACTIONS and len(reader.inputs) == 2:
            for value in reader.inputs:
                picked = known.maker_behind((reader.graph, value), SAME)
                if picked is not None and _picks(known, picked, own):
                    return True
    return False


def _picks(known: Paths, op: Op, scores: Key) -> bool:
    """Whether it takes places of the scores: by an index, or as the sum of their product with labels."""
    if op.name == "sum" and op.inputs:
        product = known.maker((op.graph, op.inputs[0]))
        if product is None or product.name not in MULTIPLICATIONS:
            return False
        return any(known.made((product.graph, value)) == scores for value in product.inputs)
    return op.name in PICKS_OF_ROWS and known.made((op.graph, op.inputs[0])) == scores


def is_picked_from(known: Paths, op: Op) -> bool:
    """Whether one place of each row of a result is taken on the way to a loss: `logp.gather(1, y)`, `logp[rows, y]`."""
    return any(reader.name in PICKS_OF_ROWS and len(reader.inputs) > 1 for reader in _readers(known, op))


def of_a_distribution(op: Op) -> bool:
    """Whether it is what `Categorical(logits=…)` does with its scores."""
    if op.name != "logsumexp" or op.site.kind != "torch":
        return False
    return f"/{DISTRIBUTIONS}/categorical" in op.site.path.replace("\\", "/")


def axis_of(known: Paths, along: Op) -> int | None:
    """The axis that the call goes over, counted from the front."""
    shape = known.value((along.graph, along.inputs[0])).shape
    given = along.extra.get("dims") or []
    if len(given) != 1 or not -len(shape) <= given[0] < len(shape):
        return None
    return int(given[0]) % len(shape)


def _readers(known: Paths, op: Op) -> Iterator[Op]:
    """What reads its result on the way to a loss, in whatever form of the same numbers."""
    for output in op.outputs[:1]:
        through = known.onward(
            (op.graph, output), lambda _, reader: reader is not None and reader.name in SAME, 8
        )
        yield from (reader for _, _, reader in through if reader is not None)


def _maker(known: Paths, op: Op, place: int) -> Op | None:
    return known.maker((op.graph, op.inputs[place]))


def _divisor(known: Paths, op: Op) -> Op | None:
    """The sum that a quotient is divided by, a small constant added perhaps."""
    maker = known.maker_behind((op.graph, op.inputs[1]), SAME)
    if maker is not None and maker.name in ADDITIONS and len(maker.inputs) == 1:
        maker = known.maker_behind((maker.graph, maker.inputs[0]), SAME)
    return maker


def _scores(known: Paths, key: Key) -> Key:
    """`z` of `z - z.max()`."""
    maker = known.maker(key)
    if maker is None or maker.name not in SUBTRACTIONS or len(maker.inputs) != 2:
        return key
    taken = known.maker_behind((maker.graph, maker.inputs[1]), SAME | {"__getitem__"})
    return (maker.graph, maker.inputs[0]) if taken is not None and taken.name in LARGEST else key
