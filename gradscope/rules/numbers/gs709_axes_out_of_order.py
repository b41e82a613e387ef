"""A `view` stands where axes had to be swapped: the rows that the loss compares hold other samples.

Why: `view` and `reshape` leave the elements in the order in which they lie in memory and only cut them anew. Where an
axis comes to another place that way, each of its rows is made of parts of several rows: predictions no longer belong
to their targets, and the network learns their average.

Fix: swap the axes first, `x.transpose(0, 1).reshape(…)`, or `permute`.

Silent on: axes that are merged or split whole, views that another view undoes, heads and windows that are
transposed, targets that were cut in the same way.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from gradscope.analysis.axes import (
    POINTWISE,
    RESHAPES,
    VIEWS,
    Axes,
    Axis,
    Pieces,
    Straddle,
    axes,
    place_of,
    rows_in,
)
from gradscope.analysis.names import names_of, place
from gradscope.analysis.ops import ADDITIONS, FILLED, JOINING, LIKE, LOSSES, MULTIPLICATIONS, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.unread import module_name
from gradscope.analysis.words import code, listed, located, plural
from gradscope.fixes.calls import renamed
from gradscope.model import Edit, Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

SWAPS = {"transpose", "permute", "movedim", "swapaxes", "swapdims", "moveaxis", "t"}
CONSTANTS = LIKE | FILLED | {"empty", "fill_", "zero_"}


class Pair(NamedTuple):
    """Two axes that a call lays side by side, element by element."""

    op: Op
    one: Axis
    other: Axis
    target: bool = False  # the other is that of a loss's target


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, bidirectional=True, batch_first=True), nn.Linear(8, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        hidden = rnn(torch.randn(6, 5, 3))[1]  # (2, 6, 4), also with batch_first
        scores = head(hidden.view(6, 8))  # cause: GS709
        loss = nn.functional.cross_entropy(scores, torch.randint(0, 2, (6,)))  # effect: GS709
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, bidirectional=True, batch_first=True), nn.Linear(8, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        hidden = rnn(torch.randn(6, 5, 3))[1]
        scores = head(hidden.transpose(0, 1).reshape(6, 8))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (6,))).backward()
        opt.step()


@rule("GS709", name="axes-out-of-order", severity="warning", over=("GS759", "GS779"))
def axes_out_of_order(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(VIEWS):
        return
    known, found = paths(trace), axes(trace)
    told: dict[tuple[str, int], tuple[Straddle, Pair, list[Pair]]] = {}
    turned: dict[tuple[str, int], list[Pair]] = {}
    for pair in _pairs(known, found):
        for axis, beside in ((pair.one, pair.other), (pair.other, pair.one)):
            straddle = found.straddles.get(axis)
            if straddle is not None and _mistaken(found, pair, straddle, beside):
                told.setdefault(straddle.op.site.user.location(), (straddle, pair, []))[2].append(pair)
        if pair.target and _reordered(found, pair):
            turned.setdefault(pair.op.site.user.location(), []).append(pair)
    for straddle, pair, pairs in told.values():
        alike = _cut_alike(known, found, straddle, set(told))
        yield _of_some(
            trace, known, found, straddle, _finding(trace, known, found, straddle, pair, len(pairs), alike)
        )
    for pairs in turned.values():
        yield _flattened(trace, known, found, pairs)
    for straddle in found.straddles.values():
        place = straddle.op.site.user.location()
        layer = _mixes_samples(known, found, straddle) if place not in told else None
        if layer is not None:
            told[place] = (straddle, Pair(layer, straddle.axis, straddle.before), [])
            yield _of_samples(trace, known, found, straddle, layer)


def _of_some(trace: Trace, known: Paths, found: Axes, straddle: Straddle, told: Finding) -> Finding:
    """A note, without the repair, where other calls of the same line cut nothing apart: an option may have swapped the
    axes of these before."""
    graph = known.graph(straddle.op.graph)
    right = _right_beside(known, found, straddle.op)
    swap = graph.maker_behind(straddle.op.inputs[0], {"contiguous", "clone"})
    if not right or swap is None or swap.name not in SWAPS:
        return told
    where = located(trace, swap.site.user)
    return replace(
        told,
        severity="note",
        seen=(
            *told.seen,
            f"{plural(len(right), 'other call')} of the line cut nothing apart: these axes come from {where}",
        ),
        fix=f"if that order is not meant, leave {where} out",
        edits=(),
    )


def _right_beside(known: Paths, found: Axes, op: Op) -> list[Op]:
    """The calls of the same line, for other layers as it may be, that cut nothing apart: a change of the line is one of
    theirs too."""
    cut = {other.op.index for other in found.straddles.values() if other.op.graph == op.graph}
    return _besides(known, op, cut)


def _besides(known: Paths, op: Op, wrong: set[int]) -> list[Op]:
    """The other calls of an op's line in its graph, but for those."""
    calls = known.graph(op.graph).called({op.name})
    return [one for one in calls if one.site.user.span() == op.site.user.span() and one.index not in wrong]


def _before_the_line(trace: Trace, known: Paths, op: Op, right: list[Op], swap: str) -> str:
    """What to do about a call whose line serves others, too, that are right."""
    maker, here = known.graph(op.graph).maker(op.inputs[0]), located(trace, op.site.user, f"`{op.name}`")
    mine = _layers(trace, _besides(known, op, {one.index for one in right}))
    others = [layer for layer in _layers(trace, right) if layer not in mine]
    source = f"what {located(trace, maker.site.user)} makes" if maker is not None else "its input"
    return (
        f"{swap} behind {source}{f', for {listed(mine)}' if mine else ''}, and leave {here} as it is: "
        f"{listed(others) or plural(len(right), 'other call')} {'come' if len(right) > 1 else 'comes'} through it too,"
        " in the right order"
    )


def _layers(trace: Trace, ops: list[Op]) -> list[str]:
    """The modules that ops are of."""
    return list(dict.fromkeys(module_name(trace, op.module) for op in ops if op.module is not None))


def _mistaken(found: Axes, pair: Pair, straddle: Straddle, beside: Axis) -> bool:
    """Whether the axis beside the straddling one is in the order that was there before."""
    if beside == straddle.before:
        return True
    return pair.target and beside is pair.other and found.whole(beside) and not found.given(beside)


def _reordered(found: Axes, pair: Pair) -> bool:
    """Whether both are the same axes merged whole, in another order."""
    one, other = pair.one, pair.other
    if one not in found.merged or other not in found.merged or found.given(one) or found.given(other):
        return False
    sizes = [[p.size for p in axis] for axis in (one, other)]
    turned = sizes[0] != sizes[1] or (one != other and sorted(one) == sorted(other))
    return turned and sorted(sizes[0]) == sorted(sizes[1]) and found.whole(one) and found.whole(other)


def _pairs(known: Paths, found: Axes) -> Iterator[Pair]:
    for op in found.ops:
        if len(op.inputs) < 2:
            continue
        keys = [(op.graph, value) for value in op.inputs[:2]]
        one, other = found.of(keys[0]), found.of(keys[1])
        if op.name in LOSSES:
            if not _constant(known, keys[1]):
                yield from (Pair(op, a, b, True) for a, b in _beside(op, one, other))
        elif op.name in ADDITIONS | SUBTRACTIONS | MULTIPLICATIONS | JOINING:
            # Of scores of places by the same places it cannot be told which is meant.
            beside = zip(one[::-1], other[::-1], strict=False)
            yield from (Pair(op, a, b) for a, b in beside if one.count(a) == other.count(b) == 1)


def _beside(op: Op, one: tuple[Axis, ...], other: tuple[Axis, ...]) -> Iterator[tuple[Axis, Axis]]:
    """The axes that a loss compares; of class scores those around the classes."""
    if len(one) == len(other):
        yield from zip(one, other, strict=True)
    elif op.name in ("cross_entropy", "nll_loss") and len(one) == len(other) + 1 and len(one) > 1:
        yield one[0], other[0]
        yield from zip(one[2:], other[1:], strict=True)


def _constant(known: Paths, key: Key) -> bool:
    """Whether a target is the same everywhere, as a discriminator's."""
    maker = known.maker(key)
    return maker is not None and maker.name in CONSTANTS


def _cut_alike(known: Paths, found: Axes, straddle: Straddle, told: set[tuple[str, int]]) -> list[Straddle]:
    """The calls of the same function that cut their elements in just the same way, one for each line: what is wrong
    of one is wrong of them, also where they are only multiplied by each other."""
    others: dict[tuple[str, int], Straddle] = {}
    for other in found.straddles.values():
        place = other.op.site.user.location()
        if place not in told and _cut(known, other) == _cut(known, straddle):
            others.setdefault(place, other)
    return [others[place] for place in sorted(others)]


def _cut(known: Paths, straddle: Straddle) -> tuple[object, ...]:
    """Where and how a call cuts its elements anew."""
    op, site = straddle.op, straddle.op.site.user
    values = known.graph(op.graph).values
    shapes = values[op.inputs[0]].shape, values[op.outputs[0]].shape
    return site.path, site.function, op.name, straddle.shape, shapes, straddle.taken, straddle.given


def _finding(
    trace: Trace, known: Paths, found: Axes, straddle: Straddle, pair: Pair, count: int, alike: list[Straddle]
) -> Finding:
    op, before = straddle.op, straddle.shape
    graph = known.graph(op.graph)
    taken, after = graph.values[op.inputs[0]].shape, graph.values[op.outputs[0]].shape
    size = after[straddle.given]
    rows = rows_in(before, after, straddle.taken, straddle.given, 1)
    held = (
        " and ".join(map(str, rows))
        if len(rows) < 4
        else f"{', '.join(map(str, rows[:3]))} and {len(rows) - 3} more"
    )
    fixes = [
        _fix(trace, known, one, taken == before, after, _right_beside(known, found, one.op))
        for one in (straddle, *alike)
    ]
    same = listed([located(trace, one.op.site.user, f"`{one.op.name}`") for one in alike])
    fix = f"{fixes[0][0]}; the same in {same}" if alike else fixes[0][0]
    edits = tuple(edit for _, edits in fixes for edit in edits) if all(edits for _, edits in fixes) else ()
    name = names_of(trace).name(graph, op.inputs[0])
    what = f"`{name}`" if name else "its input"
    was = str(before) if taken == before else f"{taken}, which is {before} flattened,"
    beside = "target 1" if pair.target else "row 1 of what was there before"
    return Finding(
        message=f"{code(trace, op.site.user, f'`{op.name}`')} mixes the {size} rows of {what}: it swaps no axes, but "
        "cuts the elements anew in the order of memory",
        cause=op.site.user,
        cause_label=f"{before} becomes {after}",
        effect=pair.op.site.user,
        effect_label=f"row 1 meets {beside}",
        related=tuple((one.op.site.user, "cuts in the same way") for one in alike),
        seen=(
            f"{was} was cut into {after}: of the {size} rows along axis {straddle.taken}, row 1 along the new "
            f"axis {straddle.given} holds parts of {held}, and `{pair.op.name}` ({place(pair.op.site.user)}) pairs it "
            f"with {beside}",
        ),
        fix=fix,
        edits=edits,
        count=count,
        subjects=frozenset(("view", *one.op.site.user.location()) for one in (straddle, *alike)),
    )


def _flattened(trace: Trace, known: Paths, found: Axes, pairs: list[Pair]) -> Finding:
    """Predictions and targets that were flattened in different orders."""
    op = pairs[0].op
    makers = [found.merged[axis] for axis in (pairs[0].one, pairs[0].other)]
    texts = [code(trace, maker.site.user, f"`{maker.name}`") for maker in makers]
    orders = [tuple(p.size for p in axis) for axis in (pairs[0].one, pairs[0].other)]
    number = orders[0][-1]  # the first place that belongs to the second row of the prediction
    meets = [place_of(number, order) for order in orders]
    turned = {
        found.merged[pair.one].index for pair in pairs if found.merged[pair.one].graph == makers[0].graph
    }
    right = _besides(known, makers[0], turned)
    fix, edits = _swap(trace, known, found, pairs[0].one, makers[0], orders, right)
    return Finding(
        message=f"{texts[0]} and {texts[1]} put the same axes into one in different orders, and `{op.name}` pairs them",
        cause=makers[0].site.user,
        cause_label=f"in the order {orders[0]}",
        effect=op.site.user,
        effect_label=f"the targets are in the order {orders[1]}",
        seen=(
            f"predictions were flattened from {orders[0]}, targets from {orders[1]}: place {number} is "
            f"{meets[0]} of the one and {meets[1]} of the other",
        ),
        fix=fix,
        edits=edits,
        count=len(pairs),
    )


def _mixes_samples(known: Paths, found: Axes, straddle: Straddle) -> Op | None:
    """The layer whose features are parts of several samples: those of a recurrent layer's batch, which lay along one
    axis before the view and lie along another one of the same size after it, cut."""
    run = next((run for run in found.runs if run.apart == straddle.before and straddle.before), None)
    graph = known.graph(straddle.op.graph)
    if run is None or not found.whole(run.apart):
        return None
    for value, op in graph.readers_behind(straddle.op.outputs, lambda op: op.name in POINTWISE):
        if op.name == "linear" and op.inputs[0] == value:
            own = found.of((graph.id, value))
            mixed = {source for piece in own[-1:] for source in found.sources_of(piece)}
            return op if mixed & found.sources_of(run.apart) else None
    return None


def _of_samples(trace: Trace, known: Paths, found: Axes, straddle: Straddle, layer: Op) -> Finding:
    """A view of states that puts parts of several samples into one row of features."""
    pair = Pair(layer, straddle.axis, straddle.before)
    told = _finding(trace, known, found, straddle, pair, 1, [])
    size, shape = straddle.shape[straddle.taken], straddle.shape
    rows = rows_in(shape, known.graph(straddle.op.graph).values[straddle.op.outputs[0]].shape, straddle.taken,
                   straddle.given, 1)  # fmt: skip
    held = " and ".join(map(str, rows)) if len(rows) < 4 else f"{rows[0]} to {rows[-1]}"
    back = _back(known, straddle, layer)
    fix, edits = told.fix, told.edits
    if back is not None and straddle.taken == 1 and len(shape) == 3:
        sizes = f"-1, {shape[0]}, {shape[2]}"
        fix += (
            f"; and back: `.reshape({sizes}).transpose(0, 1).contiguous()` in place of the `{back.name}` in "
            f"{located(trace, back.site.user)}"
        )
        edits = ()
    run = next(run for run in found.runs if run.apart == straddle.before)
    return replace(
        told,
        effect_label=f"row 1 of its input holds parts of samples {held}",
        seen=(
            f"`{run.op.name}` ({place(run.op.site.user)}) has its {size} samples along axis {straddle.taken} of "
            f"{shape}; of the rows that `{layer.name}` takes, row 1 holds parts of samples {held}",
        ),
        fix=fix,
        edits=edits,
    )


def _back(known: Paths, straddle: Straddle, layer: Op) -> Op | None:
    """The view behind the layer that gives the old shape again."""
    graph = known.graph(layer.graph)
    for _, op in graph.readers_behind(layer.outputs, lambda op: op.name in POINTWISE | {"linear"}):
        if op.name in RESHAPES and graph.values[op.outputs[0]].shape == straddle.shape:
            return op
    return None


def _swap(
    trace: Trace,
    known: Paths,
    found: Axes,
    axis: Axis,
    maker: Op,
    orders: list[tuple[int, ...]],
    right: list[Op],
) -> tuple[str, tuple[Edit, ...]]:
    """The prediction's two axes swapped before they are merged."""
    own = found.of((maker.graph, maker.inputs[0]))
    pieces = [(piece,) for piece in axis]
    here = located(trace, maker.site.user, f"`{maker.name}`")
    if len(pieces) == 2 and all(piece in own for piece in pieces):
        a, b = (own.index(piece) for piece in pieces)
        if right:
            swap = f"swap the axes by `.transpose({a}, {b}).contiguous()`"
            return _before_the_line(trace, known, maker, right, swap), ()
        edits = renamed(trace, maker.site.user, maker.name, f"transpose({a}, {b}).{_copying(maker.name)}")
        return f"swap them in one of both: `.transpose({a}, {b}).{_copying(maker.name)}(…)` in {here}", edits
    return f"bring the axes of {here} into the order {orders[1]} first", ()


def _copying(name: str) -> str:
    """A call that takes what lies in no order of memory."""
    return "reshape" if name == "view" else name


def _fix(
    trace: Trace, known: Paths, straddle: Straddle, plain: bool, after: tuple[int, ...], right: list[Op]
) -> tuple[str, tuple[Edit, ...]]:
    """Two axes to be swapped before the view, or after one of other sizes. `plain`: no axes had been merged before;
    `right`: calls of the same line that must stay as they are."""
    op, before = straddle.op, straddle.shape
    here = located(trace, op.site.user, f"`{op.name}`")
    for a, b in combinations(range(len(before) if plain else 0), 2):
        if straddle.taken in (a, b) and _whole(
            _swapped(before, a, b), after, a + b - straddle.taken, straddle.given
        ):
            if right:
                swap = f"swap the axes by `.transpose({a}, {b}).contiguous()`"
                return _before_the_line(trace, known, op, right, swap), ()
            edits = renamed(trace, op.site.user, op.name, f"transpose({a}, {b}).reshape")
            return f"swap the axes first: `.transpose({a}, {b}).reshape(…)` in {here}", edits
    if right:
        return _before_the_line(trace, known, op, right, "bring the axes into their order"), ()
    for a, b in combinations(range(len(after)), 2):
        if straddle.given in (a, b) and _whole(
            before, _swapped(after, a, b), straddle.taken, a + b - straddle.given
        ):
            sizes = ", ".join(map(str, _swapped(after, a, b)))
            return (
                f"cut into ({sizes}) and swap then, `.{op.name}({sizes}).transpose({a}, {b})`, in {here}",
                (),
            )
    return f"swap the axes with `permute` before {here}", ()


def _swapped(shape: tuple[int, ...], a: int, b: int) -> tuple[int, ...]:
    own = list(shape)
    own[a], own[b] = own[b], own[a]
    return tuple(own)


def _whole(before: tuple[int, ...], after: tuple[int, ...], taken: int, given: int) -> bool:
    """Whether a view of the one shape as the other leaves an axis as it is."""
    row = Pieces()
    atoms = [row.new(size) for size in before]
    return row.cut([p for atom in atoms for p in atom], after)[given] == atoms[taken]
