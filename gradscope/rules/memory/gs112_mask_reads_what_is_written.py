"""Labels are exchanged in a copy that is none: the mask reads what the same loop has written.

Why: `renamed = labels` gives the tensor another name. Each turn of a loop that sets `renamed[labels == old] = new`
changes `labels` too, and a label that was just given is taken for an old one in a later turn: several become one.

Fix: `renamed = labels.clone()`.

Measured: both names are the same memory, the mask is a comparison of the one, the line writes to the other, and it
wrote to elements that it had written to before. Silent on: one name for both, as where groups are merged on purpose.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import place as where
from gradscope.analysis.ops import EQUALITIES
from gradscope.analysis.reach import paths
from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, plural
from gradscope.events import WrittenAgain
from gradscope.fixes.source import Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(32, 4)
        labels = x.argmax(1)
        order = torch.tensor([2, 3, 1, 0])
        renamed = labels  # cause: GS112
        for i in range(4):
            renamed[labels == i] = order[i]  # effect: GS112
        loss = nn.functional.cross_entropy(model(x), renamed)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(32, 4)
        labels = x.argmax(1)
        order = torch.tensor([2, 3, 1, 0])
        renamed = labels.clone()
        for i in range(4):
            renamed[labels == i] = order[i]
        loss = nn.functional.cross_entropy(model(x), renamed)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS112", name="mask-reads-what-is-written", severity="warning")
def mask_reads_what_is_written(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(WrittenAgain):
        if event.site.user.location() in told or not _of_itself(trace, event):
            continue
        found = _finding(trace, event)
        if found is not None:
            told.add(event.site.user.location())
            yield found


def _of_itself(trace: Trace, event: WrittenAgain) -> bool:
    """Whether the mask is a comparison of the memory that is written to."""
    known = paths(trace)
    op = next((op for op in trace.called_at(event.site.id, {"__setitem__"}) if op.writes), None)
    if op is None:
        return False
    memory = known.memory_made((op.graph, op.writes[0]))
    masks = (known.maker((op.graph, index)) for index in op.inputs)
    return any(
        mask is not None
        and mask.name in EQUALITIES
        and known.memory_made((mask.graph, mask.inputs[0])) == memory
        for mask in masks
    )


def _finding(trace: Trace, event: WrittenAgain) -> Finding | None:
    place = event.site.user
    here = Source(trace, place.path)
    node = here.file.at(place)
    target = node.targets[0] if isinstance(node, ast.Assign) else node
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Compare):
        return None
    written, read = here.text_of(target.value), here.text_of(target.slice.left)
    given = [
        value
        for value in here.file.assigned.get(written, ())
        if ast.unparse(value) == read and here.file.scope_of(value) is here.file.scope_of(target)
    ]
    if written == read or len(given) != 1:
        return None
    name = given[0]
    cause = site_of(place.path, place.function, name)
    return Finding(
        message=f"`{written}` is `{read}` under another name: {code(trace, place, 'the write')} changes what its own"
        " mask reads",
        cause=cause,
        cause_label="another name, no copy",
        effect=place,
        effect_label=f"changes `{read}`, too",
        seen=(
            f"in {plural(event.writes, 'write')} to {plural(event.tensors, 'tensor')} {event.first} elements were"
            f" changed, and {event.again} times one of these was changed again",
        ),
        fix=f"make a copy: `{written} = {read}.clone()` ({where(cause)})",
        edits=here.append(name, ".clone()"),
        count=event.writes,
        subjects=frozenset({("renamed", *place.location())}),
    )
