"""A sum over the batches of a loader is divided by their number in every round of the loop.

Why: a mean is divided once, after the last batch. Divided in each round, all that was added before is divided again and
again: what comes out is little more than the last batch's share, a loss or an accuracy that is too small by about the
number of batches, a perplexity below 1.

Fix: divide after the loop.

Told from the program's text, of loops that ran: the sum and the division stand in one block, or in one statement, and
the divisor is the length of what the loop goes through. Silent on: running means, sums that begin anew in the loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.figures import Sum, is_length, sums
from gradscope.analysis.text import nodes_that_ran, ran_in, site_of
from gradscope.analysis.words import located
from gradscope.fixes.source import Binds, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import method_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            total += nn.functional.mse_loss(model(x), y).item()  # effect: GS417
            total /= len(loader)  # cause: GS417
    print(total)


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            total += nn.functional.mse_loss(model(x), y).item()
    total /= len(loader)
    print(total)


@rule("GS417", name="divided-in-its-loop", severity="warning")
def divided_in_its_loop(trace: Trace) -> Iterator[Finding]:
    for one in sums(trace):
        if one.add in one.loop.body and not one.begins(one.loop):
            later = [statement for statement in one.loop.body if statement.lineno > one.add.lineno]
            divided = next((statement for statement in later if _divides(statement, one)), None)
            if divided is not None:
                yield _finding(trace, one, divided)
    yield from _at_once(trace)


def _at_once(trace: Trace) -> Iterator[Finding]:
    """`mean = (mean + x) / len(loader)`: both in one statement."""
    for path, function, loop in nodes_that_ran(trace, ast.For):
        file = trace.source_file(path)
        if not ran_in(trace, path, loop.lineno, loop.end_lineno):
            continue
        for statement in loop.body:
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                continue
            value, name = statement.value, ast.unparse(statement.targets[0])
            term = _added_first(value, name)
            if term is None or not isinstance(value, ast.BinOp) or not is_length(file, value.right, loop):
                continue
            one = Sum(path, function, name, loop, statement, term, False, file)
            if not one.begins(loop):
                yield _finding(trace, one, statement)


def _added_first(value: ast.expr, name: str) -> ast.expr | None:
    """`x` of `(mean + x) / n`."""
    left = value.left if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div) else None
    if not isinstance(left, ast.BinOp) or not isinstance(left.op, ast.Add):
        return None
    sides = [ast.unparse(left.left), ast.unparse(left.right)]
    return (left.right, left.left)[sides.index(name)] if name in sides else None


def _divides(statement: ast.stmt, one: Sum) -> bool:
    """`total /= len(loader)`, `total = total / len(loader)`, `total.div_(len(loader))`, by the length of what the
    loop goes through."""
    target: ast.expr
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Div):
        target, divisor = statement.target, statement.value
    elif (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.BinOp)
        and isinstance(statement.value.op, ast.Div)
        and ast.unparse(statement.value.left) == ast.unparse(statement.targets[0])
    ):
        target, divisor = statement.targets[0], statement.value.right
    elif isinstance(statement, ast.Expr) and method_name(statement.value) == "div_":
        call = statement.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
            return False
        target, divisor = call.func.value, call.args[0]
    else:
        return False
    return ast.unparse(target) == one.name and is_length(one.file, divisor, one.loop)


def _finding(trace: Trace, one: Sum, divided: ast.stmt) -> Finding:
    site = site_of(one.path, one.function, divided)
    goes = ast.unparse(one.loop.iter)
    if divided is one.add and isinstance(divided, ast.Assign) and isinstance(divided.value, ast.BinOp):
        here, divisor = Source(trace, one.path), ast.unparse(divided.value.right)
        share = f"{here.part(one.term, Binds.PRODUCT)} / {divisor}"
        return Finding(
            message=f"`{one.name}` is divided by the number of rounds in each of them: what was added before is"
            " divided again",
            cause=site,
            cause_label=f"adds a batch, and divides all so far by `{divisor}`",
            seen=(f"the line stands in the loop over `{goes}` (line {one.loop.lineno}), which ran",),
            fix=f"divide what is added alone: `{one.name} += {share}` in place of {located(trace, site)}",
            edits=here.replace(divided.value, f"{one.name} + {share}"),
            subjects=frozenset({("mean", *site.location())}),
        )
    return Finding(
        message=f"`{one.name}` is divided by the number of rounds in each of them: what was added before is divided"
        " again",
        cause=site,
        cause_label="stands in the loop",
        effect=site_of(one.path, one.function, one.add),
        effect_label="adds one batch after the other",
        seen=(f"both lines stand in the loop over `{goes}` (line {one.loop.lineno}), which ran",),
        fix=f"divide once, after the loop: {located(trace, site)} behind its last line",
        edits=Source(trace, one.path).move(divided, one.loop, after=True),
        subjects=frozenset({("mean", *site.location())}),
    )
