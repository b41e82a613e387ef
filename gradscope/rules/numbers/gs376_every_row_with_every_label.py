"""The labels of a batch index the columns of all rows at once: every row is taken with every label.

Why: `p[:, labels]` gives each row the columns of all N labels, N by N numbers, and only those on the diagonal belong
together. Their sum or mean asks each sample for the labels of all: of a softmax it is nearly the same number whatever
the network says, and where each class comes as often as the others exactly that, without any gradient.

Fix: one column of each row: `p[torch.arange(len(p)), labels]`, or `p.gather(1, labels.unsqueeze(1))`.

Measured: in all calls the index has as many numbers as there are rows, other ones from call to call, or they are the
labels of a loss of torch's, too; the result is added up, for each row or over all.
Silent on: columns that are the same in each call, results whose diagonal or some part is taken, sums for each row where
something else is picked of the same numbers (the mean over the others, beside the one of the row).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import (
    CASTS,
    CLASS_LOSSES,
    LOGARITHMS,
    MASKING,
    NEGATIONS,
    PARTS,
    POWERS,
    REDUCTIONS,
    SOFTMAXES,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.samples import TAKING
from gradscope.analysis.words import code, located, plural
from gradscope.events import PickedColumns
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

OTHER_PICKS = (
    PARTS | MASKING | CLASS_LOSSES | {"gather", "take_along_dim", "diagonal", "diag", "trace", "where"}
)
BETWEEN = NEGATIONS | LOGARITHMS | POWERS | CASTS  # what a loss by hand makes of a probability
NEAR = 6  # calls from there to the sum
SHUFFLES = {"randperm"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, labels = torch.randn(8, 4), torch.randint(0, 3, (8,))
        p = model(x).log_softmax(1)
        loss = -p[:, labels].mean()  # cause: GS376
        opt.zero_grad()
        loss.backward()  # effect: GS376
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, labels = torch.randn(8, 4), torch.randint(0, 3, (8,))
        p = model(x).log_softmax(1)
        loss = -p[torch.arange(8), labels].mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS376", name="every-row-with-every-label", severity="warning", needs=PickedColumns)
def every_row_with_every_label(trace: Trace) -> Iterator[Finding]:
    events = {event.site.user.span(): event for event in trace.of(PickedColumns)}
    if not events:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls(TAKING):
        event = events.get(op.site.user.span())
        if event is None or op.site.user.location() in told or len(op.inputs) != 2:
            continue
        if _belong_to_rows(known, op, event) and _is_added_up(known, key, op):
            told.add(op.site.user.location())
            yield _finding(trace, known, op, event)


def _belong_to_rows(known: Paths, op: Op, event: PickedColumns) -> bool:
    """Whether there is an index for each row: the labels of a loss, or others in each call."""
    index = known.made((op.graph, op.inputs[1]))
    graph = known.graph(op.graph)
    for loss in graph.called(CLASS_LOSSES):
        if len(loss.inputs) > 1 and known.made((graph.id, loss.inputs[1])) == index:
            return True
    maker = known.maker(index)
    shuffled = maker is not None and maker.name in SHUFFLES
    return event.calls > 2 and event.changed == event.calls - 1 and not shuffled


def _is_added_up(known: Paths, key: Key, op: Op) -> bool:
    """Whether all that is picked is added up to one number; or to one of each row, and nothing else is picked."""
    if known.becomes_number(key, BETWEEN, REDUCTIONS, NEAR):
        return True
    read = [
        one for _, _, one in known.onward(key, lambda _, one: one is not None and one.name in BETWEEN, NEAR)
    ]
    if not all(one is not None and one.name in BETWEEN | REDUCTIONS for one in read):
        return False
    summed = any(one is not None and one.name in REDUCTIONS for one in read)
    others = known.readers((op.graph, op.inputs[0]))
    return summed and not any(one is None or (one.name in OTHER_PICKS and one is not op) for one in others)


def _finding(trace: Trace, known: Paths, op: Op, event: PickedColumns) -> Finding:
    site, key = op.site.user, (op.graph, op.outputs[0])
    loss = known.loss_of(key)
    rows, columns = event.shape
    fix, edits = _of_each_row(trace, op)
    softmax = known.maker((op.graph, op.inputs[0]))
    constant = softmax is not None and softmax.name in SOFTMAXES and softmax.name != "log_softmax"
    return Finding(
        message=f"{code(trace, site, 'the index')} takes every row with every label: {rows} by {rows} numbers of"
        f" {rows} by {columns}, of which only the diagonal belongs together",
        cause=site,
        cause_label=f"{rows} columns of each of the {rows} rows",
        effect=loss.site.user if loss is not None else None,
        effect_label="learns from all pairs",
        seen=(
            f"in {plural(event.calls, 'call')} looked at the index had as many numbers as there are rows"
            + (f", and {event.changed} times others than before" if event.changed else "")
            + f"; the first was of shape ({rows},) into ({rows}, {columns}); the result is added up",
        ),
        why="the rows of a softmax sum to 1: added up over all labels they say hardly anything of the network, and"
        " nothing where each class comes equally often: no gradient then"
        if constant
        else "",
        fix=fix,
        edits=edits,
    )


def _of_each_row(trace: Trace, op: Op) -> tuple[str, Edits]:
    here = Source(trace, op.site.user.path)
    node = here.file.at(op.site.user)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        of, (rows, labels) = here.file.text(node.value), node.slice.elts
        if isinstance(rows, ast.Slice) and "\n" not in of and here.file.binds(op.site.user, "torch"):
            name = here.part(labels, Binds.PRIMARY)
            new = f"torch.arange(len({name}), device={name}.device)"
            text = f"`{of}[{new}, {here.file.text(labels)}]`"
            return (
                f"take one column of each row: {text} in {located(trace, op.site.user)}",
                here.replace(node.slice, f"{new}, {here.file.text(labels)}"),
            )
    return (
        f"take one column of each row in {located(trace, op.site.user)}: `x[torch.arange(len(x)), labels]`",
        (),
    )
