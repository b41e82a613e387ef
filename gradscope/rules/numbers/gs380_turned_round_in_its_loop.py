"""A list is turned round in each round of the loop that fills it.

Why: the next value then comes to the end that was the beginning. The values end in another order than what they belong
to: the returns of an episode, computed from its last step to the first, are given to other steps.

Fix: turn it round once, after the loop.

Told from the program's text, of loops that ran: the loop adds one value to the list in each round. Silent on: a list
that the loop reads, or turns round under a condition.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.figures import Addition, additions
from gradscope.analysis.text import site_of
from gradscope.analysis.words import located
from gradscope.fixes.source import Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import called_name, method_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(4):
        states, actions = torch.randn(6, 4), torch.randint(2, (6,))
        returns: list[float] = []
        total = 0.0
        for action in reversed(actions.tolist()):
            total = action + 0.9 * total
            returns.append(total)  # effect: GS380
            returns.reverse()  # cause: GS380
        chosen = nn.functional.log_softmax(policy(states), dim=1)[torch.arange(6), actions]
        loss = -(chosen * torch.tensor(returns)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(4):
        states, actions = torch.randn(6, 4), torch.randint(2, (6,))
        returns: list[float] = []
        total = 0.0
        for action in reversed(actions.tolist()):
            total = action + 0.9 * total
            returns.append(total)
        returns.reverse()
        chosen = nn.functional.log_softmax(policy(states), dim=1)[torch.arange(6), actions]
        loss = -(chosen * torch.tensor(returns)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS380", name="turned-round-in-its-loop", severity="warning")
def turned_round_in_its_loop(trace: Trace) -> Iterator[Finding]:
    for one in additions(trace):
        turned = [statement for statement in one.loop.body if _turns_round(statement, one.name)]
        if one.is_list and len(turned) == 1 and not one.begins(one.loop):
            own = {id(node) for node in ast.walk(turned[0])}
            if all(id(node) in own or _is_length(one, node) for node in one.reads(one.loop)):
                yield _finding(trace, one, turned[0])


def _is_length(one: Addition, node: ast.expr) -> bool:
    """Whether a list is read for its length alone, which no order changes."""
    return called_name(one.file.parent.get(id(node))) == "len"


def _turns_round(statement: ast.stmt, name: str) -> bool:
    """`x.reverse()`, `x = x[::-1]`, `x[:] = reversed(x)`, `x = list(reversed(x))`."""
    if isinstance(statement, ast.Expr) and method_name(statement.value) == "reverse":
        return ast.unparse(statement.value) == f"{name}.reverse()"
    if not isinstance(statement, ast.Assign):
        return False
    target = ast.unparse(statement.targets[0])
    if target == f"{name}[:]" and ast.unparse(statement.value) == f"reversed({name})":
        return True
    if target not in (name, f"{name}[:]"):
        return False
    return ast.unparse(statement.value) in (f"{name}[::-1]", f"list(reversed({name}))")


def _finding(trace: Trace, one: Addition, turned: ast.stmt) -> Finding:
    site = site_of(one.path, one.function, turned)
    goes = f"over `{ast.unparse(one.loop.iter)}`" if isinstance(one.loop, ast.For) else "under its condition"
    return Finding(
        message=f"`{one.name}` is turned round in each round of the loop that fills it: it loses its order",
        cause=site,
        cause_label="stands in the loop",
        effect=site_of(one.path, one.function, one.add),
        effect_label="adds the next value at the end that was the beginning",
        seen=(f"both lines stand in the loop {goes} (line {one.loop.lineno}), which ran",),
        fix=f"turn it round once: {located(trace, site)} behind the loop",
        edits=Source(trace, one.path).move(turned, one.loop, after=True),
        subjects=frozenset({("list", *site.location())}),
    )
