"""A `view` stands where the channels had to be moved: each row of features holds places of one channel.

Why: `view` and `reshape` leave the elements in the order in which they lie in memory and only cut them anew. Of a
convolution's (batch, channels, height, width) a view as (batch, height * width, channels) has the right sizes, but its
rows are runs of places of one or two channels, and no longer the channels of one place.

Fix: move the axis first: `x.flatten(2).transpose(1, 2)`, or `x.permute(0, 2, 3, 1).reshape(…)`; on the way back
`x.transpose(1, 2).reshape(…)`.

Measured: the features that one layer made along their axis, the axis that the next layer takes for features, and
what the view put there. Silent on: other sizes (features that are grouped anew), sizes that stand there twice, views
behind a `permute` or `transpose`.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.axes import POINTWISE, RESHAPES, VIEWS, Axes, Axis, Straddle, axes
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import CLASS_LOSSES, LARGEST, RECURRENT, SOFTMAXES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, listed, located
from gradscope.fixes.calls import renamed
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

KINDS = ("conv", "conv_transpose", "max_pool", "avg_pool", "adaptive_avg_pool")
FIRST = {f"{kind}{rank}d" for kind in KINDS for rank in (1, 2, 3)}  # layers whose features lie along axis 1
LAST = {"linear", "layer_norm"}  # along the last one


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    conv, head = nn.Conv2d(3, 6, 3), nn.Linear(6, 2)
    opt = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        maps = conv(torch.randn(8, 3, 6, 6)).relu()  # (8, 6, 4, 4)
        scores = head(maps.view(8, 16, 6)).mean(1)  # cause: GS736  # effect: GS736
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (8,))).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    conv, head = nn.Conv2d(3, 6, 3), nn.Linear(6, 2)
    opt = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        maps = conv(torch.randn(8, 3, 6, 6)).relu()
        scores = head(maps.flatten(2).transpose(1, 2)).mean(1)
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (8,))).backward()
        opt.step()


@rule("GS736", name="channels-cut-apart", severity="warning", over=("GS759",))
def channels_cut_apart(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(RESHAPES):
        return
    known, found = paths(trace), axes(trace)
    told: set[tuple[str, int]] = set()
    for straddle in _cuts(known, found):
        op = straddle.op
        place = op.site.user.location()
        if place in told or not _permuted(known, found, straddle):
            continue
        layer = _made(known, found, (op.graph, op.inputs[0]), straddle.before)
        taker = _taken(known, found, op, straddle) if layer is not None else None
        if layer is not None and taker is not None:
            told.add(place)
            yield _finding(trace, known, straddle, layer, taker)


def _cuts(known: Paths, found: Axes) -> Iterator[Straddle]:
    """The views that give axis 1 or the last one the size that the other one had, and other elements."""
    for op in found.ops:
        if op.name not in RESHAPES or not op.inputs or not op.outputs:
            continue
        keys = [(op.graph, index) for index in (op.inputs[0], op.outputs[0])]
        taken, given = (known.graph(op.graph).values[index].shape for _, index in keys)
        if len(taken) < 3 or len(given) < 2 or taken == given:
            continue
        before, after = (found.of(key) for key in keys)
        for a, b in ((1, len(given) - 1), (len(taken) - 1, 1)):
            if taken[a] == given[b] and before[a] != after[b]:
                yield Straddle(op, taken, a, b, before[a], after[b])
                break


def _permuted(known: Paths, found: Axes, straddle: Straddle) -> bool:
    """Whether the sizes are those of features that were moved: each batch on its own, or all places in one row, and no
    other axis as long."""
    op = straddle.op
    graph = known.graph(op.graph)
    taken, given = graph.values[op.inputs[0]].shape, graph.values[op.outputs[0]].shape
    size = given[straddle.given]
    before, after = (found.of((op.graph, index)) for index in (op.inputs[0], op.outputs[0]))
    rows = len(given) == 2 and straddle.taken == 1  # `view(-1, channels)`
    return (
        (before[0] == after[0] or rows) and size > 1 and taken[1:].count(size) == given[1:].count(size) == 1
    )


def _made(known: Paths, found: Axes, key: Key, axis: Axis) -> Op | None:
    """The layer that made this axis as its features, going back through what works on each element."""
    for _ in range(64):
        op = known.maker(key)
        if op is None or not op.inputs:
            return None
        own = found.of(known.made(key))
        at = 1 if op.name in FIRST else len(own) - 1 if op.name in LAST else None
        if at is not None and len(own) > 2 and own[at] == axis:
            return op
        if op.name not in POINTWISE or op.name in VIEWS:
            return None
        key = (op.graph, op.inputs[0])
    return None


def _taken(known: Paths, found: Axes, view: Op, straddle: Straddle) -> Op | None:
    """The layer that takes the straddling axis for features, behind what works on each element."""
    graph = known.graph(view.graph)
    for value, op in graph.readers_behind(view.outputs, lambda op: op.name in POINTWISE):
        own = found.of((graph.id, value))
        at = _features(op, len(own))
        if at is not None and op.inputs[0] == value and len(own) > at and own[at] == straddle.axis:
            return op
    return None


def _elsewhere(trace: Trace, straddle: Straddle, layer: Op) -> list[Site]:
    """Other lines that cut what this layer made in the same way, perhaps without gradients, and look for the largest of
    the same axis: an evaluation."""
    op, found = straddle.op, dict[tuple[str, int], Site]()
    shape = trace.graph(op.graph).values[op.outputs[0]].shape
    for graph in trace.graphs:
        for other in graph.ops:
            place = other.site.user
            alike = other.name == op.name and other.inputs and other.outputs
            if not alike or place.location() == op.site.user.location() or place.location() in found:
                continue
            taken, given = graph.values[other.inputs[0]].shape, graph.values[other.outputs[0]].shape
            if taken[1:] != straddle.shape[1:] or given[1:] != shape[1:] or len(given) != len(shape):
                continue
            if _comes_from(graph, other.inputs[0], layer) and _looked_along(
                graph, other.outputs[0], straddle.given
            ):
                found[place.location()] = place
    return list(found.values())


def _comes_from(graph: Graph, value: int, layer: Op) -> bool:
    """Whether a value is what the layer made, with its axes as they were."""
    for _ in range(64):
        op = graph.maker(value)
        if op is None or not op.inputs:
            return False
        alone = layer.module is None
        same = op.site.user.location() == layer.site.user.location() if alone else op.module == layer.module
        if op.name == layer.name and same:
            return True
        if op.name not in POINTWISE or op.name in VIEWS:
            return False
        value = op.inputs[0]
    return False


def _looked_along(graph: Graph, value: int, axis: int) -> bool:
    rank = len(graph.values[value].shape)
    ops = graph.consumers.get(value, ())
    dims = [op.extra.get("dims") or [] for op in ops if op.name in LARGEST]
    return any(len(found) == 1 and int(found[0]) % rank == axis for found in dims)


def _features(op: Op, rank: int) -> int | None:
    """The axis that a call takes for features or classes."""
    if op.name in FIRST or op.name in CLASS_LOSSES:
        return 1
    if op.name in LAST | RECURRENT:
        return rank - 1
    if op.name in SOFTMAXES and len(op.extra.get("dims", [])) == 1:
        return int(op.extra["dims"][0]) % rank
    if op.name == "__getitem__" and op.extra.get("at") in (":i", ".i"):
        return rank - 1
    return None


def _finding(trace: Trace, known: Paths, straddle: Straddle, layer: Op, taker: Op) -> Finding:
    op = straddle.op
    graph = known.graph(op.graph)
    taken, given = graph.values[op.inputs[0]].shape, graph.values[op.outputs[0]].shape
    size = given[straddle.given]
    name = names_of(trace).name(graph, op.inputs[0])
    what = f"`{name}`" if name else "its input"
    rest = [axis for axis in range(1, len(taken)) if axis != straddle.taken]
    order = (0, *rest, straddle.taken) if straddle.taken == 1 else (0, straddle.taken, *rest)
    move = "transpose(1, 2)" if len(taken) == 3 else f"permute{order}"
    new = f"{move}.reshape"
    others = _elsewhere(trace, straddle, layer)
    places = [op.site.user, *others]
    return Finding(
        message=f"{code(trace, op.site.user, f'`{op.name}`')} does not move the {size} features of {what}: it cuts the"
        f" elements anew, and each row of {size} holds places of a few features",
        cause=op.site.user,
        cause_label=f"{taken} becomes {given}",
        effect=taker.site.user,
        effect_label=f"takes axis {straddle.given} for the {size} features",
        related=(
            (layer.site.user, f"makes {size} features along axis {straddle.taken}"),
            *((place, "cuts them so too") for place in others),
        ),
        seen=(
            f"`{layer.name}` gave {taken} with its {size} features along axis {straddle.taken}; after the view"
            f" `{taker.name}` takes axis {straddle.given} of {given} for features, which is {size} long, too, and runs"
            " over parts of the other axes",
        ),
        fix=f"move the axis first: `.{new}(…)` in"
        f" {listed([located(trace, place, f'`{op.name}`') for place in places])}",
        edits=tuple(edit for place in places for edit in renamed(trace, place, op.name, new)),
        subjects=frozenset(("view", *place.location()) for place in places),
    )
