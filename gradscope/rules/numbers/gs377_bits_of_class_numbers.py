"""An overlap is made of the numbers of classes by `&` and `|`, which work on their bits.

Why: of masks `a & b` is what both have and `a | b` what one of them has. Of numbers of classes it is neither: 4 & 5 is
4 and 4 | 5 is 5, so that a confusion of class 4 with class 5 counts four fifths of a hit, one of 1 with 2 nothing, and
class 0 never counts at all. The ratio of their sums says little of how much was right.

Fix: one class after the other, `(pred == c) & (target == c)`, and then the mean over the classes.

Measured: both sides are whole numbers, some of them larger than 1, none below 0; the sum of what `&` gives is divided,
or it is added up, and one side is what `argmax` or its like has picked.
Silent on: masks of zeros and ones, bits that are not added up.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.ops import ADDITIONS, CASTS, DIVISIONS, PASSING, REDUCTIONS, SCALES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located, plural
from gradscope.events import Bits
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace

BOTH, EITHER = {"__and__", "bitwise_and"}, {"__or__", "bitwise_or"}
ON = CASTS | REDUCTIONS | ADDITIONS | SCALES | {"long", "int"}
COUNTS = REDUCTIONS | {"count_nonzero"}
FORMS = CASTS | PASSING | {"long", "int", "short"}
FLOATS = ("float", "bfloat")


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(32, 4), torch.randint(0, 6, (32,))
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
    with torch.no_grad():
        guess = model(torch.randn(64, 4)).argmax(1)
        y = torch.randint(0, 6, (64,))
        both = (guess & y).float().sum()  # cause: GS377
        either = (guess | y).float().sum()
        print("IoU", both / either)  # effect: GS377


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(32, 4), torch.randint(0, 6, (32,))
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
    with torch.no_grad():
        guess = model(torch.randn(64, 4)).argmax(1)
        y = torch.randint(0, 6, (64,))
        each = [
            ((guess == c) & (y == c)).sum() / ((guess == c) | (y == c)).sum().clamp(min=1) for c in range(6)
        ]
        print("IoU", torch.stack(each).mean())


@rule("GS377", name="bits-of-class-numbers", severity="warning", needs=Bits)
def bits_of_class_numbers(trace: Trace) -> Iterator[Finding]:
    events = {event.site.user.span(): event for event in trace.of(Bits) if not event.low and event.common}
    if not events:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for graph in map(known.graph, known.graph_ids):
        for op in graph.called(BOTH):
            event = events.get(op.site.user.span())
            if event is None or op.site.user.location() in told:
                continue
            end = _divided(graph, op)
            if end is None and any(_was_picked(known, (graph.id, side)) for side in op.inputs):
                end = _added_up(graph, op)
            if end is not None:
                told.add(op.site.user.location())
                yield _finding(trace, graph, op, end, event)


def _divided(graph: Graph, op: Op) -> Op | None:
    """The division of the sum of what `&` has given."""
    summed = False
    for _, reader in graph.readers_behind(op.outputs, lambda r: r.name in ON):
        summed |= reader.name in REDUCTIONS
        if summed and reader.name in DIVISIONS:
            return reader
    return None


def _added_up(graph: Graph, op: Op) -> Op | None:
    """What counts or adds up what `&` has given."""
    readers = graph.readers_behind(op.outputs, lambda r: r.name in ON)
    return next((reader for _, reader in readers if reader.name in COUNTS), None)


def _was_picked(known: Paths, key: Key) -> bool:
    """Whether whole numbers are places of the largest among others, as those of classes that a network answers."""
    maker = known.maker_behind(key, FORMS)
    if maker is None or not maker.inputs or maker.name in FORMS:
        return False
    given = known.value((maker.graph, maker.inputs[0]))
    return given.dtype.startswith(FLOATS) and any(
        known.value((maker.graph, i)).dtype == "int64" for i in maker.outputs
    )


def _finding(trace: Trace, graph: Graph, op: Op, end: Op, event: Bits) -> Finding:
    site = op.site.user
    others = [o for o in graph.called(EITHER) if set(o.inputs) == set(op.inputs)]
    written = [written_input(trace, op, i) for i in (0, 1)]
    one, other = (
        trace.source_file(site.path).operand(side) if side is not None else name
        for side, name in zip(written, ("pred", "target"), strict=True)
    )
    largest = min(event.left, event.right)
    return Finding(
        message=f"{code(trace, site, '`&`')} works on the bits of numbers up to {largest}, as those of classes are:"
        " what it gives is no overlap",
        cause=site,
        cause_label="`&` of whole numbers, not of masks",
        effect=end.site.user,
        effect_label="takes the sum of these for what both have in common",
        related=tuple((o.site.user, "`|` of whole numbers") for o in others[:1]),
        seen=(
            f"in {plural(event.calls, 'call')} looked at the two sides went up to {event.left} and {event.right}; they"
            f" differed at {event.apart:,} of {event.elements:,} places, and {event.common:,} of these count as if they"
            " had something in common",
        ),
        fix=f"count one class after the other: `({one} == c) & ({other} == c)` over"
        f" `({one} == c) | ({other} == c)` for each class `c`, then the mean of these, in place of"
        f" {located(trace, site)}",
    )
