"""Labels are exchanged in a copy that is none: the mask reads what the same loop has written.

Why: `renamed = labels` gives the tensor another name. Each turn of a loop that sets `renamed[labels == old] = new`
changes `labels` too, and a label that was just given is taken for an old one in a later turn: several become one.

Fix: `renamed = labels.clone()`.

Measured: both names are the same memory (a view is, too), the mask is made of comparisons of the one, the line writes
to the other (by an index, `masked_fill_` or `index_put_`), and it wrote to elements that it had written to before.
Silent on: one name for both, as where groups are merged on purpose.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import place as where
from gradscope.analysis.ops import COMPARISONS, LOGIC
from gradscope.analysis.reach import paths
from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, plural
from gradscope.events import WrittenAgain
from gradscope.fixes.source import Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace

WRITES = {"__setitem__", "masked_fill_", "index_put_"}
TESTS = COMPARISONS | {"isin"}
MOST_PARTS = 16  # of one mask


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


@rule("GS112", name="mask-reads-what-is-written", severity="warning", needs=WrittenAgain)
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
    """Whether the mask was compared from the memory that is written to."""
    known = paths(trace)
    op = next((op for op in trace.called_at(event.site.id, WRITES) if op.writes), None)
    if op is None:
        return False
    memory = known.memory_made((op.graph, op.writes[0]))
    todo, seen = [(op.graph, index) for index in op.inputs if index not in op.writes], 0
    while todo and seen < MOST_PARTS:
        maker, seen = known.maker(todo.pop()), seen + 1
        if maker is None:
            continue
        read = [(maker.graph, index) for index in maker.inputs]
        if maker.name in LOGIC:
            todo += read
        elif maker.name in TESTS and read and known.memory_made(read[0]) == memory:
            return True
    return False


def _finding(trace: Trace, event: WrittenAgain) -> Finding | None:
    place = event.site.user
    here = Source(trace, place.path)
    parts = _parts(here.file.at(place))
    if parts is None:
        return None
    target, mask = parts
    written, scope = here.text_of(target), here.file.scope_of(target)
    given = [v for v in here.file.assigned.get(written, ()) if here.file.scope_of(v) is scope]
    if len(given) != 1:
        return None
    name = given[0]
    masks = [
        mask,
        *(v for v in here.file.assigned.get(ast.unparse(mask), ()) if here.file.scope_of(v) is scope),
    ]
    read = ast.unparse(_whose(name))
    if written == read or all(ast.unparse(part) != read for each in masks for part in ast.walk(each)):
        return None
    cause, view = site_of(place.path, place.function, name), ast.unparse(name) != read
    return Finding(
        message=f"`{written}` is `{read}` under another name: {code(trace, place, 'the write')} changes what its own"
        " mask reads",
        cause=cause,
        cause_label="the same memory, no copy" if view else "another name, no copy",
        effect=place,
        effect_label=f"changes `{read}`, too",
        seen=(
            f"in {plural(event.writes, 'write')} to {plural(event.tensors, 'tensor')} {event.first} elements were"
            f" changed, and {event.again} times one of these was changed again",
        ),
        fix=f"make a copy: `{written} = {here.text_of(name)}.clone()` ({where(cause)})",
        edits=here.append(name, ".clone()"),
        count=event.writes,
        subjects=frozenset({("renamed", *place.location())}),
    )


def _parts(node: ast.AST | None) -> tuple[ast.expr, ast.expr] | None:
    """What a line writes to, and the mask that picks the elements."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node
    if isinstance(target, ast.Subscript):
        return target.value, target.slice
    if isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute) and target.args:
        return target.func.value, target.args[0]
    return None


def _whose(node: ast.expr) -> ast.expr:
    """`labels` of `labels.view(-1)` and `labels[:]`, which may be its memory: that it is, the run has shown."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Attribute) and node.attr in {"data", "T", "mT"}:
            node = node.value
        else:
            return node
