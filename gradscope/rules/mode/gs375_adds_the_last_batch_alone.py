"""A loss is added up behind the loop over the batches: it holds the last batch of each epoch, and grows with them.

Why: behind the loop `loss` is that of the last batch. A total that takes it there, and begins before the epochs, is
shown as the loss of an epoch and is the sum over all epochs of one batch each: it rises while the loss falls.

Fix: add it in the loop over the batches, and begin the total in each epoch.

Told from the program's text, of loops that ran: a number is added once an epoch behind the inner loop, which alone
gives it its value; the total is begun before the epochs, and nothing divides it. Silent on: lists, and losses that are
added with their graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.figures import Sum, first_value, sums
from gradscope.analysis.text import own_nodes, site_of
from gradscope.analysis.words import located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import LOOPS, called_name, names_in, own_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for epoch in range(3):
        for x in torch.randn(5, 8, 4):
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            opt.zero_grad()
            loss.backward()
            opt.step()
        total += loss.item()  # cause: GS375
        print(epoch, total)  # effect: GS375


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        total = 0.0
        for x in torch.randn(5, 8, 4):
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(epoch, total)


@rule("GS375", name="adds-the-last-batch-alone", severity="warning")
def adds_the_last_batch_alone(trace: Trace) -> Iterator[Finding]:
    for one in sums(trace):
        if (
            one.is_list
            or not isinstance(one.add, ast.AugAssign)
            or one.file.parent.get(id(one.add)) is not one.loop
        ):
            continue
        inner = _gives(one)
        begun = [s for s in one.begins(one.scope) if first_value(s, one.name)]
        shown = [node for node in one.reads(one.loop) if node.lineno > one.add.lineno]
        before = [
            s
            for s in begun
            if s.lineno < one.loop.lineno and one.file.loop_of(s) is one.file.loop_of(one.loop)
        ]
        if inner is None or not shown or len(before) != 1 or one.begins(one.loop):
            continue
        if not any(True for _ in one.quotients(one.scope)) and len(one.reads(one.scope)) == len(shown):
            yield _finding(trace, one, inner, before[0], shown[0])


def _gives(one: Sum) -> ast.For | None:
    """The loop before the addition, in the same block, that alone gives what is added its value."""
    names = names_in(one.term, ast.Load) - {"float"}
    loops = [s for s in one.file.siblings(one.add) if isinstance(s, ast.For) and s.lineno < one.add.lineno]
    is_figure = called_name(one.term) in ("item", "float", "detach") or own_name(one.term) == "data"
    if len(names) != 1 or not loops or not is_figure:
        return None
    name, inner = names.pop(), loops[-1]
    given = [
        n
        for n in own_nodes(one.scope)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    body = {id(node) for statement in inner.body for node in ast.walk(statement)}
    own = given and all(id(node) in body for node in given)
    return inner if own and not any(isinstance(n, LOOPS) for s in inner.body for n in ast.walk(s)) else None


def _finding(trace: Trace, one: Sum, inner: ast.For, begun: ast.stmt, shown: ast.expr) -> Finding:
    site = site_of(one.path, one.function, one.add)
    begin = f"{one.name} = {first_value(begun, one.name)}"
    value = ast.unparse(one.term)
    place = located(trace, site_of(one.path, one.function, inner.body[-1]))
    return Finding(
        message=f"`{one.name}` takes the last batch's `{value}` of each epoch, and is never begun anew",
        cause=site,
        cause_label=f"stands behind the loop of line {inner.lineno}: once an epoch",
        effect=site_of(one.path, one.function, shown),
        effect_label="is the sum over all epochs so far, of one batch each",
        related=((site_of(one.path, one.function, begun), "begins it once, for all"),),
        seen=(
            f"the loop of line {one.loop.lineno}, which ran, adds behind the loop over"
            f" `{ast.unparse(inner.iter)}`, which alone gives `{value}` its value",
        ),
        fix=f"add in the loop, behind {place}, and put `{begin}` before the loop of line {inner.lineno}",
        edits=_edits(trace, one, inner, begin),
        subjects=frozenset({("sum", *site.location())}),
    )


def _edits(trace: Trace, one: Sum, inner: ast.For, begin: str) -> Edits:
    here = Source(trace, one.path)
    moved = here.remove(one.add) and here.after(inner.body[-1], here.text_of(one.add))
    return (*here.before(inner, begin), *moved, *here.remove(one.add)) if moved else ()
