"""Each loss is divided by a number as for accumulation, and each pass has a step of its own: nothing accumulates.

Why: a loss is divided by the number of passes whose gradients are summed before a step. Where the step and the clearing
follow each pass, one small gradient is used at a time: the batch is not larger than before, and the gradient is smaller
by that number. SGD makes steps that much shorter; Adam, which divides by the gradient's size, hardly sees it.

Fix: step and clear only after that many passes, or don't divide.

Measured: each step used one pass, whose loss was divided. That the number was meant as one of passes is read in the
program's text: a condition asks whether it is more than 1, and nothing but the division uses it. Silent on: numbers
that count something else in the program, and losses that are sums.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.counted import at_least
from gradscope.analysis.gradients import gradients
from gradscope.analysis.ops import DIVISIONS, LOSSES, MEANS
from gradscope.analysis.text import mentions, site_of
from gradscope.analysis.words import code, located
from gradscope.events import Backward
from gradscope.fixes.source import is_name
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import bound_in, called_name, own_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    passes = 4
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        x = torch.randn(8, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        if passes > 1:
            loss /= passes  # cause: GS375
        loss.backward()
        opt.step()  # effect: GS375
        opt.zero_grad()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    passes = 4
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(12):
        x = torch.randn(8, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        if passes > 1:
            loss /= passes
        loss.backward()
        if (i + 1) % passes == 0:
            opt.step()
            opt.zero_grad()


@rule("GS375", name="divided-and-never-summed", severity="note")
def divided_and_never_summed(trace: Trace) -> Iterator[Finding]:
    steps: dict[Site, dict[Site, int]] = {}
    divisions: dict[Site, Op] = {}
    several: set[Site] = set()
    for turn in gradients(trace).turns:
        for fill in turn.fills:
            site = fill.event.site.user
            if sum(one.times for one in turn.fills) > 1:
                several.add(site)
            op = _division(trace, fill.event)
            if op is not None:
                divisions[site] = op
            own = steps.setdefault(site, {})
            own[turn.step.site.user] = own.get(turn.step.site.user, 0) + turn.times
    for site, op in divisions.items():
        by = _number_of_passes(trace, op) if site not in several else None
        if by is not None and sum(steps[site].values()) > 1:
            yield _finding(trace, site, op, by, steps[site])


def _division(trace: Trace, event: Backward) -> Op | None:
    """The division that gave the loss of a pass, where what it divides is one mean."""
    if event.graph < 0 or len(event.roots) != 1:
        return None
    graph = trace.graph(event.graph)
    op = graph.maker(event.roots[0])
    if op is None or op.name not in DIVISIONS or len(op.inputs) != 1:
        return None
    loss = graph.maker(op.inputs[0])
    mean = loss is not None and (loss.name in MEANS or loss.name in LOSSES)
    return op if mean and loss is not None and loss.extra.get("reduction", "mean") == "mean" else None


def _number_of_passes(trace: Trace, op: Op) -> ast.expr | None:
    """What a loss is divided by under a condition that it is more than 1, where nothing else of the program uses it."""
    here = op.site.user
    file = trace.source_file(here.path)
    statement = file.statement(here)
    node = statement if isinstance(statement, ast.AugAssign) else file.at(here)
    by = _divisor(node)
    if statement is None or by is None or not is_name(by):
        return None
    choice = file.parent.get(id(node))
    guard = (
        choice if isinstance(choice, ast.IfExp) and choice.body is node else file.parent.get(id(statement))
    )
    if not isinstance(guard, (ast.If, ast.IfExp)) or not _asks_for_more_than_one(guard.test, by):
        return None
    own = {id(part) for part in (*ast.walk(guard.test), *ast.walk(statement))}
    around = file.scope(here)
    local = isinstance(by, ast.Name) and by.id in bound_in(around)
    scope = set(map(id, ast.walk(around))) if local else None
    for path, other in mentions(trace, own_name(by)):
        stands = trace.source_file(path).statement_of(other)
        shown = isinstance(stands, ast.Expr) or _keeps(stands, other)
        elsewhere = id(other) in own or (scope is not None and id(other) not in scope)
        if isinstance(other.ctx, ast.Load) and not elsewhere and not shown:
            return None
    return by


def _keeps(statement: ast.AST | None, name: ast.expr) -> bool:
    """Whether it is `self.passes = passes`, perhaps beside others."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target, value = statement.targets[0], statement.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    return any(given is name and own_name(to) == own_name(name) for to, given in pairs)


def _divisor(node: ast.AST | None) -> ast.expr | None:
    if isinstance(node, ast.AugAssign):
        return node.value
    if isinstance(node, ast.Call):
        return node.args[-1] if called_name(node) in DIVISIONS and node.args else None
    return node.right if isinstance(node, ast.BinOp) else None


def _asks_for_more_than_one(test: ast.expr, by: ast.expr) -> bool:
    """`by > 1`, `by >= 2` or `by != 1`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or ast.unparse(test.left) != ast.unparse(by):
        return False
    asked = type(test.ops[0]), ast.unparse(test.comparators[0])
    return asked in ((ast.Gt, "1"), (ast.GtE, "2"), (ast.NotEq, "1"))


def _finding(trace: Trace, site: Site, op: Op, by: ast.expr, steps: dict[Site, int]) -> Finding:
    number, here = ast.unparse(by), op.site.user
    step = max(steps, key=lambda place: steps[place])
    statement = trace.source_file(here.path).statement(here)
    cause = site_of(here.path, here.function, statement) if statement is not None else here
    return Finding(
        message=f"each loss is divided by `{number}`, and each pass has a step of its own: no gradients are summed",
        cause=cause,
        cause_label="divides the loss of each pass",
        effect=step,
        effect_label="uses one pass at a time",
        related=((site, "the pass"),),
        seen=(
            f"{at_least(trace, sum(steps.values()), 'step')} used the gradients of one pass each",
            f"`{number}` is more than 1, and nothing but the division uses it",
        ),
        fix=f"let {code(trace, step, 'the step')} and the clearing run after every `{number}`-th pass only, or take"
        f" {located(trace, cause)} out if each batch is to have a step",
        subjects=frozenset({("sum", *site.location())}),
    )
