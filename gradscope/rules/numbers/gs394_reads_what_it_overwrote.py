"""Rows are put in another order within one tensor: some are read when another row has taken their place.

Why: `x[i] = x[j]` in a loop reads and writes the same memory. A row whose place was taken before its turn is gone, and
the row that took it is there twice: after an unsorting like this, some samples have the answers of others.

Fix: read from a copy that the loop does not write to, or take all rows in one call: `x = x[order]`.

Measured: the rows that are read and the places that are written, of each tensor; they are a reordering of its rows.
Silent on: rows that are moved up by one, or filled from the row before, where what was written is meant to be read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.words import code, located, plural
from gradscope.events import MovedRows
from gradscope.fixes.source import Edits, Source, free_name
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import names_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn = nn.GRU(3, 2, batch_first=True)
    lengths, order = torch.tensor([2, 5, 3, 4]).sort(descending=True)
    x = torch.randn(4, 5, 3)[order]
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
    with torch.no_grad():
        state = rnn(packed)[1][0]
    for row, place in enumerate(order.tolist()):
        state[place] = state[row]  # cause: GS394
    print(state)


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn = nn.GRU(3, 2, batch_first=True)
    lengths, order = torch.tensor([2, 5, 3, 4]).sort(descending=True)
    x = torch.randn(4, 5, 3)[order]
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
    with torch.no_grad():
        state = rnn(packed)[1][0]
    answers = torch.empty_like(state)
    for row, place in enumerate(order.tolist()):
        answers[place] = state[row]
    print(answers)


@rule("GS394", name="reads-what-it-overwrote", severity="warning", needs=MovedRows)
def reads_what_it_overwrote(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(MovedRows):
        place = event.site.user
        fix, edits = _fix(trace, event)
        yield Finding(
            message=f"{code(trace, place, 'this line')} puts the rows of a tensor in another order within itself: some"
            " are read when they are overwritten",
            cause=place,
            cause_label="reads and writes one tensor",
            seen=(
                f"in {plural(event.tensors, 'tensor')} {event.rows} rows were put to other places, each of them once:"
                f" {event.overwritten} were read when another row had taken their place",
            ),
            fix=fix,
            edits=edits,
            subjects=frozenset({("line", *place.location())}),
        )


def _fix(trace: Trace, event: MovedRows) -> tuple[str, Edits]:
    """A copy of the tensor before the loop, that the line reads from."""
    place = event.site.user
    otherwise = (
        f"read the rows in {located(trace, place)} from a copy that is made before the loop, or take all of them in one"
        " call, `x[order]`"
    )
    file = trace.source_file(place.path)
    line = file.statement(place)
    loop = file.loop_of(line) if line is not None else None
    if loop is None or not isinstance(line, ast.Assign):
        return otherwise, ()
    read = line.value
    if not isinstance(read, ast.Subscript) or not isinstance(read.value, ast.Name):
        return otherwise, ()
    copy = free_name([f"{read.value.id}_before", "rows_before"], names_in(file.scope(place)))
    source = Source(trace, place.path)
    edits = (
        *source.before(loop, f"{copy} = {read.value.id}.clone()"),
        *source.replace(read.value, copy),
    )
    return f"read the rows from a copy: `{copy} = {read.value.id}.clone()` before the loop", edits
