"""A new iterator is made for each batch: a loader that does not shuffle gives its first batch each time.

Why: `iter(loader)` begins at the front. `next(iter(loader))` in a loop takes the first batch, lets go of the iterator,
and takes the first batch again: a score is that of one batch, as often as it is counted, and a training sees no other
sample. With `shuffle=True` it is a batch at random each time, which is slow, and takes some samples several times.

Fix: go through the loader, `for x, y in loader`; or make the iterator once, before the loop, and call `next` on that.

Measured: iterators of one loader that one line asked for, each of which gave a single batch, the same one; how many
came after each other, and how many batches the loader has. Told as a warning where as many rounds follow each other
with no step between as the loader has batches, and what the rounds of the loop count goes into no computation; as a
note where a training takes its only batch that way, which may be meant.
Silent on: loaders that shuffle, a batch that is looked at once, or once in an epoch, rounds in which the network, its
input or its dropout is another one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.reach import paths
from gradscope.analysis.samples import LOADER
from gradscope.analysis.words import code, located, user
from gradscope.events import FirstBatchAgain
from gradscope.fixes.source import Edits, Source, free_name
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import SourceFile, called_name, names_in
from gradscope.store import Trace

ROUNDS = 3
STEPS = 8  # rounds with a step each, at least
SHOWN_BY = {"print", "set_description", "set_postfix", "info", "debug", "update"}

Loop = ast.For | ast.AsyncFor | ast.While


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(60, 4)
    y = (x[:, 0] > 0).long()
    loader = DataLoader(TensorDataset(x[:40], y[:40]), batch_size=8, shuffle=True)
    held = DataLoader(TensorDataset(x[40:], y[40:]), batch_size=4)  # related: GS431
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for rows, labels in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(rows), labels).backward()
            opt.step()
        model.eval()
        right = 0
        with torch.no_grad():
            for _ in range(len(held)):
                rows, labels = next(iter(held))  # cause: GS431
                right += int((model(rows).argmax(1) == labels).sum())
        model.train()
        print(right / 20)


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(60, 4)
    y = (x[:, 0] > 0).long()
    loader = DataLoader(TensorDataset(x[:40], y[:40]), batch_size=8, shuffle=True)
    held = DataLoader(TensorDataset(x[40:], y[40:]), batch_size=4)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for rows, labels in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(rows), labels).backward()
            opt.step()
        model.eval()
        right = 0
        with torch.no_grad():
            batches = iter(held)
            for _ in range(len(held)):
                rows, labels = next(batches)
                right += int((model(rows).argmax(1) == labels).sum())
        model.train()
        print(right / 20)


@rule("GS431", name="first-batch-again", severity="warning", needs=FirstBatchAgain)
def first_batch_again(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(FirstBatchAgain):
        asked = trace.site(event.loop)
        line = user(asked)
        if asked is None or line is None or event.batches < 2 or line.location() in told:
            continue
        found = _around(trace, asked)
        if found is None:
            continue
        loop, here = found
        if _goes_through_all(event) and not event.varies and _rounds_are_alike(here, loop):
            told.add(line.location())
            yield _finding(trace, event, line, loop, most=max(event.rows))
        elif event.stepped >= max(STEPS, event.batches) and _is_trained_on(trace, line):
            told.add(line.location())
            yield _finding(trace, event, line, loop, most=0)


def _goes_through_all(event: FirstBatchAgain) -> bool:
    """Whether as many rounds come after each other as the loader has batches, or whole ones: one time or several."""
    counts = {event.batches, event.samples // event.size} - {0, 1}
    return bool(event.rows) and any(
        all(row >= ROUNDS and not row % count for row in event.rows) for count in counts
    )


def _around(trace: Trace, asked: Site) -> tuple[Loop, SourceFile] | None:
    """The loop around the line that asks, or around the call of the function that it is in."""
    for frame in asked.stack[::-1]:
        if frame.kind != "user":
            continue
        file = trace.source_file(frame.path)
        statement = file.statement(frame)
        loop = file.loop_of(statement) if statement is not None else None
        if loop is not None:
            return loop, file
    return None


def _rounds_are_alike(file: SourceFile, loop: Loop) -> bool:
    """Whether what changes from round to round is used for nothing but to count them, to show them, and as the place
    where a result is put."""
    changed = names_in(loop.target) if not isinstance(loop, ast.While) else _counters(loop)
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in changed and isinstance(node.ctx, ast.Load):
                if not _only_counts(file, node, loop):
                    return False
    return True


def _counters(loop: ast.While) -> set[str]:
    """The names that a round gives another value from the value that they had."""
    return {
        name
        for node in ast.walk(loop)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
        for name in [node.target.id]
        if name in names_in(loop.test)
    }


def _only_counts(file: SourceFile, name: ast.Name, loop: Loop) -> bool:
    for above in file.above(name):
        if above is loop:
            return False
        if isinstance(above, ast.Subscript):
            return isinstance(above.ctx, ast.Store)
        if isinstance(above, ast.Call):
            return called_name(above) in SHOWN_BY
        if isinstance(above, ast.Assign | ast.AugAssign):
            targets = above.targets if isinstance(above, ast.Assign) else [above.target]
            return all(isinstance(one, ast.Name) and one.id == name.id for one in targets)
    return False


def _is_trained_on(trace: Trace, line: Site) -> bool:
    """Whether passes are computed from what that line took."""
    known = paths(trace)
    return any(
        op.site.user.location() == line.location() and op.site.under(LOADER)
        for key in known.used.order
        if (op := known.maker(key)) is not None
    )


def _finding(trace: Trace, event: FirstBatchAgain, line: Site, loop: Loop, most: int) -> Finding:
    made = event.site.user
    text = code(trace, line, "a new iterator")
    fix, edits = _once(trace, line, loop) if most else ("", ())
    if most:
        message = f"{text} begins anew in each round: all {most:,} rounds get the first of {event.batches:,} batches"
        fix = (
            fix
            or f"go through the loader, `for … in loader`, in place of the rounds around {located(trace, line)}"
        )
    else:
        message = f"{text} begins anew in each step: the training only ever gets the first of {event.batches:,} batches"
        fix = (
            f"go through the loader, `for … in loader`, in place of {located(trace, line)}; if one batch is meant, take"
            " it once, before the loop"
        )
    return Finding(
        severity="warning" if most else "note",
        message=message,
        cause=line,
        cause_label="makes a new iterator, and takes its first batch",
        related=((made, "goes through its samples in the same order each time"),),
        seen=(
            f"{event.rounds:,} iterators were made here, and one batch was taken of each; all that were compared were"
            " the same",
            f"the loader has {event.samples:,} samples in {event.batches:,} batches, and does not shuffle: "
            f"{event.samples - event.size:,} of them are never seen here",
        ),
        fix=fix,
        edits=edits,
        count=event.rounds,
        subjects=frozenset({("loader", *made.location())}),
    )


def _once(trace: Trace, line: Site, loop: Loop) -> tuple[str, Edits]:
    """`batches = iter(loader)` before the loop, and `next(batches)` in it."""
    here = Source(trace, line.path)
    node = here.file.at(line)
    asked = next((one for one in ast.walk(node) if _is_iter(one)), None) if node is not None else None
    if not isinstance(asked, ast.Call) or here.file.loop_of(asked) is not loop:
        return "", ()
    above = here.file.parent.get(id(asked))
    if called_name(above) != "next" or names_in(asked) & names_in(loop, ast.Store):
        return "", ()
    scope = here.file.scope(line)
    name = free_name(["batches", "batch_iterator", "all_batches"], names_in(scope))
    text = here.file.text(asked)
    edits = here.before(loop, f"{name} = {text}")
    edits = edits + here.replace(asked, name) if edits else ()
    return (
        f"make the iterator once: `{name} = {text}` before the loop, and `next({name})` in place of"
        f" {located(trace, line)}",
        edits,
    )


def _is_iter(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called_name(node) == "iter" and len(node.args) == 1
