"""A sum over the batches of a loader is divided by their number in every round of the loop.

Why: a mean is divided once, after the last batch. Divided in each round, all that was added before is divided again and
again: what comes out is little more than the last batch's share, a loss or an accuracy that is too small by about the
number of batches, a perplexity below 1.

Fix: divide after the loop.

Told from the program's text, of loops that ran: the sum and the division stand in one block, and the divisor is the
length of what the loop goes through. Silent on: running means, sums that begin anew in the loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.text import nodes_that_ran, site_of
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
    for path, function, loop in nodes_that_ran(trace, ast.For):
        ran = any(
            site.path == path and loop.lineno <= site.line <= (loop.end_lineno or 0) for site in trace.sites
        )
        given = {
            ast.unparse(part) for part in ast.walk(loop.iter) if isinstance(part, (ast.Name, ast.Attribute))
        }
        for place, statement in enumerate(loop.body) if ran else ():
            total = _divided(statement, given)
            added = [before for before in loop.body[:place] if _adds_to(before, total)] if total else []
            if added and not _begins_in(loop, total):
                yield _finding(trace, path, function, loop, statement, added[0], total)


def _divided(statement: ast.stmt, given: set[str]) -> str:
    """What is divided by the length of one of these, in its own place; "" where it is another statement."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Div):
        target, divisor = ast.unparse(statement.target), statement.value
    elif (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.BinOp)
        and isinstance(statement.value.op, ast.Div)
        and len(statement.targets) == 1
        and ast.unparse(statement.value.left) == ast.unparse(statement.targets[0])
    ):
        target, divisor = ast.unparse(statement.targets[0]), statement.value.right
    else:
        return ""
    if not isinstance(divisor, ast.Call) or ast.unparse(divisor.func) != "len" or len(divisor.args) != 1:
        return ""
    return target if ast.unparse(divisor.args[0]).removesuffix(".dataset") in given else ""


def _adds_to(statement: ast.stmt, total: str) -> bool:
    """`total += …`, `total = total + …`."""
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.op, ast.Add) and ast.unparse(statement.target) == total
    if not isinstance(statement, ast.Assign) or ast.unparse(statement.targets[0]) != total:
        return False
    value = statement.value
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and ast.unparse(value.left) == total


def _begins_in(loop: ast.For, total: str) -> bool:
    """Whether the loop gives it a new value that does not hang on the old one."""
    return any(
        isinstance(node, ast.Assign)
        and any(ast.unparse(target) == total for target in node.targets)
        and total not in {ast.unparse(part) for part in ast.walk(node.value) if isinstance(part, ast.expr)}
        for node in ast.walk(loop)
    )


def _finding(
    trace: Trace, path: str, function: str, loop: ast.For, statement: ast.stmt, added: ast.stmt, total: str
) -> Finding:
    site = site_of(path, function, statement)
    goes = ast.unparse(loop.iter)
    return Finding(
        message=f"`{total}` is divided by the number of rounds in each of them: what was added before is divided again",
        cause=site,
        cause_label="stands in the loop",
        effect=site_of(path, function, added),
        effect_label="adds one batch after the other",
        seen=(f"both lines stand in the loop over `{goes}` (line {loop.lineno}), which ran",),
        fix=f"divide once, after the loop: {located(trace, site)} behind its last line",
        edits=Source(trace, path).move(statement, loop, after=True),
        subjects=frozenset({("mean", *site.location())}),
    )
