"""The network answers batch after batch, and what is counted behind the loop knows the answers to the last one alone.

Why: a name holds what it was given last. A comparison that stands behind the loop over the batches sees the answers to
the last batch, and only its labels: an accuracy of a few samples, which jumps from one evaluation to the next, and may
be far from that of all.

Fix: compare inside of the loop, add the counts up, and divide behind it.

That the network answered each batch was seen in the run; that nothing reads these answers before the next ones take
their name is read in the program's text. Silent on: answers that the loop uses itself (for its loss, in a list), on
states that a loop carries on, and on what does not meet the labels of that batch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.figures import added_by, passes_of
from gradscope.analysis.text import nodes_that_ran, own_nodes, site_of
from gradscope.analysis.words import code, located, plural
from gradscope.events import ModuleCall
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import SourceFile, names_in, stands_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for a, b in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(a), b).backward()
            opt.step()
        right = asked = 0
        with torch.no_grad():
            for a, b in loader:  # noqa: B007
                out = model(a)  # effect: GS468
            right += (out.argmax(1) == b).sum().item()  # cause: GS468
            asked += len(b)
        print(right / asked)


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for a, b in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(a), b).backward()
            opt.step()
        right = asked = 0
        with torch.no_grad():
            for a, b in loader:
                out = model(a)
                right += (out.argmax(1) == b).sum().item()
                asked += len(b)
        print(right / asked)


SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


class _Read(NamedTuple):
    """A statement behind a loop that compares the answers of its last round with what that round was given."""

    statement: ast.stmt
    block: list[ast.stmt]  # what belongs into the loop with it: from the first one behind the loop on


@rule("GS468", name="answers-of-the-last-batch", severity="warning")
def answers_of_the_last_batch(trace: Trace) -> Iterator[Finding]:
    called = [event.site.user for event in trace.of(ModuleCall)]
    for path, function, loop in nodes_that_ran(trace, ast.For):
        batches = max((event.batches for event in passes_of(trace, path, loop)), default=0)
        file = trace.source_file(path)
        if batches < 2 or any(isinstance(node, (ast.Break, ast.Return)) for node in own_nodes(loop)):
            continue
        for made in own_nodes(loop):
            if not isinstance(made, ast.Assign) or file.loop_of(made) is not loop:
                continue
            calls = [site for site in called if site.path == path and stands_in(made, site)]
            held = _held_to_the_end(file, loop, made) if calls else set()
            read = _read_behind(file, loop, held) if held else None
            if read is not None:
                yield _finding(trace, path, function, loop, made, calls[0], read, batches)


def _held_to_the_end(file: SourceFile, loop: ast.For, made: ast.Assign) -> set[str]:
    """The names that carry what an assignment makes out of the loop: its own, and those that are given what is made of
    it. Empty where a round does anything else with one of them."""
    held: set[str] = set()
    todo: list[ast.AST] = [made]
    while todo:
        statement = todo.pop()
        plain = isinstance(statement, ast.Assign) and file.siblings(statement) is loop.body
        if not plain or not isinstance(statement, ast.Assign) or not _gives_names(statement):
            return set()
        for name in names_in(statement, ast.Store) - held:
            held.add(name)
            for node in own_nodes(loop):
                if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                    reader = file.statement_of(node)
                    if reader is None or reader is made:
                        return set()
                    todo.append(reader)
    return held


def _gives_names(statement: ast.Assign) -> bool:
    return all(
        isinstance(one, (ast.Name, ast.Tuple, ast.Starred, ast.expr_context))
        for target in statement.targets
        for one in ast.walk(target)
    )


def _read_behind(file: SourceFile, loop: ast.For, held: set[str]) -> _Read | None:
    """What follows the loop in its block and compares what it held with what its last round was given."""
    given = names_in(loop.target)
    behind = file.behind(loop)
    block: list[ast.stmt] = []
    derived, ends = set(held), False
    first: ast.stmt | None = None
    for one in behind:
        read, bound = names_in(one, ast.Load), names_in(one, ast.Store)
        ends = ends or not read & (derived | given) or not isinstance(one, (ast.Assign, ast.AugAssign))
        if not ends:
            block.append(one)
        if isinstance(one, SIMPLE) and first is None and read & derived and read & given:
            first = one
        if isinstance(one, ast.Assign) and read & derived:
            derived |= bound
        elif bound & (derived | given) and not isinstance(one, ast.AugAssign):
            break  # another batch's from here on
    adds = any(added_by(one) is not None for one in block)
    return None if first is None else _Read(first, block if adds and first in block else [])


def _finding(
    trace: Trace,
    path: str,
    function: str,
    loop: ast.For,
    made: ast.Assign,
    call: Site,
    read: _Read,
    batches: int,
) -> Finding:
    here = Source(trace, path)
    edits: Edits = here.together_under(read.block, "") if read.block else ()
    first = read.block[0] if read.block else read.statement
    end = read.block[-1].end_lineno if read.block else read.statement.lineno
    through = f" through line {end}" if end != first.lineno else ""
    cause = site_of(path, function, read.statement)
    return Finding(
        message=f"{code(trace, call, 'the network')} answers {plural(batches, 'batch')}, and what is compared is the"
        " last one's answers alone",
        cause=cause,
        cause_label="stands behind the loop: knows the answers to the last batch, and its labels",
        effect=site_of(path, function, made),
        effect_label="gives the answers to each batch, which nothing reads before those to the next",
        seen=(
            f"the loop over `{ast.unparse(loop.iter)}` went through {plural(batches, 'batch')}, and the network was"
            " called in each",
        ),
        fix=f"indent {located(trace, site_of(path, function, first))}{through}, into the loop of line {loop.lineno}"
        + (", so that all batches are added up" if edits else ", add the batches up, and divide behind it"),
        edits=edits,
        subjects=frozenset({("sum", *cause.location())}),
    )
