"""Labels of which one place of an axis is marked, however the program wrote them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from gradscope.analysis.ops import CASTS, EQUALITIES, JOINING, PASSING, PICKS_OF_A_TABLE, SCALES, SUMS, ZEROS
from gradscope.analysis.reach import Key, Paths
from gradscope.model import Op

T = TypeVar("T")

_NOTHING = ZEROS | {"zero_"}
_ALIKE = _NOTHING | {"full", "full_like", "new_full", "fill_"}
_FORMS = {"unsqueeze", "__getitem__", "view", "reshape", "expand", *CASTS}
_LIMIT = 20  # calls followed


class OneHot(NamedTuple):
    made: Key
    maker: Op
    axis: int  # of what was made, along which one place is marked


def one_hot(known: Paths, key: Key, *, smoothed: bool = False) -> OneHot | None:
    """What marks one place, where a value is that, in whatever form: by `one_hot`, a row of `eye`, a number scattered
    or set into zeros, numbers compared with all that they may be. With `smoothed` also where the others hold one
    small number: `x * 0.9 + 0.02`."""
    for _ in range(_LIMIT):
        op = known.maker(key)
        if op is None:
            return None
        made = known.made(key)
        axis = _marked(known, op, made, _ALIKE if smoothed else _NOTHING)
        if axis is not None:
            return OneHot(made, op, axis)
        scaled = smoothed and op.name in SCALES | SUMS and len(op.inputs) == 1
        if not op.inputs or not (scaled or op.name in PASSING - JOINING):
            return None
        key = op.graph, op.inputs[0]
    return None


def _marked(known: Paths, op: Op, made: Key, before: set[str]) -> int | None:
    """The axis along which a call marks one place of each."""
    rank = len(known.value(made).shape)
    sources = [(op.graph, index) for index in op.inputs]
    if not rank or not sources:
        return None
    if op.name == "one_hot" or (op.name in PICKS_OF_A_TABLE and _is(known, sources[0], {"eye"})):
        return rank - 1
    if op.name in ("scatter", "scatter_") and len(sources) == 2 and _is(known, sources[0], before):
        sizes = zip(known.value(sources[1]).shape, known.value(made).shape, strict=False)
        return _only(axis for axis, (index, size) in enumerate(sizes) if index == 1 < size)
    if op.name == "__setitem__" and len(sources) == 3 and _is(known, sources[0], before):
        # `labels[arange(n), y] = 1`
        apart = _is(known, sources[1], {"arange"}) and not _is(known, sources[2], {"arange"})
        return 1 if rank == 2 and apart else None
    if op.name in EQUALITIES and len(sources) == 2:
        counted = _only(source for source in sources if _is(known, source, {"arange"}))
        shape = known.value(counted).shape if counted is not None else ()
        axis = _only(axis for axis, size in enumerate(shape) if size > 1)
        return axis + rank - len(shape) if axis is not None else None
    return None


def _only(found: Iterable[T]) -> T | None:
    """The one that there is; None where there are several."""
    several = list(found)
    return several[0] if len(several) == 1 else None


def _is(known: Paths, key: Key, names: set[str]) -> bool:
    """Whether a value was made by one of these, in whatever form."""
    made = known.maker(key), known.maker_behind(key, _FORMS)
    return any(op is not None and op.name in names for op in made)
