"""Which axis is which, through the calls that a loss was computed by.

Each axis of a value is written as digits of the axes it came from, the most significant first: `view` and `reshape`
cut the same row of elements anew, and what they make of an axis follows from the sizes alone. Where an axis of a
result holds a part of one axis and parts of others it straddles; a view back makes it whole again. What a call does
to axes that is not known here begins new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

from gradscope import equations
from gradscope.analysis.memo import once
from gradscope.analysis.ops import (
    ALIASES,
    ATTENTION,
    CASTS,
    EXPONENTIALS,
    LOGARITHMS,
    RECURRENT,
    RECURRENT_CELLS,
    SCALES,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.samples import collated, drawn, handed
from gradscope.model import Graph, Op, Value
from gradscope.store import Trace

Shape = tuple[int, ...]


class Piece(NamedTuple):
    """The digit `index // low % size` of a source's index."""

    source: int
    low: int
    size: int


Axis = tuple[Piece, ...]  # the most significant piece first; empty where its size is 1


class Source(NamedTuple):
    """An axis as it came into being; or several (`parts`) that a view has cut at no common border."""

    size: int
    parts: Axis = ()
    parameter: bool = False


class Straddle(NamedTuple):
    """`axis` of a view's result has the size of `before`, an axis of its input, and is made of parts of it and of
    others. `shape`: the input's, with axes that had been merged whole on their own."""

    op: Op
    shape: Shape
    taken: int  # which axis of `shape`
    given: int  # which of the result
    before: Axis
    axis: Axis


class Run(NamedTuple):
    """A layer that runs along one axis, and treats the places of another one apart from each other."""

    op: Op
    along: Axis
    apart: Axis


RESHAPES = {"view", "reshape", "view_as", "reshape_as"}  # whose sizes the program gives
VIEWS = RESHAPES | {"flatten", "unflatten", "ravel", "squeeze", "unsqueeze"}
PRODUCTS = {"matmul", "bmm", "mm"}
POINTWISE = (
    SUMS
    | SCALES
    | CASTS
    | ALIASES
    | EXPONENTIALS
    | (LOGARITHMS - {"xlogy"})
    | {
        "pow", "square", "sqrt", "rsqrt", "abs", "neg", "reciprocal", "clamp",
        "clip", "clamp_min", "clamp_max", "where", "masked_fill", "maximum", "minimum", "lerp", "addcmul", "sign",
        "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish", "hardtanh", "hardswish",
        "hardsigmoid", "softplus", "softsign", "tanh", "sigmoid", "log_sigmoid", "prelu", "rrelu", "threshold",
        "tanhshrink", "softmax", "log_softmax", "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout",
        "feature_alpha_dropout", "layer_norm", "batch_norm", "group_norm", "instance_norm", "rms_norm", "normalize",
        "contiguous", "clone", "sin", "cos", "erf", "cumsum", "requires_grad_", "ones_like", "zeros_like",
        "rand_like", "randn_like", "float", "double", "__and__", "__or__", "__invert__",
        "logical_and", "logical_or", "logical_not", "eq", "ne", "lt", "gt", "le", "ge", "__eq__",
        "masked_fill_", "nan_to_num", "identity", "alias",
    }
)  # fmt: skip
REDUCING = {
    "sum", "mean", "amax", "amin", "max", "min", "prod", "std", "var", "logsumexp", "argmax", "argmin", "median", "any",
    "all", "norm", "nanmean",
}  # fmt: skip


class Pieces:
    """Rows of elements, cut anew."""

    def __init__(self) -> None:
        self.sources: list[Source] = []

    def new(self, size: int, parameter: bool = False, parts: Axis = ()) -> Axis:
        if size == 1:
            return ()
        self.sources.append(Source(size, parts, parameter))
        return (Piece(len(self.sources) - 1, 1, size),)

    def joined(self, pieces: Iterable[Piece]) -> list[Piece]:
        """The same row of elements in as few pieces as it can be told."""
        found: list[Piece] = []
        todo = list(pieces)[::-1]
        while todo:
            piece = todo.pop()
            if found and found[-1].source == piece.source and found[-1].low == piece.low * piece.size:
                piece = Piece(piece.source, piece.low, found.pop().size * piece.size)
            source = self.sources[piece.source]
            if source.parts and piece.size == source.size:
                todo.extend(source.parts[::-1])
            else:
                found.append(piece)
        return found

    def cut(self, pieces: Iterable[Piece], sizes: Shape) -> tuple[Axis, ...]:
        """A row of elements as axes of these sizes."""
        found: list[Axis] = []
        rest = list(pieces)[::-1]
        place = 0
        while place < len(sizes):
            group, count = _group(rest, sizes[place:])
            wanted = sizes[place : place + count]
            found += _split(group, wanted) or self._block(group, wanted)
            place += count
        return tuple(found)

    def _block(self, pieces: list[Piece], sizes: Shape) -> list[Axis]:
        block = self.new(prod(sizes), parts=tuple(pieces))[0].source
        lows = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
        return [(Piece(block, low, n),) if n > 1 else () for low, n in zip(lows, sizes, strict=True)]


class Axes(Pieces):
    """The axes of everything that backward passes of a run depend on (see `axes`)."""

    def __init__(self, known: Paths):
        super().__init__()
        self.known = known
        self.straddles: dict[Axis, Straddle] = {}
        self.runs: list[Run] = []  # of recurrent layers and attention
        self.merged: dict[Axis, Op] = {}  # several axes as one → the first view that made it so
        self.samples: dict[int, Op] = {}  # sources in a random order → the call that took their places so
        self.batches: dict[
            int, Op
        ] = {}  # sources that a convolution took for its samples → the first to do so
        self.handed: dict[Axis, Op] = {}  # first axes of batches that a loader's worker has put together
        self._of: dict[Key, tuple[Axis, ...]] = {}
        used: dict[int, set[int]] = {}
        for id, value in known.used.order:
            used.setdefault(id, set()).add(value)
        self.ops: list[Op] = []
        for id in sorted(used):
            graph = known.graph(id)
            for op in graph.ops:
                made = [
                    v for v in dict.fromkeys((*op.outputs, *op.written)) if graph.values[v].op == op.index
                ]
                if not used[id].isdisjoint(made):
                    self.ops.append(op)
                    self._follow(graph, op, made)

    # -- questions -------------------------------------------------------------------

    def of(self, key: Key) -> tuple[Axis, ...]:
        """The axes of a value, as many as it has dimensions."""
        found = self._of.get(key)
        if found is None:
            value = self.known.value(key)
            origin = self.known.made(key) if value.op is None and value.parameter is None else key
            found = self._of.get(origin) if origin != key else None
            if found is None or not _fits(found, value.shape):
                found = self._fresh(value)
            self._of[key] = found
        return found

    def whole(self, axis: Axis) -> bool:
        """Whether it is made of whole axes that no view has cut."""
        return all(p.size == self.sources[p.source].size and not self.sources[p.source].parts for p in axis)

    def given(self, axis: Axis) -> bool:
        """Whether a parameter brought it along."""
        return any(self.sources[p.source].parameter for p in axis)

    def rank(self, axis: Axis) -> int:
        """Of axes that a call lays side by side its result keeps the one that comes first by this."""
        return int(self.given(axis))

    def drawn(self, axis: Axis) -> Op | None:
        """The call that took the places of this axis in a random order: they are samples, and have no neighbours."""
        return self.samples.get(axis[0].source) if len(axis) == 1 and self.whole(axis) else None

    def folded(self, axis: Axis) -> tuple[int, Op] | None:
        """Where samples were merged with another axis into this one: how many, and the call that tells they are."""
        for piece in axis if len(axis) > 1 and self.whole(axis) else ():
            op = self.samples.get(piece.source) or self.batches.get(piece.source)
            if op is not None:
                return piece.size, op
        return None

    def shuffled(self, size: int, op: Op) -> Axis:
        """A new axis, whose places `op` has taken in a random order."""
        found = self.new(size)
        if found:
            self.samples[found[0].source] = op
        return found

    def part(self, axis: Axis, size: int) -> Axis:
        """Some of an axis' places."""
        op = self.drawn(axis)
        return self.new(size) if op is None else self.shuffled(size, op)

    def _fresh(self, value: Value) -> tuple[Axis, ...]:
        return tuple(self.new(size, value.kind == "parameter") for size in value.shape)

    # -- calls -----------------------------------------------------------------------

    def _follow(self, graph: Graph, op: Op, made: list[int]) -> None:
        inputs = [(graph.values[i], self.of((graph.id, i))) for i in op.inputs]
        before = dict(zip(op.written, op.writes, strict=False))
        for place, index in enumerate(made):
            value = graph.values[index]
            found = None
            if not all(n > 0 for n in value.shape):
                pass
            elif index in before:
                found = self.of((graph.id, before[index]))
            elif inputs:
                found = self._result(op, inputs, value, place)
            if found is None or not _fits(found, value.shape):
                found = self._fresh(value)
                if found and handed(self.known.trace, op):
                    self.handed[found[0]] = op
            self._of[graph.id, index] = found

    def _result(
        self, op: Op, inputs: list[tuple[Value, tuple[Axis, ...]]], value: Value, place: int
    ) -> tuple[Axis, ...] | None:
        first, axes = inputs[0]
        shape = value.shape
        if op.name in VIEWS:
            return self._viewed(op, first, axes, shape)
        if op.name in POINTWISE:
            return self._broadcast([own for _, own in inputs], shape)
        if op.name in REDUCING:
            return _reduced(axes, op, len(shape))
        if op.name in RECURRENT:
            return self._recurrent(op, first, axes, shape, place)
        if op.name in PRODUCTS and len(inputs) == 2:
            return self._product(axes, inputs[1][1], shape)
        handler = _CALLS.get(op.name)
        return handler(self, op, [own for _, own in inputs], shape) if handler is not None else None

    def _viewed(self, op: Op, first: Value, axes: tuple[Axis, ...], shape: Shape) -> tuple[Axis, ...] | None:
        if prod(first.shape) != prod(shape):
            return None
        found = self.cut(self.joined(p for axis in axes for p in axis), shape)
        for axis in found:
            if len(axis) > 1:
                self.merged.setdefault(axis, op)
        if op.name in RESHAPES and first.shape != shape:
            before = [own for axis in axes for own in self._apart(axis)]
            sizes = tuple(size_of(axis) for axis in before)
            for taken, given in straddling(sizes, shape):
                axis = found[given]
                if len(self.sources_of(axis)) > 1 and axis not in axes:
                    self.straddles.setdefault(axis, Straddle(op, sizes, taken, given, before[taken], axis))
        return found

    def _apart(self, axis: Axis) -> list[Axis]:
        """The axes that were merged into this one, where they are whole."""
        return [(piece,) for piece in axis] if len(axis) > 1 and self.whole(axis) else [axis]

    def sources_of(self, axis: Axis) -> set[int]:
        """The axes that it was made of, also through views that cut them at no common border."""
        found: dict[int, None] = dict.fromkeys(piece.source for piece in axis)
        todo = list(found)
        for number in todo:  # grows while it is walked
            more = [p.source for p in self.sources[number].parts if p.source not in found]
            found.update(dict.fromkeys(more))
            todo.extend(more)
        return {number for number in found if not self.sources[number].parts}

    def _broadcast(self, inputs: Sequence[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...]:
        found = []
        for back, size in enumerate(shape[::-1], 1):
            own = [axes[-back] for axes in inputs if len(axes) >= back and size_of(axes[-back]) == size]
            own.sort(key=self.rank)
            found.append(own[0] if own else self.new(size))
        return tuple(found[::-1])

    def _recurrent(
        self, op: Op, first: Value, axes: tuple[Axis, ...], shape: Shape, place: int
    ) -> tuple[Axis, ...] | None:
        if "batch_first" not in op.extra or len(axes) != 3 or len(shape) != 3:
            return None
        along, batch = axes[:2] if not op.extra["batch_first"] else axes[1::-1]
        if place == 0:
            self.runs.append(Run(op, along, batch))
            return (*axes[:2], self.new(shape[2]))
        return (self.new(shape[0]), batch, self.new(shape[2]))

    def _product(self, a: tuple[Axis, ...], b: tuple[Axis, ...], shape: Shape) -> tuple[Axis, ...] | None:
        if len(a) < 2 or len(b) < 2:
            return None
        return (*self._broadcast([a[:-2], b[:-2]], shape[:-2]), a[-2], b[-1])


Call = Callable[[Axes, Op, list[tuple[Axis, ...]], Shape], tuple[Axis, ...] | None]


def _kept(count: Callable[[tuple[Axis, ...]], int]) -> Call:
    """A call that keeps so many of its first input's axes and makes the others anew."""

    def follow(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
        kept = inputs[0][: count(inputs[0])]
        if len(shape) < len(kept):
            return None
        return (*kept, *(axes.new(size) for size in shape[len(kept) :]))

    return follow


def _dims(op: Op, rank: int) -> list[int]:
    dims = op.extra.get("dims", [])
    return [d % rank for d in dims if -rank <= d < rank]


def _transposed(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    own = list(inputs[0])
    two = _dims(op, len(own)) if op.name in ("transpose", "swapaxes", "swapdims") else [-2, -1]
    if len(own) < 2 or len(two) != 2:
        return None
    own[two[0]], own[two[1]] = own[two[1]], own[two[0]]
    return tuple(own)


def _permuted(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    dims = _dims(op, len(inputs[0]))
    return tuple(inputs[0][d] for d in dims) if sorted(dims) == list(range(len(inputs[0]))) else None


def _moved(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    dims = _dims(op, len(inputs[0]))
    if len(dims) != 2:
        return None
    own = list(inputs[0])
    own.insert(dims[1], own.pop(dims[0]))
    return tuple(own)


def _indexed(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    entries = op.extra.get("at", "t")
    if entries[0] == "t" and set(entries[1:]) <= {":", "i"} and len(entries) <= len(inputs[0]):
        rows = _rows(axes, op, inputs)
        kept = [own for entry, own in zip(entries, inputs[0], strict=False) if entry == ":"]
        return (rows, *kept, *inputs[0][len(entries) :]) if rows is not None else None
    if "t" in entries or entries.count(".") > 1:
        return None
    taken = len(entries) - entries.count("n") - entries.count(".")
    missing = len(inputs[0]) - taken
    if missing < 0:
        return None
    entries = entries.replace(".", ":" * missing) if "." in entries else entries + ":" * missing
    found: list[Axis | None] = []
    own = iter(inputs[0])
    for entry in entries:
        axis = () if entry == "n" else next(own)
        if entry != "i":
            found.append(axis)
    if len(found) != len(shape):
        return None
    return tuple(
        a if size_of(a) == n else axes.part(a, n) for a, n in zip(found, shape, strict=True) if a is not None
    )


def _rows(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]]) -> Axis | None:
    """The samples that a row of numbers takes out of a table, where their order means nothing."""
    if drawn(axes.known, op):
        return axes.shuffled(axes.known.graph(op.graph).values[op.inputs[1]].shape[0], op)
    rows = inputs[1][0] if [len(own) for own in inputs[1:]] == [1] else ()
    return rows if rows and axes.drawn(rows) is not None else None


def _without(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    """`select` and `unbind`: the axes but one."""
    dim = (_dims(op, len(inputs[0])) or [0])[0]
    return inputs[0][:dim] + inputs[0][dim + 1 :]


def _resized(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    """Calls that leave the order of the axes and change the size of some."""
    if len(inputs[0]) != len(shape):
        return None
    return tuple(a if size_of(a) == n else axes.part(a, n) for a, n in zip(inputs[0], shape, strict=True))


def _selected(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    dims = _dims(op, len(shape))
    if len(dims) != 1 or len(inputs[0]) != len(shape) or not drawn(axes.known, op):
        return _resized(axes, op, inputs, shape)
    return tuple(axes.shuffled(n, op) if i == dims[0] else inputs[0][i] for i, n in enumerate(shape))


def _joined(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    dims = _dims(op, len(shape)) or [0]
    if op.name == "stack":
        own = list(inputs[0])
        size = shape[dims[0]]
        own.insert(dims[0], axes.shuffled(size, op) if collated(axes.known.trace, op) else axes.new(size))
        return tuple(own)
    return tuple(
        axes.new(n) if i == dims[0] else a for i, (a, n) in enumerate(zip(inputs[0], shape, strict=False))
    )


def _repeated(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    own = ((),) * (len(shape) - len(inputs[0])) + inputs[0]
    if len(own) != len(shape):
        return None
    found = []
    for axis, size in zip(own, shape, strict=True):
        times, rest = divmod(size, size_of(axis))
        if rest:
            return None
        more = axes.new(times)
        found.append(axis + more if op.name == "repeat_interleave" else more + axis)
    return tuple(found)


def _expanded(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    return axes._broadcast(inputs[:1], shape)


def _attended(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    """Attention: the queries' axes; `multi_head_attention_forward` also gives the weights."""
    if len(shape) != len(inputs[0]) or any(
        size_of(a) != n for a, n in zip(inputs[0][:-1], shape, strict=False)
    ):
        return None
    if op.name == "multi_head_attention_forward" and len(shape) == 3:
        axes.runs.append(Run(op, inputs[0][0], inputs[0][1]))
    elif op.name == "scaled_dot_product_attention" and len(shape) > 2:
        axes.runs.append(Run(op, inputs[0][-2], inputs[0][0]))
    return (*inputs[0][:-1], axes.new(shape[-1]))


def _by_letters(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    """`einsum`: an axis for each letter."""
    equation = equations.of(op)
    if equation is None or len(equation.operands) != len(inputs) or len(equation.result) != len(shape):
        return None
    named: dict[str, Axis] = {}
    for place, own in enumerate(inputs):
        for letter, at in equation.axes(place, len(own)).items():
            axis = own[at]
            if axis and (not named.get(letter) or axes.rank(axis) < axes.rank(named[letter])):
                named[letter] = axis
    return tuple(named.get(letter, ()) for letter in equation.result)


def _convolved(axes: Axes, op: Op, inputs: list[tuple[Axis, ...]], shape: Shape) -> tuple[Axis, ...] | None:
    """A convolution: its samples, and its places too where its kernel is a single one."""
    batched = len(inputs) > 1 and len(inputs[1]) == len(inputs[0]) == len(shape)
    first = inputs[0][0] if batched else ()
    if len(first) == 1 and axes.whole(first):
        axes.batches.setdefault(first[0].source, op)
    single = batched and not any(inputs[1][2:])
    if single and tuple(map(size_of, inputs[0][2:])) == shape[2:]:
        return (inputs[0][0], axes.new(shape[1]), *inputs[0][2:])
    return _BATCH(axes, op, inputs, shape)


_BATCH = _kept(lambda own: 1 if len(own) > 2 else 0)
_CALLS: dict[str, Call] = {
    **dict.fromkeys(("transpose", "swapaxes", "swapdims", "t", "T", "mT"), _transposed),
    "permute": _permuted,
    **dict.fromkeys(("movedim", "moveaxis"), _moved),
    "__getitem__": _indexed,
    **dict.fromkeys(("select", "unbind"), _without),
    **dict.fromkeys(("narrow", "split", "chunk", "pad", "gather"), _resized),
    "index_select": _selected,
    **dict.fromkeys(("cat", "concat", "concatenate", "stack"), _joined),
    **dict.fromkeys(("repeat", "tile", "repeat_interleave"), _repeated),
    **dict.fromkeys(("expand", "expand_as", "broadcast_to"), _expanded),
    **dict.fromkeys(ATTENTION, _attended),
    "einsum": _by_letters,
    "linear": _kept(lambda own: len(own) - 1),
    "embedding": _kept(len),
    **dict.fromkeys(RECURRENT_CELLS, _kept(lambda own: 1)),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _convolved),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _BATCH),
    **dict.fromkeys(
        (
            "max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d",
            "boolean_dispatch", "interpolate",
        ),
        _BATCH,
    ),
}  # fmt: skip


def size_of(axis: Axis) -> int:
    """How many places it has."""
    return axis[0].size if len(axis) == 1 else prod(piece.size for piece in axis)


def place_of(number: int, shape: Shape) -> Shape:
    """The indices of the element that lies at `number` in the order of memory."""
    found: list[int] = []
    for size in shape[::-1]:
        number, rest = divmod(number, size)
        found.append(rest)
    return tuple(found[::-1])


@lru_cache(maxsize=4096)
def straddling(before: Shape, after: Shape) -> tuple[tuple[int, int], ...]:
    """(axis of the one, axis of the other) of the same size, where a row of elements of the one shape is cut
    into the other and the second axis holds a part of the first together with parts of others."""
    alone = Pieces()
    atoms = [alone.new(size) for size in before]
    found = []
    for given, axis in enumerate(alone.cut([p for atom in atoms for p in atom], after)):
        for taken, atom in enumerate(atoms):
            if atom and size_of(axis) == size_of(atom) and axis != atom:
                pieces = alone.sources[axis[0].source].parts or axis
                if any(p.source == atom[0].source for p in pieces) and atom[0] not in axis:
                    found.append((taken, given))
    return tuple(found)


def rows_in(before: Shape, after: Shape, taken: int, given: int, row: int) -> list[int]:
    """The places along axis `taken` of the one shape that lie in place `row` of axis `given` of the other."""
    low, high = prod(after[given + 1 :]), prod(before[taken + 1 :])
    found: dict[int, None] = {}
    period = after[given] * low
    for start in range(row * low, prod(before), period):
        for place in range(start // high, (start + low - 1) // high + 1):
            found[place % before[taken]] = None
            if len(found) == before[taken]:
                return sorted(found)
    return sorted(found)


def _fits(axes: tuple[Axis, ...], shape: Shape) -> bool:
    return len(axes) == len(shape) and all(size_of(a) == n for a, n in zip(axes, shape, strict=True))


def _reduced(axes: tuple[Axis, ...], op: Op, rank: int) -> tuple[Axis, ...] | None:
    dims = _dims(op, len(axes)) if axes else []
    if not dims:
        return None
    if rank == len(axes):
        return tuple(() if i in dims else a for i, a in enumerate(axes))
    return tuple(a for i, a in enumerate(axes) if i not in dims)


def _group(rest: list[Piece], sizes: Shape) -> tuple[list[Piece], int]:
    """The fewest pieces (taken from `rest`, whose last is the most significant) and sizes that span the same."""
    group: list[Piece] = []
    count, wanted, have = 1, sizes[0], 1
    while wanted != have:
        if have < wanted:
            if not rest:
                break
            piece = rest.pop()
            if wanted % have == 0 and piece.size > wanted // have and piece.size % (wanted // have) == 0:
                most = wanted // have
                group.append(Piece(piece.source, piece.low * (piece.size // most), most))
                rest.append(Piece(piece.source, piece.low, piece.size // most))
                have = wanted
                break
            group.append(piece)
            have *= piece.size
        elif count < len(sizes):
            wanted *= sizes[count]
            count += 1
        else:
            break
    return group, count


def _split(pieces: list[Piece], sizes: Shape) -> list[Axis]:
    """The pieces as axes of these sizes; empty where a border would fall into the middle of a digit."""
    found: list[Axis] = []
    rest = pieces[::-1]
    for size in sizes:
        axis: list[Piece] = []
        while size > 1:
            if not rest:
                return []
            piece = rest.pop()
            if size % piece.size == 0:
                size //= piece.size
            elif piece.size % size == 0:
                low = piece.low * (piece.size // size)
                rest.append(Piece(piece.source, piece.low, piece.size // size))
                piece, size = Piece(piece.source, low, size), 1
            else:
                return []
            axis.append(piece)
        found.append(tuple(axis))
    return found


@once
def axes(trace: Trace) -> Axes:
    """The axes of everything that backward passes depend on, found once."""
    return Axes(paths(trace))


def time_axis(op: Op) -> int:
    """The axis that a recurrent layer runs along."""
    return int(bool(op.extra.get("batch_first")))


def places_of(op: Op, shape: Shape) -> int:
    """How many places a recurrent layer that is given this goes through; 0 where that is packed, or a single place."""
    return shape[time_axis(op)] if len(shape) == 3 else 0
