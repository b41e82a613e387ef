"""A sum or a list over the batches begins anew in each round of the loop that adds to it.

Why: what comes of it behind the loop holds the last batch alone. As the loss or accuracy of an epoch it is a draw of
one batch: it goes up and down with that, and so does what decides by it: a schedule that waits for a plateau, early
stopping, the choice of the best model.

Fix: begin it once, before the loop.

Told from the program's text, of loops that ran: the first value and the one addition stand in one block, and nothing
reads the sum in the loop but what ends it, or shows it once in a while. Silent on: sums that each round uses, and
several additions of one round.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.figures import Sum, first_value, sums
from gradscope.analysis.text import site_of
from gradscope.analysis.words import located
from gradscope.fixes.source import Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for a, b in loader:
            losses = []  # cause: GS420
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        print(sum(losses) / len(losses))  # effect: GS420


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        losses = []
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        print(sum(losses) / len(losses))


@rule("GS420", name="begins-in-its-loop", severity="warning")
def begins_in_its_loop(trace: Trace) -> Iterator[Finding]:
    known = sums(trace)
    for one in known:
        alone = sum(other.name == one.name and other.loop is one.loop for other in known) == 1
        begun = [s for s in one.begins(one.loop) if s in one.loop.body and first_value(s, one.name)]
        if alone and len(begun) == 1 and begun[0].lineno < one.add.lineno:
            read = _read_at_the_end(one)
            if read is not None and len(one.begins(one.loop)) == 1:
                yield _finding(trace, one, begun[0], read)


def _read_at_the_end(one: Sum) -> ast.expr | None:
    """Where it is read first behind the loop, or where the loop shows or ends it; None where each round uses it."""
    behind = [node for node in one.reads(one.scope) if node.lineno > (one.loop.end_lineno or 0)]
    divided = {id(part) for quotient in one.quotients(one.loop) for part in ast.walk(quotient.node)}
    for node in one.reads(one.loop):
        if not (_now_and_then(one, node) and id(node) in divided):
            return None
        behind.insert(0, node)
    outer = one.file.loop_of(one.loop)
    later = [
        statement
        for statement in one.begins(outer or one.scope)
        if statement.lineno > (one.loop.end_lineno or 0)
    ]
    read = min(behind, key=lambda node: node.lineno, default=None)
    begun_since = read is not None and any(statement.lineno < read.lineno for statement in later)
    return None if begun_since else read


def _now_and_then(one: Sum, node: ast.expr) -> bool:
    """Whether a condition of the loop stands around it, behind the addition."""
    for above in one.file.above(node):
        if above is one.loop:
            return False
        if isinstance(above, ast.If) and above.lineno > one.add.lineno:
            return True
    return False


def _finding(trace: Trace, one: Sum, begun: ast.stmt, read: ast.expr) -> Finding:
    here = Source(trace, one.path)
    site, effect = site_of(one.path, one.function, begun), site_of(one.path, one.function, read)
    before = [s for s in one.begins(one.scope) if s.lineno < one.loop.lineno and first_value(s, one.name)]
    outer = one.file.loop_of(one.loop)
    stands = any(one.file.loop_of(statement) is outer for statement in before)
    remedy = (
        f"take {located(trace, site)} out: `{one.name}` begins before the loop already"
        if stands
        else f"put {located(trace, site)} before the loop of line {one.loop.lineno}"
    )
    return Finding(
        message=f"`{one.name}` begins anew in each round of the loop that adds to it: line {effect.line} has the last"
        " batch alone",
        cause=site,
        cause_label=f"begins anew with each round of the loop of line {one.loop.lineno}",
        effect=effect,
        effect_label="has what the last round added",
        related=((site_of(one.path, one.function, one.add), "adds once a round"),),
        seen=(
            f"both lines stand in the loop over `{ast.unparse(one.loop.iter)}`, which ran, and no round reads what an"
            " earlier one added",
        ),
        fix=remedy,
        edits=here.remove(begun) if stands else here.move(begun, one.loop),
        subjects=frozenset({("sum", *site.location())}),
    )
