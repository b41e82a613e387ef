"""A layer that negates the gradient on its way back gives it the sign that it had.

Why: a gradient reversal gives its input back unchanged and turns the gradient round, so that what lies before it
learns against the loss behind it. Where its backward negates, and multiplies with a factor that is below zero as well,
the two undo each other: both sides go down the same loss.

Fix: a factor above zero, with one negation.

Measured: forward gave back the very numbers that it got, and backward the gradient that came, times one number, which
was not below zero in any call.
Silent on: layers that only scale the gradient; factors that are zero, as at the beginning of a schedule.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.own_functions import methods, results
from gradscope.analysis.text import site_of
from gradscope.analysis.words import located, numbers, where
from gradscope.events import PassedOn
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

NEGATIONS = ("neg", "neg_", "negative", "negative_")


def bad() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Turned(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, strength: float) -> torch.Tensor:
            ctx.strength = strength
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            return -given * ctx.strength, None  # cause: GS326

    body, head = nn.Linear(4, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, domain = torch.randn(16, 4), torch.randint(0, 2, (16,))
        loss = nn.functional.cross_entropy(head(Turned.apply(body(x), -0.5)), domain)  # effect: GS326
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Turned(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, strength: float) -> torch.Tensor:
            ctx.strength = strength
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            return -given * ctx.strength, None

    body, head = nn.Linear(4, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, domain = torch.randn(16, 4), torch.randint(0, 2, (16,))
        loss = nn.functional.cross_entropy(head(Turned.apply(body(x), 0.5)), domain)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS326", name="reversal-reverses-nothing", severity="warning", needs=PassedOn)
def reversal_reverses_nothing(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(PassedOn):
        places = list(_negations(trace, event.function, event.line))
        low, high = min(event.factors, default=0.0), max(event.factors, default=0.0)
        if low < 0 or high <= 0 or len(places) != 1 or (event.function, event.line) in told:
            continue
        told.add((event.function, event.line))
        yield _finding(trace, event, *places[0])


def _negations(trace: Trace, cls: str, line: int) -> Iterator[tuple[Site, list[ast.expr]]]:
    """What the backward of this Function returns, and the negations that stand in it."""
    for path, part in methods(trace, cls, line):
        ends = results(part)
        turned = [n for n in ast.walk(part) if isinstance(n, ast.expr) and _negates(n)]
        if len(ends) == 1 and turned:
            yield site_of(path, part.name, ends[0]), turned


def _negates(node: ast.AST) -> bool:
    """Whether it turns a sign round: `-x`, `x.neg()`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return True
    return called_name(node) in NEGATIONS


def _not_negated(trace: Trace, path: str, turned: list[ast.expr]) -> tuple[Edit, ...]:
    """The one negation without its sign."""
    here, node = Source(trace, path), turned[0]
    inner = node.operand if isinstance(node, ast.UnaryOp) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        inner = node.func.value
    return here.replace(node, here.file.operand(inner)) if inner is not None and len(turned) == 1 else ()


def _finding(trace: Trace, event: PassedOn, returned: Site, turned: list[ast.expr]) -> Finding:
    name, edits = event.function, _not_negated(trace, returned.path, turned)
    out = f": take the negation out ({where(site_of(returned.path, returned.function, turned[0]))}), or"
    return Finding(
        message=f"`{name}` turns no gradient round: what its backward negates has the sign of what came",
        cause=returned,
        cause_label="negates, and multiplies with what is below zero as well",
        effect=event.site.user,
        effect_label="what is computed before it learns with the loss behind it, not against it",
        seen=(
            f"in {len(event.factors)} calls its forward gave its input back, and its backward the gradient that came"
            f" times {numbers(event.factors)}",
        ),
        fix=f"let the backward of `{name}` negate once{out if edits else ':'} give"
        f" {located(trace, event.site.user)} a factor that is above zero",
        edits=edits,
        subjects=frozenset({("function", name)}),
    )
