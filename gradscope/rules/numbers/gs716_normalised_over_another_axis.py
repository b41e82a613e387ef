"""A softmax is taken over another axis than that of the classes.

Why: `nll_loss` takes the number at the label along axis 1. After `log_softmax(x, dim=0)` the numbers of one class sum
to one over the samples: a sample's own scores do not say which class is likelier, and the loss cannot fall below the
logarithm of how many samples share a class. The same goes for losses by hand: log-probabilities times one-hot labels,
those taken by `gather`, `kl_div` of them to probabilities; and for any loss that compares sample by sample, also where
the softmax is written out: a probability then depends on which other samples are in the batch. `cross_entropy` always
takes axis 1 for the classes: of scores of shape (batch, sequence, classes) it makes the places of a sequence compete
with each other.

Fix: `dim=1`, or whichever axis the classes are on; `cross_entropy` on the scores, with the classes along axis 1.

A note where the program compares by other arithmetic of its own.

Silent on: scores of samples by the same samples, which may be normalised over either axis, weights of samples, and what
is summed with these weights.
"""

from collections.abc import Iterator

from gradscope.analysis.axes import Axes, Axis, axes, size_of
from gradscope.analysis.loop import norm
from gradscope.analysis.made import softmax_site
from gradscope.analysis.one_hots import one_hot
from gradscope.analysis.ops import (
    ADDITIONS,
    LOGARITHMS,
    LOSSES,
    MEANS,
    MULTIPLICATIONS,
    PRODUCTS_OF_MATRICES,
    QUOTIENTS,
    SCALES,
    SOFTMAXES,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.trails import trail
from gradscope.analysis.words import code, located
from gradscope.events import Targets
from gradscope.fixes.calls import along, argument_as
from gradscope.model import Finding, Op, Parameter, Span
from gradscope.rules import rule
from gradscope.rules.numbers._losses import loss_event, losses, makers, measured_targets
from gradscope.rules.numbers._written_out import EXP, log_softmax_written_out, softmax_written_out
from gradscope.store import Trace

PICKING = {"nll_loss", "nll_loss_nd"}  # one number of each sample, at its label
BY_HAND = MULTIPLICATIONS | {"gather", "kl_div"}
WRITTEN_OUT = EXP | {"logsumexp"}
ADDING = (
    MEANS
    | SCALES
    | ADDITIONS
    | LOGARITHMS
    | {"sum", "neg", "squeeze", "unsqueeze", "view", "reshape", "flatten", "clamp", "clip"}
)  # of probabilities their logarithms
LAYERS = {"linear": -1, "conv1d": -2, "conv2d": -3, "conv3d": -4}  # which axis their bias is of
NEAR = 1e-3  # to a sum of probabilities
DEEP = 8  # scalings between a layer and its `log_softmax`


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        logs = torch.log_softmax(model(torch.randn(8, 4)), dim=0)  # cause: GS716
        loss = nn.functional.nll_loss(logs, torch.randint(0, 3, (8,)))  # effect: GS716
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        logs = torch.log_softmax(model(torch.randn(8, 4)), dim=1)
        opt.zero_grad()
        nn.functional.nll_loss(logs, torch.randint(0, 3, (8,))).backward()
        opt.step()


@rule("GS716", name="normalised-over-another-axis", severity="warning")
def normalised_over_another_axis(trace: Trace) -> Iterator[Finding]:
    yield from _of_cross_entropy(trace)
    yield from _of_one_axis(trace)
    if trace.op_names.isdisjoint(SOFTMAXES | WRITTEN_OUT):
        return
    known, found = paths(trace), axes(trace)
    told: dict[tuple[str, int], tuple[Op, Op, Axis, Axis, int]] = {}
    lost: dict[tuple[str, int], Parameter] = {}  # the bias that the softmax of a line takes out
    for key, loss in losses(known, PICKING):
        made = makers(known, key)
        own = found.of(key)
        if len(made) != 1 or made[0][1].name != "log_softmax" or not own:
            continue
        result, maker = made[0]
        classes = own[1 if len(own) > 1 else 0]
        over = _over(found, result, maker)
        if over is not None and _elsewhere(over, classes, own) and classes in found.of(result):
            dim = found.of(result).index(classes)
            told.setdefault(maker.site.user.location(), (maker, loss, over, classes, dim))
    for key, labels, loss in _by_hand(known):
        made, own = makers(known, key), found.of(key)
        if len(made) != 1 or made[0][1].name not in SOFTMAXES or made[0][1].site.user.location() in told:
            continue
        result, maker = made[0]
        chosen, over = _chosen(known, found, own, labels, loss), _over(found, result, maker)
        if chosen is None or over is None or not _elsewhere(over, chosen, own):
            continue
        bias = _bias(known, found, (maker.graph, maker.inputs[0]), chosen)
        if bias is not None and chosen in found.of(result):
            dim = found.of(result).index(chosen)
            lost[maker.site.user.location()] = bias
            told[maker.site.user.location()] = (maker, loss, over, chosen, dim)
    for place, (maker, loss, over, classes, dim) in told.items():
        yield _finding(trace, known, maker, loss, over, classes, dim, lost.get(place))
    samples = {
        op.site.user.location(): (key, op)
        for key, op in known.used_calls(SOFTMAXES)
        if op.site.user.location() not in told
    }
    for key, op in _written_out(known):
        samples.setdefault(op.site.user.location(), (key, op))
    for key, op in samples.values():
        finding = _of_samples(trace, known, found, key, op)
        if finding is not None:
            yield finding


def _written_out(known: Paths) -> Iterator[tuple[Key, Op]]:
    """What a softmax of the program's own gives, with the call that goes over its axis."""
    for key, op in known.used_calls(SUBTRACTIONS | QUOTIENTS):
        over = log_softmax_written_out(known, op)
        if over is None and op.name in QUOTIENTS:
            whole = softmax_written_out(known, op)
            over = whole.along if whole is not None else None
        if over is not None:
            yield key, over


def _of_cross_entropy(trace: Trace) -> Iterator[Finding]:
    """Targets that are probabilities of classes along the last axis: one-hot, perhaps smoothed."""
    known = paths(trace)
    targets = measured_targets(trace)
    told: set[Span] = set()
    for _, op in losses(known, {"cross_entropy"}):
        span = op.site.user.span()
        event = targets.get((span, op.name))
        if event is None or span in told or not _along_the_last(event):
            continue
        told.add(span)
        site, shape = op.site.user, known.value((op.graph, op.inputs[0])).shape
        passed = loss_event(known, op)
        moved = "{}.transpose(1, 2)" if len(shape) == 3 else "{}.movedim(-1, 1)"
        sides = [
            argument_as(trace, site, name, place, moved) for place, name in enumerate(("input", "target"))
        ]
        given = [f"`{edit.text}`" for side in sides for edit in side] or [f"`{moved.format('scores')}`"]
        yield Finding(
            message=f"`cross_entropy` takes the {shape[1]} places of axis 1 for the classes, and its targets have"
            f" {shape[-1]} along the last axis",
            cause=site,
            cause_label=f"a softmax over axis 1 of {shape}",
            effect=passed.site.user if passed is not None and passed.site.user != site else None,
            effect_label="goes back from it",
            seen=(
                f"at the first call its targets, of shape {shape}, added up to 1 along the last axis, and to"
                f" {event.least:.3g} to {event.most:.3g} along axis 1",
            ),
            why="of more than two axes the second is that of the classes. A softmax over another one asks which place"
            " of it a class belongs to: the scores of one place are never compared with each other, and what the loss"
            " learns says little about which of them is the largest.",
            fix=f"bring the classes to axis 1 of both, {' and '.join(given)}, in {located(trace, site)}; or flatten all"
            " other axes, and give it the numbers of the classes",
            edits=(*sides[0], *sides[1]) if all(sides) else (),
            subjects=frozenset({("targets", site.location())}),
        )


def _of_one_axis(trace: Trace) -> Iterator[Finding]:
    """Scores of one axis, which are those of one sample for `cross_entropy`, with targets that are no probabilities."""
    known, targets = paths(trace), measured_targets(trace)
    told: set[Span] = set()
    for _, op in losses(known, {"cross_entropy"}):
        site = op.site.user
        event, shape = targets.get((site.span(), op.name)), known.value((op.graph, op.inputs[0])).shape
        if event is None or site.span() in told or len(shape) != 1:
            continue
        if event.low >= 0 and event.high <= 1 + NEAR:
            continue  # they may be probabilities
        if known.value((op.graph, op.inputs[1])).shape != shape:
            continue
        told.add(site.span())
        yield Finding(
            message=f"{code(trace, site, '`cross_entropy`')} takes {shape[0]} numbers for the classes of one"
            " sample: its softmax goes over the batch",
            cause=site,
            cause_label=f"scores of shape {shape}, without an axis of classes",
            seen=(
                f"its targets, of the same shape, went from {event.low:.3g} to {event.high:.3g} at the first call:"
                " the probabilities of classes lie between 0 and 1, and add up to 1",
            ),
            why="of one axis `cross_entropy` makes one softmax, and targets of a floating type are taken for"
            " probabilities. The samples compete with each other, and the numbers of their classes are the weights.",
            fix=f"let the layer before give a score for each class, and give {located(trace, site)} scores of shape"
            f" ({shape[0]}, classes) with the numbers of the classes as `long`; for numbers that are to be met,"
            " `mse_loss`",
            subjects=frozenset({("targets", site.location())}),
        )


def _along_the_last(event: Targets) -> bool:
    """Whether they add up to 1 along the last axis, and not along that of the classes."""
    if event.low < 0 or len(event.last) != 2 or event.least is None or event.most is None:
        return False
    apart = max(abs(total - 1) for total in (event.least, event.most))
    return max(abs(total - 1) for total in event.last) < NEAR < apart


def _by_hand(known: Paths) -> Iterator[tuple[Key, Key, Op]]:
    """What may be log-probabilities with what chooses among them, in a loss that adds up what was chosen."""
    for key, op in known.used_calls(BY_HAND):
        sources = [(op.graph, value) for value in op.inputs]
        trained = [s for s in sources if known.value(s).requires_grad]
        labels = [s for s in sources if s not in trained]
        if len(trained) == 1 and len(labels) == 1 and (op.name == "kl_div" or _added_up(known, key)):
            yield trained[0], labels[0], op


def _added_up(known: Paths, key: Key) -> bool:
    """Whether nothing is done with it on the way to a single number but to add it up."""
    graph, value = known.graph(key[0]), key[1]
    while graph.values[value].shape:
        readers = graph.consumers.get(value, [])
        if len(readers) != 1 or readers[0].name not in ADDING or len(readers[0].outputs) != 1:
            return False
        value = readers[0].outputs[0]
    return True


def _chosen(known: Paths, found: Axes, own: tuple[Axis, ...], labels: Key, loss: Op) -> Axis | None:
    """The axis along which the labels choose: that of the classes of one-hot labels or of probabilities, or the one
    that `gather` takes a single place of."""
    shape = known.value(labels).shape
    if loss.name == "gather":
        dims = loss.extra.get("dims", [])
        fits = len(dims) == 1 and len(shape) == len(own) and -len(own) <= dims[0] < len(own)
        return own[dims[0]] if fits and shape[dims[0]] == 1 else None
    marked = one_hot(known, labels, smoothed=True)
    if marked is not None:
        classes = found.of(marked.made)[marked.axis] if found.of(marked.made) else None
    else:
        made = makers(known, labels)
        if len(made) != 1 or made[0][1].name != "softmax":
            return None
        classes = _over(found, *made[0])
    given = found.of(labels)
    if not classes or given.count(classes) != 1 or len(given) > len(own):
        return None
    return own[given.index(classes) - len(given)]


def _bias(known: Paths, found: Axes, key: Key, classes: Axis) -> Parameter | None:
    """The trained bias of the layer that gave the scores: one number for each class."""
    for _ in range(DEEP):
        made = makers(known, key)
        ops = [op for _, op in made]
        if made and all(op.name == ops[0].name and op.inputs[2:] == ops[0].inputs[2:] for op in ops):
            key, op = made[0]
            if op.name in LAYERS and len(op.inputs) == 3:
                bias = known.parameter_of((op.graph, op.inputs[2]))
                of_classes = any(classes in found.of(k)[LAYERS[op.name] :][:1] for k, _ in made)
                return bias if of_classes and bias is not None and known.stepped(bias) else None
        if len(made) != 1 or ops[0].name not in SCALES or len(ops[0].inputs) != 1:
            return None
        key = (ops[0].graph, ops[0].inputs[0])
    return None


def _of_samples(trace: Trace, known: Paths, found: Axes, key: Key, op: Op) -> Finding | None:
    """A softmax over samples that were drawn in a random order, of several numbers of each."""
    own, over = found.of(key), _over(found, key, op)
    drawn = found.drawn(over) if over is not None else None
    others = [i for i, axis in enumerate(own) if size_of(axis) > 1 and axis != over and found.whole(axis)]
    if over is None or drawn is None or not others:
        return None
    if any(found.drawn(axis) is not None or size_of(axis) == size_of(over) for axis in own if axis != over):
        return None
    uses = _uses(known, found, key, over)
    if uses is None:
        return None
    loss = next((use for use in uses if use.name in LOSSES or _picks(known, use)), None)
    shape, given = known.value(key).shape, op.extra["dims"][0]
    count, place, dim = size_of(over), drawn.site.user, _summed(trace, key, others)
    said = f"`{op.name}`" if op.name in SOFTMAXES else f"the `{op.name}` of a softmax"
    made = softmax_site(trace, op)
    layer = made.location() != op.site.user.location()
    return Finding(
        message=f"{said} is taken over the {count} samples of a batch: what it says of one depends on the others",
        cause=op.site.user,
        cause_label=f"goes over axis {given} of {shape}",
        effect=place,
        effect_label=f"gives {count} samples in a random order",
        related=(
            *(((made, "the layer that does it"),) if layer else ()),
            *(((loss.site.user, "compares them sample by sample"),) if loss is not None else ()),
        ),
        seen=(
            f"{located(trace, place)} had drawn the {count} places of axis {given}; the numbers of shape {shape} sum to"
            f" one over them, not over the {size_of(own[dim])} of each sample along axis {dim}",
        ),
        why="a softmax makes numbers that add up to one along its axis. Over the samples each one's share depends on"
        " which others are in the batch, and is another one for a batch of another size.",
        fix=f"give `dim={dim}` to {located(trace, made, f'`{op.name}`')}",
        edits=along(trace, made, op.name, dim),
        severity="" if loss is not None else "note",
    )


def _summed(trace: Trace, key: Key, others: list[int]) -> int:
    """The axis that what is weighed with these numbers is summed over; the last one where that can't be told."""
    sums = [one.over for one in trail(trace, key).sums if one.other is not None and one.over <= set(others)]
    return min(sums[0]) if sums and len(sums[0]) == 1 else others[-1]


def _picks(known: Paths, op: Op) -> bool:
    """Whether a call takes one number of each sample: `p[torch.arange(n), labels]`."""
    if op.name != "__getitem__" or op.extra.get("at") != "tt":
        return False
    rows = known.graph(op.graph).maker(op.inputs[1])
    return rows is not None and rows.name == "arange"


def _uses(known: Paths, found: Axes, key: Key, over: Axis) -> list[Op] | None:
    """The calls that a loss was computed by from there on, as long as they know the samples apart; None where these
    are weighed against each other or normalised once more."""
    uses: list[Op] = []
    todo = [key]
    seen = {key}
    for one in todo:  # grows while it is walked
        for given, op in known.used.feeds.get(one, ()):
            if op is None or given in seen:
                continue
            seen.add(given)
            uses.append(op)
            if op.name in SOFTMAXES or op.name == "logsumexp" or op.name in PRODUCTS_OF_MATRICES:
                return None
            own = found.of(given)
            if any(size_of(axis) == size_of(over) for axis in own):
                todo.append(given)
            elif own and op.name not in LOSSES:
                return None
    return uses


def _over(found: Axes, result: Key, maker: Op) -> Axis | None:
    """The axis that a softmax went over."""
    own, dims = found.of(result), maker.extra.get("dims", [])
    return own[dims[0]] if len(dims) == 1 and -len(own) <= dims[0] < len(own) else None


def _elsewhere(over: Axis, classes: Axis, own: tuple[Axis, ...]) -> bool:
    """Whether one axis of a loss's input other than the classes' is, or was merged of, this one."""
    if not over or not classes or size_of(over) == size_of(classes):
        return False
    return any(axis is not classes and all(piece in axis for piece in over) for axis in own)


def _finding(
    trace: Trace,
    known: Paths,
    maker: Op,
    loss: Op,
    over: Axis,
    classes: Axis,
    dim: int,
    bias: Parameter | None,
) -> Finding:
    shape = known.graph(maker.graph).values[maker.outputs[0]].shape
    given = maker.extra["dims"][0]
    place = softmax_site(trace, maker)
    if place != maker.site.user:  # a layer, which may be given a single sample too
        dim -= len(shape)
    here = located(trace, place, f"`{maker.name}`")
    picking = f"`{loss.name}`" if bias is None else code(trace, loss.site.user, f"`{loss.name}`")
    seen = [
        f"`{maker.name}` made the numbers of shape {shape} sum to one along axis {given}, which has "
        f"{size_of(over)} places, not along the {size_of(classes)} classes"
    ]
    if bias is not None:
        size = norm(trace, bias.id)
        seen.append(
            f"`{bias.name}` adds the same to all {size_of(over)} places, and `{maker.name}` takes it out again: its "
            f"gradient is 0 up to rounding{f', norm {size:.3g}' if size is not None else ''}"
        )
    return Finding(
        message=f"{picking} picks one of {size_of(classes)} classes, and `{maker.name}` was taken over the "
        f"{size_of(over)} places of another axis",
        cause=place,
        cause_label=f"goes over axis {given} of {shape}",
        effect=loss.site.user,
        effect_label=f"has the classes along axis {dim % len(shape)}",
        seen=tuple(seen),
        fix=f"give `dim={dim}` to {here}",
        edits=along(trace, place, maker.name, dim),
    )
