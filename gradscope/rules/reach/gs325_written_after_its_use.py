"""A tensor is written to after everything has been computed from it.

Why: an operation takes the numbers that a tensor holds when it runs. What is written into the tensor afterwards changes
nothing of what was computed before, and where nothing reads the tensor again it changes nothing at all.

Fix: put the write before the line that reads the tensor.

Measured: no operation of the run, in any step, read the memory after the write, some had read it before, and the
program's text names the variable nowhere after it.
Silent on: tensors that came from elsewhere or are handed on, buffers and states, leaves, writes by way of `.data` into
what a backward may read (that of a sum reads nothing).
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.loop import settled
from gradscope.analysis.never_read import LateWrite, late_writes
from gradscope.analysis.words import code, located, plural, quoted
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def learn(x: torch.Tensor, reward: torch.Tensor, over: torch.Tensor) -> None:
        with torch.no_grad():
            after = model(x + 1).max(1).values
            target = reward + 0.9 * after  # effect: GS325
            after[over] = 0.0  # cause: GS325
        loss = (model(x)[:, 0] - target).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

    for _ in range(4):
        learn(torch.randn(8, 4), torch.randn(8), torch.rand(8) < 0.2)


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def learn(x: torch.Tensor, reward: torch.Tensor, over: torch.Tensor) -> None:
        with torch.no_grad():
            after = model(x + 1).max(1).values
            after[over] = 0.0
            target = reward + 0.9 * after
        loss = (model(x)[:, 0] - target).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

    for _ in range(4):
        learn(torch.randn(8, 4), torch.randn(8), torch.rand(8) < 0.2)


@rule("GS325", name="written-after-its-use", severity="warning")
def written_after_its_use(trace: Trace) -> Iterator[Finding]:
    if settled(trace):
        yield from (_finding(trace, late) for late in late_writes(trace))


def _finding(trace: Trace, late: LateWrite) -> Finding:
    place, reader = late.op.site.user, late.reader
    text = Source(trace, place.path).text_of(late.statement)
    write = quoted(text) if text else code(trace, place, "this write")
    return Finding(
        message=f"{write} changes nothing: what reads `{late.name}` has run before it",
        cause=place,
        cause_label=f"nothing reads `{late.name}` after this",
        effect=reader,
        effect_label=f"takes `{late.name}` as it was",
        seen=(
            f"in {plural(late.graph.count, 'step')} that were looked at no operation read `{late.name}` after the"
            f" write; the last that did is {located(trace, reader)}",
        ),
        fix=f"put {write} before {located(trace, reader)}, which reads `{late.name}`",
        edits=_before(trace, late),
        count=late.graph.count,
        subjects=frozenset({("write", *place.location())}),
    )


def _before(trace: Trace, late: LateWrite) -> Edits:
    """The write before the statement that reads the tensor, where that is plain: the first one after it was made."""
    here = Source(trace, late.op.site.path)
    statement = here.file.statement(late.reader)
    if statement is None or statement not in here.file.siblings(late.statement):
        return ()
    return here.move(late.statement, statement)
