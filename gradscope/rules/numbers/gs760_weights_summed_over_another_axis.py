"""Weights are normalised over one axis, and what they weigh is summed over another one.

Why: a softmax makes weights that sum to one along its own axis. `softmax(q @ k.mT, dim=1) @ v` sums over the last
axis, where they do not: each place gets more or less than a mean, a mask loses its meaning, since the weights of a
place depend on all later ones, and of a mixture over the samples of a batch each loss depends on the other samples.
Where attention is taken in two steps (places are summed into maps or features, and each place takes a mean of these),
the sums grow with the number of places: with the size of the image. A mask of what is summed over is the same all along
the wrong axis: what it takes out gets as much weight as anything.

Fix: `dim=-1` in attention: the axis that the product with the values sums over; the axis of the components in a
mixture.

Silent on: soft assignment (slots, clusters, capsules: places compete for what is not themselves), weights that are
normalised once more, products of transition matrices, attention between samples; in two steps also sums that are
scaled, or whose size a norm takes out.
"""

from collections.abc import Iterator

from gradscope import equations
from gradscope.analysis.axes import Axes, Axis, axes
from gradscope.analysis.made import softmax_site
from gradscope.analysis.ops import (
    CASTS,
    CLASS_LOSSES,
    DIVISIONS,
    LAYERS,
    LOGARITHMS,
    NORMING,
    PASSING,
    PRODUCTS_OF_BATCHES,
    SCALES,
    SOFTMAXES,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.trails import Sum, Trail, trail
from gradscope.analysis.words import code, listed, located
from gradscope.events import MaskedRows
from gradscope.fixes.calls import along
from gradscope.model import Finding, Op, Span
from gradscope.rules import rule
from gradscope.rules.numbers._chances import by_own_sum
from gradscope.rules.numbers._losses import losses
from gradscope.store import Trace

PROJECTING = LAYERS | {"matmul", "bmm"}
MASKING = SCALES | SUMS | CASTS | {"masked_fill", "where", "clamp", "contiguous", "clone"}
AS_THEY_ARE = PASSING | {"dropout"}
DEEP = 24


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2) / 8**0.5, dim=1)  # cause: GS760
        scores = head((weights @ v).mean(1))  # effect: GS760
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2) / 8**0.5, dim=-1)
        scores = head((weights @ v).mean(1))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


@rule("GS760", name="weights-summed-over-another-axis", severity="warning")
def weights_summed_over_another_axis(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(SOFTMAXES | {"exp"}):
        return
    known, found = paths(trace), axes(trace)
    samples = _samples(known, found)
    several = len({op.site.user.span() for _, op in known.used_calls({"softmax"})}) > 1
    masked = {event.site.id: event for event in trace.of(MaskedRows)}
    told: set[Span] = set()
    for key, op, summed, scores in _normalised(known):
        place = op.site.user.span()
        own = found.of(key)
        dims = summed.extra.get("dims", [])
        if place in told or len(own) < 2 or len(dims) != 1 or not -len(own) <= dims[0] < len(own):
            continue
        over = dims[0] % len(own)
        if not own[over]:
            continue
        told.add(place)  # what one call of a place shows, the others do
        between = own[over] in samples
        apart = not between and over < len(own) - 2 and _of_a_product(known, scores)
        plain = op.name != "log_softmax"
        rows = masked.get(op.site.id) if op is summed else None
        if (
            rows is None
            and not between
            and not apart
            and not (plain and (several or own.count(own[over]) > 1))
        ):
            continue
        followed = trail(trace, key, logarithms=op.name == "log_softmax")
        if followed.balanced:
            continue
        for use in followed.sums:
            other = next(iter(use.over))
            if len(use.over) > 1 or over not in use.left or use.other is None or not own[other]:
                continue
            if between and own[other] not in samples and _learned(known, use.other):
                shown = samples[own[over]]
                treats = (
                    "has a label for each place"
                    if shown.name in CLASS_LOSSES
                    else f"treats the places of axis {over} apart"
                )
                why = f"`{shown.name}` ({_where(trace, shown)}) {treats}: they are samples"
                yield _finding(trace, known, op, summed, use, over, other, why)
                break
            if apart and other == len(own) - 1 and _projected(known, use.other):
                why = f"the product that gave the scores works on the places of axis {over} one by one: as heads do"
                yield _finding(trace, known, op, summed, use, over, other, why)
                break
            unchanged = rows is not None and _as_made(known, op, use)
            if rows is not None and unchanged and _masked_whole(known, followed, use, rows, over, other):
                why = _of_masked_rows(use, rows, known.value(key).shape[over])
                yield _finding(trace, known, op, summed, use, over, other, why)
                break
            same = own[other] == own[over] and use.shared == (own[over],) and not found.given(own[over])
            if same and _projected(known, use.other):
                size = known.graph(op.graph).values[op.outputs[0]].shape[over]
                why = f"both axes are the same {size} places, of which the values are a third projection"
                yield _finding(trace, known, op, summed, use, over, other, why)
                break
            means = (
                _means(known, found, followed, key, op, use, over)
                if several and op.name == "softmax"
                else None
            )
            if means is not None:
                why = _of_two_steps(trace, known, op, means, over, other)
                yield _finding(trace, known, op, summed, use, over, other, why)
                break


def _samples(known: Paths, found: Axes) -> dict[Axis, Op]:
    """Axes of samples that are judged or worked on apart from each other → the call that shows it."""
    shown: dict[Axis, Op] = {}
    for run in found.runs:
        shown.setdefault(run.apart, run.op)
    for key, loss in losses(known, CLASS_LOSSES):
        own = found.of(key)
        if len(own) > 1 and len(own[0]) == 1 and found.whole(own[0]):
            shown.setdefault(own[0], loss)
    for run in found.runs:  # of single places of a sequence it cannot be told which they are
        shown.pop(run.along, None)
    shown.pop((), None)
    return shown


def _normalised(known: Paths) -> Iterator[tuple[Key, Op, Op, Key]]:
    """Weights that sum to one along an axis, or their logarithms, with the call that gave them, the one that says along
    which axis, and the scores they were made of."""
    for key, op in known.used_calls(SOFTMAXES):
        yield key, op, op, (op.graph, op.inputs[0])
    for key, op in known.used_calls(DIVISIONS):
        made = by_own_sum(known, op)
        if made is not None:
            yield key, op, made.op, made.scores


def _of_a_product(known: Paths, key: Key) -> bool:
    """Whether the scores of a softmax are a product of two matrices that were computed from parameters, scaled and
    masked since, perhaps."""
    for _ in range(DEEP):
        maker = known.maker(key)
        if maker is None or not maker.inputs:
            return False
        values = known.graph(maker.graph).values
        tracked = [i for i in maker.inputs if values[i].requires_grad]
        if maker.name in PRODUCTS_OF_BATCHES:
            return len(tracked) == 2
        if maker.name not in MASKING or len(tracked) != 1:
            return False
        key = (maker.graph, tracked[0])
    return False


def _learned(known: Paths, key: Key) -> bool:
    """Whether what the weights weigh has a gradient: labels and constants have none."""
    return known.value(key).requires_grad


def _projected(known: Paths, key: Key) -> bool:
    """Whether a layer made these values, and no softmax: products of these are transitions."""
    for _ in range(DEEP):
        op = known.maker(key)
        if op is None or not op.inputs or op.name in SOFTMAXES:
            return False
        if op.name in PROJECTING:
            return True
        if op.name not in PASSING | CASTS | SUMS | LOGARITHMS | {
            "dropout",
            "relu",
            "tanh",
            "layer_norm",
            "div",
            "mul",
        }:
            return False
        key = (op.graph, op.inputs[0])
    return False


def _means(known: Paths, found: Axes, followed: Trail, key: Key, op: Op, use: Sum, over: int) -> Op | None:
    """The other softmax by which each place takes a mean of what was summed into the maps with these weights."""
    given = known.maker_behind(_beside(use), AS_THEY_ARE)
    if given is not op or use.other is None or _maker_name(known, use.other) not in PROJECTING:
        return None
    for again in followed.sums:
        if again.over != {over} or again.other is None or len(again.shared) != 1:
            continue
        means = known.maker_behind(again.other, AS_THEY_ARE)
        if known.maker_behind(_beside(again), PASSING) is not use.op or means is None:
            continue
        dims, own = means.extra.get("dims", []), found.of((means.graph, means.outputs[0]))
        same = means.name == "softmax" and len(dims) == 1 and -len(own) <= dims[0] < len(own)
        if not same or own[dims[0]] != again.shared[0] or found.of(key)[min(use.over)] not in own:
            continue
        if _scores(known, means) != _scores(known, op) and not _sized(known, again.op):
            return means
    return None


def _masked_whole(known: Paths, followed: Trail, use: Sum, rows: MaskedRows, over: int, other: int) -> bool:
    """Whether a mask has told the places apart that are summed over, as each of those sees them that the sum leaves
    (the nodes that ask their neighbours), while it is the same along the softmax's axis, along which what is weighed
    has numbers of its own. Of clusters, slots and capsules the mask is one of places."""
    if rows.dim != over or other not in rows.mixed or not _has_axis(known, followed, use, over):
        return False
    asking = [axis for axis in use.left - {over} if axis in rows.mixed]
    return any(not _has_axis(known, followed, use, axis) for axis in asking)


def _as_made(known: Paths, op: Op, use: Sum) -> bool:
    """Whether a sum is given the weights as the softmax made them: nothing has taken masked ones out since."""
    value = use.op.graph, use.op.inputs[0]
    product = known.maker(value) if use.op.name not in PRODUCTS_OF_BATCHES else use.op
    if product is None:
        return False
    given = [index for index in product.inputs if use.other != (product.graph, index)]
    return bool(given) and known.maker_behind((product.graph, given[0]), AS_THEY_ARE) is op


def _has_axis(known: Paths, followed: Trail, use: Sum, place: int) -> bool:
    """Whether the other factor of a sum goes along an axis of the weights."""
    op, other = use.op, use.other
    ours = next((key for index in op.inputs if (key := (op.graph, index)) in followed.on), None)
    if ours is None or other is None:
        return False
    axes_of_ours = followed.of(ours)
    at = [
        i
        for i, axis in enumerate(axes_of_ours)
        if any(followed.numbers.get(piece.source) == place for piece in axis)
    ]
    if len(at) != 1:
        return False
    theirs, rank = known.value(other).shape, len(axes_of_ours)
    if op.name == "einsum":
        equation = equations.of(op)
        first = op.inputs[0] == ours[1]
        if equation is None or len(equation.operands) != 2:
            return False
        letters = {axis: letter for letter, axis in equation.axes(int(not first), rank).items()}
        return letters.get(at[0]) in equation.axes(int(first), len(theirs))
    if op.name in PRODUCTS_OF_BATCHES and at[0] >= rank - 2:
        return False  # it is summed over, or is one of the weights' own
    return len(theirs) >= rank - at[0] and theirs[at[0] - rank] > 1


def _of_masked_rows(use: Sum, rows: MaskedRows, size: int) -> str:
    return (
        f"of {rows.rows:,} rows along it the mask made {rows.masked:,} low as a whole, in which each place has a weight"
        f" of about 1/{size} all the same; what `{use.op.name}` weighs has numbers of its own along that axis, as"
        " heads have"
    )


def _beside(use: Sum) -> Key:
    """The input of a product that holds the weights."""
    own = [index for index in use.op.inputs if use.other is None or index != use.other[1]]
    return use.op.graph, own[0] if own else use.op.inputs[0]


def _maker_name(known: Paths, key: Key) -> str:
    maker = known.maker_behind(key, PASSING)
    return maker.name if maker is not None else ""


def _scores(known: Paths, op: Op) -> tuple[object, ...]:
    """What a softmax is taken of, as far as two calls of a layer for the same input give the same."""
    key = (op.graph, op.inputs[0])
    steps: list[object] = []
    while (maker := known.maker(key)) is not None and maker.name in PASSING and maker.inputs:
        steps.append((maker.name, maker.outputs.index(key[1]) if key[1] in maker.outputs else -1))
        key = (maker.graph, maker.inputs[0])
    return (*steps, (maker.name, *maker.inputs) if maker is not None else key)


def _sized(known: Paths, op: Op) -> bool:
    """Whether a norm takes the size out of what a product gave, perhaps behind a layer, or a number scales it."""
    todo = [(op.graph, op.outputs[0])]
    for key in todo:  # grows while it is walked
        for reader in known.readers(key):
            scaled = reader is not None and reader.name in SCALES and len(reader.inputs) == 1
            if reader is None or reader.name in NORMING or scaled:
                return True
            if reader.name in AS_THEY_ARE | LAYERS | SCALES and len(todo) < DEEP:
                todo.append((reader.graph, reader.outputs[0]))
    return False


def _of_two_steps(trace: Trace, known: Paths, op: Op, means: Op, over: int, other: int) -> str:
    """What the weights of a map sum to: all of them are as many as the places."""
    shapes = {
        graph.values[call.outputs[0]].shape
        for graph in trace.graphs
        for call in graph.called({op.name})
        if call.site.user.span() == op.site.user.span()
    }
    sizes = {(shape[other], shape[over]) for shape in shapes if len(shape) > max(over, other)}
    totals = [f"{places / maps:.3g} over {places} places" for places, maps in sorted(sizes)]
    return (
        f"those of each of the {known.value((op.graph, op.outputs[0])).shape[over]} sum to {listed(totals)} on average,"
        f" where a mean has 1; what was summed is then taken by {located(trace, means.site.user, f'`{means.name}`')},"
        f" which sums to one over axis {over}, as a mean"
    )


def _finding(
    trace: Trace, known: Paths, op: Op, summed_by: Op, use: Sum, over: int, other: int, why: str
) -> Finding:
    shape = known.graph(op.graph).values[op.outputs[0]].shape
    place = softmax_site(trace, op)
    own = summed_by.site.user if summed_by is not op else place
    given = summed_by.extra["dims"][0]
    wanted = other - len(shape) if given < 0 else other
    summed = code(trace, use.op.site.user, f"`{use.op.name}`")
    what = "logarithms of weights" if op.name == "log_softmax" else "weights"
    axis = f"the {shape[over]} places of axis {over}"
    sums = f"`{use.op.name}` sums over axis {other}"
    return Finding(
        message=f"{code(trace, place, f'`{op.name}`')} makes {what} that sum to one over {axis}, and"
        f" {summed} sums over the {shape[other]} of axis {other}",
        cause=place,
        cause_label=f"goes over axis {over} of {shape}",
        effect=use.op.site.user,
        effect_label=f"sums over axis {other}, where the weights do not sum to one",
        seen=(f"the {what} of shape {shape} sum to one along axis {over}, and {sums}; {why}",),
        fix=f"give `dim={wanted}` to {located(trace, own, f'`{summed_by.name}`')}",
        edits=along(trace, own, summed_by.name, wanted),
    )


def _where(trace: Trace, op: Op) -> str:
    return located(trace, op.site.user).rpartition("(")[2].rstrip(")")
