"""A mean counts the places of padding: a mask has set them to zero before, or leaves them out of another term.

Why: `(loss * mask).mean()` divides by all places, also by those that the mask has set to zero: the loss, and every
gradient, is too small by the share of padding, which differs from batch to batch and between the terms of a loss. A
mean that knows nothing of the mask trains on steps that never were.

The other way round `loss.sum() / mask.sum()` divides by what counts, and adds up all places, those of padding too.

Fix: divide by what counts: `(loss * mask).sum() / mask.sum()`, or `loss[mask.bool()].mean()`.

The same of a mean over the places of a sequence that a network goes on with (`hidden.mean(1)`, where the mask has set
padding to zero): what it makes of a sequence depends on how much padding stands behind it.

A note where less than half of the places are padding, and where a comment beside it says that the divisor is to be
fixed (as in Dr. GRPO); of a mean that a network goes on with, as long as every batch is padded to one length: it is
then a sum of what counts, but for a constant, which may be meant.

Measured: the mask, at the first calls of its line: zeros and ones, each row ones up to some place and zeros behind it
(or each column, where time comes first); of a sum, what stands where the mask is false.
Silent on: masks of another form (labels, rewards, dropout by hand), means that are divided by the mask's own.
"""

from collections.abc import Iterator

from gradscope.analysis.intent import milder, says_fixed_divisor
from gradscope.analysis.ops import (
    ADDITIONS,
    CASTS,
    DIVISIONS,
    FILLED_WHERE,
    JOINING,
    LOSSES,
    MEANS,
    MULTIPLICATIONS,
    NORMING,
    NORMS,
    PASSING,
    REDUCTIONS,
    SCALES,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.trails import trail
from gradscope.analysis.words import code, located, percent, plural, user
from gradscope.events import Backward, UnmaskedSum, ZeroOnes
from gradscope.fixes.masks import kept_places, mean_over, pooled_over, sum_over
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import shape_of
from gradscope.store import Trace

LEAST, MOST = 0.1, 0.5  # of the places: told from the one on, a warning from the other on
SHARE = 0.05  # of a sum, that is padding
NEARLY_ALL = 0.9  # of the padding's places, that hold something
NEAR = 6  # calls from the means of the samples to their sum
SAME = CASTS | {"neg", "squeeze", "flatten", "view", "reshape"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        lengths = torch.randint(1, 6, (8, 1))
        mask = (torch.arange(12) < lengths).float()
        error = (head(rnn(torch.randn(8, 12, 3))[0]).squeeze(-1) - torch.randn(8, 12)).pow(2)
        loss = (error * mask).mean()  # cause: GS762
        opt.zero_grad()
        loss.backward()  # effect: GS762
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        lengths = torch.randint(1, 6, (8, 1))
        mask = (torch.arange(12) < lengths).float()
        error = (head(rnn(torch.randn(8, 12, 3))[0]).squeeze(-1) - torch.randn(8, 12)).pow(2)
        loss = (error * mask).sum() / mask.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS762", name="mean-counts-the-padding", severity="warning")
def mean_counts_the_padding(trace: Trace) -> Iterator[Finding]:
    yield from _sums_of_all(trace)
    events = {e.site.user.span(): e for e in trace.of(ZeroOnes) if e.sequences or e.columns}
    events = {span: e for span, e in events.items() if e.zeros >= LEAST * e.elements}
    if not events:
        return
    known = paths(trace)
    told: dict[tuple[str, int], Finding] = {}
    masked: set[Key] = set()
    products: list[tuple[ZeroOnes, Op]] = []
    for key, op in known.used_calls(MULTIPLICATIONS | FILLED_WHERE):
        event = events.get(op.site.user.span())
        if event is not None:
            products.append((event, op))
            masked.add(key)
    lines: dict[tuple[str, int], tuple[ZeroOnes, Op]] = {}
    for event, op in products:
        lines.setdefault(op.site.user.location(), (event, op))
    for event, op in lines.values():
        if shape_of(known, _result(op)) == tuple(event.shape):
            for mean in _means(known, _result(op)):
                told.setdefault(mean.site.user.location(), _finding(trace, known, event, op, mean, True))
    for event, op in lines.values():
        for mean in _pools(trace, known, event, op):
            told.setdefault(mean.site.user.location(), _of_a_pool(trace, known, event, op, mean))
    for event, op in ((event, op) for event, op in lines.values() if op.name in MULTIPLICATIONS):
        for mean in _of_both(known, event, op):
            told.setdefault(mean.site.user.location(), _finding(trace, known, event, op, mean, True))
    if products:
        for mean, event, op in _others(known, products, masked):
            told.setdefault(mean.site.user.location(), _finding(trace, known, event, op, mean, False))
    for finding in told.values():
        yield (
            milder(finding, says_fixed_divisor(trace, finding.cause))
            if finding.cause is not None
            else finding
        )


def _result(op: Op) -> Key:
    return op.graph, (op.outputs or op.written)[0]


def _sums_of_all(trace: Trace) -> Iterator[Finding]:
    """Sums that are divided by the number of the places that a mask counts, and that are over all places."""
    events = {
        event.site.user.span(): event
        for event in reversed(list(trace.of(UnmaskedSum)))
        if event.share >= SHARE and event.other >= NEARLY_ALL * event.left_out
    }
    if not events:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls(DIVISIONS):
        event = events.get(op.site.user.span())
        loss = known.loss_of(key)
        if event is not None and loss is not None and op.site.user.location() not in told:
            told.add(op.site.user.location())
            yield _of_all(trace, event, loss)


def _of_all(trace: Trace, event: UnmaskedSum, loss: Backward) -> Finding:
    division = event.site.user
    total, counted = user(trace.site(event.total)) or division, user(trace.site(event.counted))
    mask, fix, edits = sum_over(trace, total, counted)
    return Finding(
        message=f"{code(trace, total, 'the sum')} adds up all places, and is divided by the number of those that"
        f" {f'`{mask}`' if mask else 'a mask'} counts: what stands on the others goes into the loss",
        cause=total,
        cause_label="adds up the padding too",
        effect=loss.site.user,
        effect_label="learns from the padding",
        related=((counted, "counts what is no padding"),) if counted is not None else (),
        seen=(
            f"in {plural(event.calls, 'call')} the mask left out {event.left_out:,} of {event.elements:,} places, and"
            f" {event.other:,} of these were not zero: {percent(event.share)} of what was added up, without its signs",
        ),
        why="the number of places that count is the divisor of a sum over those places alone: of a sum over all of"
        " them it makes a loss that grows with the share of padding, and trains on steps that never were",
        fix=fix,
        edits=edits,
    )


def _means(known: Paths, key: Key) -> Iterator[Op]:
    """The means over all places of a value, or over those of each sample, whose result is not divided by another
    tensor."""
    todo = [key]
    for one in todo:  # grows while it is walked
        for given, op in known.used.feeds.get(one, ()):
            if op is None or given[0] != one[0]:
                continue
            if op.name in MEANS and not _scaled(known, given) and _is_of_the_loss(known, one, given, op):
                yield op
            elif op.name in SAME and given not in todo:
                todo.append(given)


def _is_of_the_loss(known: Paths, given: Key, result: Key, mean: Op) -> bool:
    """Whether a mean is over all places, or over those of each sample and then added up to a loss."""
    left, dims = shape_of(known, result), mean.extra.get("dims")
    if not left:
        return True
    per_sample = left == shape_of(known, given)[:1] and dims in ([1], [-1])
    return per_sample and (
        result in known.roots or known.becomes_number(result, SAME | ADDITIONS, REDUCTIONS, NEAR)
    )


def _pools(trace: Trace, known: Paths, event: ZeroOnes, op: Op) -> Iterator[Op]:
    """The means over the places of each sequence, that keep its other numbers, and whose results are neither divided
    by a tensor nor brought to one size."""
    key, graph = _result(op), known.graph(op.graph)
    time = _axis_of_places(event, len(shape_of(known, key)))
    if time is None:
        return
    found = [
        one.op for one in trail(trace, key).sums if one.over == {time} and one.left and one.op.name in MEANS
    ]
    for value, mean in graph.readers_behind([key[1]], lambda one: one.name in PASSING - JOINING):
        result = (mean.graph, mean.outputs[0]) if mean in found else None
        if (
            result is None
            or value != mean.inputs[0]
            or known.loss_of(result) is None
            or _scaled(known, result)
        ):
            continue
        after = graph.readers_behind([result[1]], lambda one: one.name in SAME)
        if not any(reader.name in NORMING | NORMS | {"cosine_similarity"} for _, reader in after):
            yield mean


def _axis_of_places(event: ZeroOnes, rank: int) -> int | None:
    """Which axis of what was masked goes along the places of a sequence."""
    long = [axis - len(event.shape) for axis, size in enumerate(event.shape) if size > 1]
    if len(long) != 2 or len(event.shape) > rank:
        return None
    return rank + long[0 if event.columns else 1]


def _of_a_pool(trace: Trace, known: Paths, event: ZeroOnes, op: Op, mean: Op) -> Finding:
    shape, loss = shape_of(known, _result(op)), known.loss_of((mean.graph, mean.outputs[0]))
    time = _axis_of_places(event, len(shape)) or 0
    widths = {
        shape_of(known, _result(other))[time]
        for _, other in known.used_calls({op.name})
        if other.site.user.span() == op.site.user.span()
        and len(shape_of(known, _result(other))) == len(shape)
    }
    alike = len(event.shape) == len(shape)
    text, fix, edits = pooled_over(
        trace, mean.site.user, op.site.user, event.place, alike=alike, turned=event.turned
    )
    mask, kept = f"`{text}`" if text else "the mask", event.elements - event.zeros
    return Finding(
        message=f"{code(trace, mean.site.user, '`mean`')} divides by all {shape[time]:,} places of each sequence:"
        f" {percent(event.zeros / event.elements)} of them are padding, which {mask} sets to zero",
        cause=mean.site.user,
        cause_label="counts the padding",
        effect=loss.site.user if loss is not None else None,
        effect_label="learns from means that depend on the padding",
        related=((op.site.user, f"{mask} sets the padding to zero here"),),
        seen=(
            f"in {located(trace, op.site.user, f'`{op.name}`')} {mask} of shape {tuple(event.shape)} kept {kept:,} of"
            f" {event.elements:,} places, not as many of each sequence",
            *(
                (f"the sequences were padded to {min(widths)} to {max(widths)} places",)
                if len(widths) > 1
                else ()
            ),
        ),
        why="padding adds nothing to the sum, and counts in its divisor: a short sequence comes out smaller than a long"
        " one of the same numbers" + (", and in another batch as something else" if len(widths) > 1 else ""),
        fix=fix,
        edits=edits,
        severity="" if len(widths) > 1 else "note",
    )


def _of_both(known: Paths, event: ZeroOnes, op: Op) -> Iterator[Op]:
    """The losses that take a mean over what they are given: two products with this mask, which is their form but for
    axes behind it."""
    key = (op.graph, op.outputs[0])
    form, whole, graph = tuple(event.shape), shape_of(known, key), known.graph(op.graph)
    if (
        len(form) < 2
        or len(form) != len(whole)
        or form[:2] != whole[:2]
        or any(a not in (1, b) for a, b in zip(form, whole, strict=True))
    ):
        return
    mask = op.inputs[event.place] if event.place < len(op.inputs) else None
    for given, loss in known.used.feeds.get(key, ()):
        if loss is None or given[0] != op.graph or loss.name not in LOSSES or len(loss.inputs) < 2:
            continue
        if loss.extra.get("reduction", "mean") != "mean" or _scaled(known, given):
            continue
        others = [graph.maker(value) for value in loss.inputs[:2] if value != op.outputs[0]]
        if (
            len(others) == 1
            and others[0] is not None
            and others[0].name in MULTIPLICATIONS
            and mask in others[0].inputs
        ):
            yield loss


def _scaled(known: Paths, key: Key) -> bool:
    """Whether a mean is divided, or multiplied, by a tensor: by the share of what counts, perhaps."""
    todo = [key]
    for one in todo:  # grows while it is walked
        for given, op in known.used.feeds.get(one, ()):
            if op is not None and op.name in SCALES and len(op.inputs) > 1:
                return True
            if op is not None and op.name in SAME:
                todo.append(given)
    return False


def _others(
    known: Paths, products: list[tuple[ZeroOnes, Op]], masked: set[Key]
) -> Iterator[tuple[Op, ZeroOnes, Op]]:
    """Means over values of the very form of such a mask, in the same loss, that no mask has met."""
    first: dict[int, tuple[ZeroOnes, Op]] = {}  # of each graph
    for event, op in products:
        first.setdefault(op.graph, (event, op))
    done: set[tuple[str, int]] = set()
    for key, mean in known.used_calls(MEANS):
        given = (mean.graph, mean.inputs[0])
        if mean.graph not in first or mean.site.user.location() in done:
            continue
        done.add(mean.site.user.location())  # what one call of a line shows, the others do
        if shape_of(known, key) or not known.value(given).requires_grad:
            continue
        event, op = first[mean.graph]
        form, graph = tuple(event.shape), known.graph(mean.graph)
        if len(form) != 2 or shape_of(known, given) != form or _scaled(known, key):
            continue
        if masked.isdisjoint((graph.id, index) for index in graph.upstream(given[1])):
            if known.loss_of(key) is known.loss_of(_result(op)):
                yield mean, event, op


def _finding(trace: Trace, known: Paths, event: ZeroOnes, op: Op, mean: Op, direct: bool) -> Finding:
    share = event.zeros / event.elements
    loss = known.loss_of((mean.graph, mean.outputs[0]))
    text, fix, edits = mean_over(
        trace, mean.site.user, op.site.user, event.place, direct=direct, turned=event.turned
    )
    mask = f"`{text}`" if text else "the mask"
    zero, rows = ("True", "False first and True") if event.turned else ("0", "ones first and zeros")
    if op.name in FILLED_WHERE and not event.turned:
        zero, rows = "False", "True first and False"
    places = f"all {event.elements:,} places"
    if shape_of(known, (mean.graph, mean.outputs[0])):
        places = f"all {event.shape[-1]:,} places of each sample"
        own = f"{kept_places(text or 'mask', event.turned)}.sum(1)"
        fix = (
            f"take the sum of each sample in {located(trace, mean.site.user)} and divide it by what counts, `{own}`; or"
            " take the sum alone, where the program divides by the number of what counts later"
        )
    whole = code(trace, mean.site.user, f"`{mean.name}`")
    by = located(trace, op.site.user, f"`{op.name}`")
    left_out = "sets to zero" if direct else f"leaves out in {code(trace, op.site.user, 'another term')}"
    return Finding(
        message=f"{whole} divides by {places}: {100 * share:.0f}% of them are padding, which "
        f"{mask} {left_out}",
        cause=mean.site.user,
        cause_label="counts the padding",
        effect=loss.site.user if loss is not None else None,
        effect_label="learns from a mean over padding" if not direct else "gets a loss that is too small",
        related=() if direct else ((op.site.user, f"{mask} leaves the padding out here"),),
        seen=(
            f"in {by} {mask} of shape {tuple(event.shape)} was {zero} in {event.zeros:,} of {event.elements:,} places, "
            f"each {'column' if event.columns else 'row'} {rows} behind them",
        ),
        fix=fix,
        edits=edits,
        severity="" if share >= MOST else "note",
    )
