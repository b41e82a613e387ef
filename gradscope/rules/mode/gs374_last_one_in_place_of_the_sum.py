"""The mean over a loop divides the last batch's value by their number: the sum that was added up is never read.

Why: behind the loop `loss` is that of the last batch. Divided by the number of batches it is too small by that factor,
and says nothing of the others; the curve that is shown is lower than any loss that was seen.

Fix: divide the sum.

Told from the program's text, of loops that ran: a loop adds the value to a sum that nothing reads, and behind it the
value itself is divided by the number of rounds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.figures import Sum, is_length, sums
from gradscope.analysis.text import own_nodes, site_of
from gradscope.analysis.words import located
from gradscope.fixes.source import Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total, count = torch.zeros(()), 0
    for x in torch.randn(5, 8, 4):
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.detach()  # effect: GS374
        count += 1
    print((loss / count).item())  # cause: GS374


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total, count = torch.zeros(()), 0
    for x in torch.randn(5, 8, 4):
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.detach()
        count += 1
    print((total / count).item())


@rule("GS374", name="last-one-in-place-of-the-sum", severity="warning")
def last_one_in_place_of_the_sum(trace: Trace) -> Iterator[Finding]:
    known = sums(trace)
    for one in known:
        value = None if one.is_list or "." in one.name else _value(one.term)
        if value is None or one.reads(one.scope):
            continue
        for node in own_nodes(one.scope):
            behind = isinstance(node, ast.BinOp) and node.lineno > (one.loop.end_lineno or 0)
            if behind and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                counts = _counts(known, one, node.right) and one.file.loop_of(node) is one.file.loop_of(
                    one.loop
                )
                if counts and ast.unparse(_value(node.left) or node.left) == ast.unparse(value):
                    yield _finding(trace, one, node, value)
                    break


def _value(term: ast.expr) -> ast.Name | None:
    """`loss` of `loss.item()` and `loss.detach().cpu()`."""
    while isinstance(term, ast.Call) and isinstance(term.func, ast.Attribute) and not term.args:
        term = term.func.value
    if isinstance(term, ast.Attribute) and term.attr == "data":
        term = term.value
    return term if isinstance(term, ast.Name) else None


def _counts(known: list[Sum], one: Sum, divisor: ast.expr) -> bool:
    """Whether it is the number of rounds of the loop."""
    beside = (other for other in known if other.loop is one.loop and other.name == ast.unparse(divisor))
    return is_length(divisor, one.loop) or any(ast.unparse(other.term) == "1" for other in beside)


def _finding(trace: Trace, one: Sum, quotient: ast.BinOp, value: ast.Name) -> Finding:
    here = Source(trace, one.path)
    site = site_of(one.path, one.function, quotient)
    divisor = ast.unparse(quotient.right)
    return Finding(
        message=f"`{value.id}` of the last round is divided by `{divisor}`, the number of all: `{one.name}` is never"
        " read",
        cause=site,
        cause_label=f"divides what the last round left in `{value.id}`",
        effect=site_of(one.path, one.function, one.add),
        effect_label=f"adds it up in `{one.name}`, which nothing reads",
        seen=(
            f"the loop of line {one.loop.lineno}, which ran, adds to `{one.name}`, and no line reads that",
        ),
        fix=f"divide `{one.name}` in {located(trace, site)}",
        edits=here.replace(quotient.left, one.name),
        subjects=frozenset({("sum", *site.location())}),
    )
