"""Numbers of columns are taken for those of rows: the first few rows are picked again and again.

Why: `scores[actions]` picks whole rows. Where `actions` has one number for each row, and says which column of it is
meant, the result has the right number of rows, all of them copies of the first few samples, with all their columns; a
loss then compares each of them with the target of another sample.

Fix: `scores.gather(1, actions.unsqueeze(1)).squeeze(1)`, or `scores[torch.arange(len(actions)), actions]`.

Measured: in all calls looked at the index had one number for each row of the matrix, and all were below the number of
its columns, of which there are at most half as many as rows.
Silent on: zeros and ones alone (GS795), lines whose index has a larger number at any call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, plural
from gradscope.events import PickedTwice
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import PRIMARIES
from gradscope.store import Trace

ENOUGH = 32  # entries: so many have a larger one among them where they number rows
MOST_CHANCE = 1e-6  # of that they are all this small where any row may be meant


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    opt = torch.optim.Adam(q.parameters(), lr=0.01)
    for _ in range(5):
        states, actions, returns = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32, 1)
        chosen = q(states)[actions]  # cause: GS434
        loss = (chosen - returns).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    opt = torch.optim.Adam(q.parameters(), lr=0.01)
    for _ in range(5):
        states, actions, returns = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32, 1)
        chosen = q(states).gather(1, actions.unsqueeze(1))
        loss = (chosen - returns).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS434", name="columns-taken-for-rows", severity="warning", needs=PickedTwice)
def columns_taken_for_rows(trace: Trace) -> Iterator[Finding]:
    events = {event.site.user.span(): event for event in trace.of(PickedTwice) if _are_columns(event)}
    told: set[tuple[str, int]] = set()
    for _, op in paths(trace).used_calls({"__getitem__", "index_select"}) if events else ():
        event = events.get(op.site.user.span())
        if event is not None and op.site.user.location() not in told:
            told.add(op.site.user.location())
            yield _finding(trace, event)


def _are_columns(event: PickedTwice) -> bool:
    if event.highest < 2 or event.highest >= event.columns or event.entries < ENOUGH:
        return False
    return (event.columns / event.length) ** event.entries < MOST_CHANCE


def _finding(trace: Trace, event: PickedTwice) -> Finding:
    site, here = event.site.user, Source(trace, event.site.user.path)
    node = here.file.at(site)
    index, value = "index", "scores"
    edits: Edits = ()
    plain = isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Tuple, ast.Slice))
    if isinstance(node, ast.Subscript) and plain:
        index, value = here.file.operand(node.slice), here.file.text(node.value)
    instead = f"{value}.gather(1, {index}.unsqueeze(1))"
    if isinstance(node, ast.Subscript) and plain and isinstance(node.value, PRIMARIES):
        edits = here.replace(node, instead)
    return Finding(
        message=f"{code(trace, site, 'the index')} takes `{index}` for numbers of rows: of {event.length} rows it picks"
        f" the first {event.highest + 1} again and again",
        cause=site,
        cause_label="whole rows, of other samples",
        seen=(
            f"in all {plural(event.calls, 'call')} looked at the index had one number for each of the {event.length}"
            f" rows, none larger than {event.highest}; there are {event.columns} columns",
        ),
        fix=f"pick a column of each row: `{instead}`, of shape ({event.length}, 1), in place of {located(trace, site)};"
        " `.squeeze(1)` behind it takes the axis of 1 away",
        edits=edits,
        count=event.calls,
    )
