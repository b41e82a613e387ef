"""A row of a buffer is written twice in each turn of a loop: what the first line puts there is never read.

Why: a line at the start of a turn stores what has come in, another one after it the outcome of the turn, in the same
row. The second takes the place of the first, and each row holds what belongs to the next one: a flag that says where an
episode begins, say, comes one step too early, and estimates go on over the end of the episode.

Fix: leave out the second write; the first line of the next turn stores the same, in the row it belongs to.

Measured: in each turn that was looked at, nothing touched the buffer between the two writes, and the first line of the
next turn wrote the very tensor that the second one had put into the row before.
Silent on: writes under a condition, defaults that are replaced, rows that are read or changed in between, two writes of
different things.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.overwritten import Overwritten, overwritten
from gradscope.analysis.words import counted, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Linear(1, 1)
    opt = torch.optim.SGD(value.parameters(), lr=0.05)
    state, done = torch.randn(4, 1), torch.zeros(4)
    for _ in range(3):
        states, dones = torch.zeros(8, 4, 1), torch.zeros(8, 4)
        for step in range(8):
            states[step] = state
            dones[step] = done  # effect: GS336
            state = torch.randn(4, 1)
            done = (torch.rand(4) < 0.2).float()
            dones[step] = done  # cause: GS336
        with torch.no_grad():
            wanted = states[:-1].sum(-1) + 0.9 * (1 - dones[1:]) * value(states[1:]).squeeze(-1)
        loss = (value(states[:-1]).squeeze(-1) - wanted).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Linear(1, 1)
    opt = torch.optim.SGD(value.parameters(), lr=0.05)
    state, done = torch.randn(4, 1), torch.zeros(4)
    for _ in range(3):
        states, dones = torch.zeros(8, 4, 1), torch.zeros(8, 4)
        for step in range(8):
            states[step] = state
            dones[step] = done
            state = torch.randn(4, 1)
            done = (torch.rand(4) < 0.2).float()
        with torch.no_grad():
            wanted = states[:-1].sum(-1) + 0.9 * (1 - dones[1:]) * value(states[1:]).squeeze(-1)
        loss = (value(states[:-1]).squeeze(-1) - wanted).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS336", name="row-overwritten-unread", severity="warning")
def row_overwritten_unread(trace: Trace) -> Iterator[Finding]:
    yield from (_finding(trace, found) for found in overwritten(trace))


def _finding(trace: Trace, found: Overwritten) -> Finding:
    first, second = located(trace, found.first), located(trace, found.second)
    return Finding(
        message=f"`{found.target}` is overwritten before anything reads what was put there in the same turn",
        cause=found.second,
        cause_label="takes the place of what this turn wrote before",
        effect=found.first,
        effect_label="what this writes is read by nothing",
        seen=(
            f"in {counted(found.times, 'turn')} that were looked at nothing touched the buffer between the two writes",
            f"what {second} writes is written once more in the next turn, by {first}",
        ),
        fix=f"leave out {second}: {first} stores the same in the next turn, in the row of that turn",
        edits=_left_out(trace, found),
        count=found.times,
        subjects=frozenset({("write", *found.second.location())}),
    )


def _left_out(trace: Trace, found: Overwritten) -> Edits:
    """Without the second write, where it does nothing else."""
    one, here = found.statement, Source(trace, found.second.path)
    value = one.value if isinstance(one, ast.Assign) else None
    plain = (
        isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Subscript)
    )
    if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and len(one.value.args) == 1:
        value, plain = one.value.args[0], not one.value.keywords
    while isinstance(value, ast.Attribute):
        value = value.value
    return here.remove(one) if plain and isinstance(value, ast.Name) else ()
