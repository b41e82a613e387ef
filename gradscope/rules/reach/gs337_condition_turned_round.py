"""A branch that computes with an argument is taken only where the argument is missing: what is given goes nowhere.

Why: `if not features:` is false for every list that holds something, `if mask is None:` for every mask. A block below
that goes through the features, or masks with the mask, would fail wherever it ran: so it never runs, and its term of
the loss, or its mask, is missing without a word. The same goes for the other side of `if mask is not None:`, its `else`
or what stands below its `return`, and for `a if mask is None else b`.

Fix: turn the condition round: `if features is not None:`.

Measured: the function ran, and no call of it failed, with the argument handed over. Silent on: blocks that give the
name a value or fill the list, those that only show it, and uses under a condition of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradscope.analysis.text import nodes_that_ran, site_of
from gradscope.analysis.unread_settings import handed_over
from gradscope.analysis.words import located
from gradscope.fixes.source import Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, called_name
from gradscope.store import Trace

GOING_THROUGH = {"zip", "enumerate", "stack", "cat", "concat"}  # what they make of nothing is no number
FILLING = {"append", "add", "extend", "update", "setdefault", "insert"}
SHELTERED = (ast.If, ast.IfExp, ast.Try, ast.BoolOp, ast.While, ast.Lambda, *FUNCTIONS)


def bad() -> None:
    from typing import Any

    import torch
    from torch import nn

    torch.manual_seed(0)

    class Loss(nn.Module):
        def forward(self, made: torch.Tensor, wanted: torch.Tensor, inner: Any = None) -> torch.Tensor:
            loss = nn.functional.mse_loss(made, wanted)
            if not inner:  # cause: GS337
                loss = loss + torch.stack([h.pow(2).mean() for h in inner]).mean()
            return loss

    one, two, criterion = nn.Linear(4, 4), nn.Linear(4, 1), Loss()
    opt = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        hidden = one(x)
        loss = criterion(two(hidden), x[:, :1], [hidden])  # effect: GS337
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    from typing import Any

    import torch
    from torch import nn

    torch.manual_seed(0)

    class WholeLoss(nn.Module):
        def forward(self, made: torch.Tensor, wanted: torch.Tensor, inner: Any = None) -> torch.Tensor:
            loss = nn.functional.mse_loss(made, wanted)
            if inner is not None:
                loss = loss + torch.stack([h.pow(2).mean() for h in inner]).mean()
            return loss

    one, two, criterion = nn.Linear(4, 4), nn.Linear(4, 1), WholeLoss()
    opt = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        hidden = one(x)
        loss = criterion(two(hidden), x[:, :1], [hidden])
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS337", name="condition-turned-round", severity="warning")
def condition_turned_round(trace: Trace) -> Iterator[Finding]:
    for path, function, node in nodes_that_ran(trace, ast.If, ast.IfExp):
        assert isinstance(node, (ast.If, ast.IfExp))
        scope = trace.source_file(path).function_of(node)
        for asked, name, missing, given_out in _asked(node.test):
            if scope is None:
                continue
            block, called = _where_missing(trace, path, node, given_out)
            if not _fails(block, name, missing):
                continue
            given = handed_over(trace, path, scope, name)
            if given is None:
                continue
            new = f"{name} is None" if given_out else f"{name} is not None"
            cause = site_of(path, function, asked)
            yield Finding(
                message=f"`{ast.unparse(asked)}` is {'true' if given_out else 'false'} wherever `{name}` is given:"
                f" {called}, which computes with it, never runs",
                cause=cause,
                cause_label="asks for the opposite",
                effect=given,
                effect_label=f"hands `{name}` over, for nothing",
                seen=(
                    f"`{scope.name}()` ran, and {called} would fail wherever it runs: it uses `{name}`, which is"
                    f" {'None' if missing else 'None or empty'} there",
                ),
                fix=f"`{new}` in place of {located(trace, cause)}",
                edits=Source(trace, path).replace(asked, new),
                subjects=frozenset({("condition", path, asked.lineno)}),
            )


def _asked(test: ast.expr) -> Iterator[tuple[ast.expr, str, bool, bool]]:
    """(part, name, whether it is about None, whether it asks for what is given) of each `not name` and `name is None`
    that all of a condition needs, and of `name` and `name is not None` as a whole one."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for part in parts:
        turned = isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not)
        inner = part.operand if isinstance(part, ast.UnaryOp) else part
        if isinstance(inner, ast.Name) and (turned or part is test):
            yield part, inner.id, False, not turned
        elif (
            isinstance(part, ast.Compare)
            and isinstance(part.left, ast.Name)
            and ast.unparse(part.comparators[0]) == "None"
        ):
            if isinstance(part.ops[0], ast.Is):
                yield part, part.left.id, True, False
            elif isinstance(part.ops[0], ast.IsNot) and part is test:
                yield part, part.left.id, True, True


def _where_missing(
    trace: Trace, path: str, node: ast.If | ast.IfExp, given_out: bool
) -> tuple[Sequence[ast.AST], str]:
    """What runs only where the argument is missing, and what to call it."""
    if isinstance(node, ast.IfExp):
        return [
            node.orelse if given_out else node.body
        ], f"`{ast.unparse(node.orelse if given_out else node.body)}`"
    if not given_out:
        return node.body, "the block below"
    if node.orelse or not isinstance(node.body[-1], (ast.Return, ast.Continue)):
        return node.orelse, "the block below `else`"
    siblings = trace.source_file(path).siblings(node)
    return siblings[siblings.index(node) + 1 :], "what stands below its block"


def _fails(body: Sequence[ast.AST], name: str, missing: bool) -> bool:
    """Whether a block fails, or does nothing, where the name is None (or empty)."""
    if any(_binds(node, name) for statement in body for node in ast.walk(statement)):
        return False
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if _computes(node, name, missing):
            return True
        if not isinstance(node, SHELTERED):
            todo += ast.iter_child_nodes(node)
    return False


def _binds(node: ast.AST, name: str) -> bool:
    """Whether it gives the name a value, or may put something into what it is."""
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Subscript):
        return _is(node.value, name) and not isinstance(node.ctx, ast.Load)
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and _is(called.value, name) and called.attr in FILLING


def _computes(node: ast.AST, name: str, missing: bool) -> bool:
    if isinstance(node, (ast.Subscript, ast.For, ast.comprehension)):
        return _is(node.iter if not isinstance(node, ast.Subscript) else node.value, name)
    if isinstance(node, ast.Call) and called_name(node) in GOING_THROUGH:
        return any(_is(given, name) for given in node.args)
    if not missing:
        return False
    if isinstance(node, ast.BinOp):
        return _is(node.left, name) or _is(node.right, name)
    return isinstance(node, ast.Attribute) and _is(node.value, name)


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
