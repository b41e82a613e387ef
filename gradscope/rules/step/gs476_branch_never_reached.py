"""A later branch of `if … elif …` asks for what an earlier one has taken already: it is never reached.

Why: the branches are asked in their order. `if epoch >= 10: … elif epoch >= 15: …` takes the first one from epoch 10
on, for ever: the learning rate, or whatever the second one was to set, stays where the first has put it.

Fix: ask for the largest first (with `<`, for the smallest), or give each branch both of its bounds.

Read in the program's text, of functions that ran: the same number is compared with constants, and what a later branch
asks for the one before has taken. Silent on: branches whose numbers are not written out, or that ask for something else
as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.text import nodes_called, site_of
from gradscope.analysis.words import located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import SourceFile
from gradscope.store import Trace

UPWARD = (ast.Gt, ast.GtE)
DOWNWARD = (ast.Lt, ast.LtE)


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(8):
        rate = 0.1
        if epoch >= 2:  # effect: GS476
            rate = 0.01
        elif epoch >= 5:  # cause: GS476
            rate = 0.001
        for group in opt.param_groups:
            group["lr"] = rate
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(8):
        rate = 0.1
        if epoch >= 5:
            rate = 0.001
        elif epoch >= 2:
            rate = 0.01
        for group in opt.param_groups:
            group["lr"] = rate
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


class _Branch(NamedTuple):
    """A branch that asks whether a number is above, or below, one that is written out."""

    node: ast.If
    test: ast.Compare
    bound: float
    upward: bool
    inclusive: bool

    def takes_all_of(self, later: _Branch) -> bool:
        """Whether nothing is left of what a later branch asks for."""
        if self.upward != later.upward:
            return False
        if self.bound == later.bound:
            return self.inclusive or not later.inclusive
        return self.bound < later.bound if self.upward else self.bound > later.bound


@rule("GS476", name="branch-never-reached", severity="warning")
def branch_never_reached(trace: Trace) -> Iterator[Finding]:
    for path, function, node in nodes_called(trace, ast.If):
        file = trace.source_file(path)
        above = file.parent.get(id(node))
        if isinstance(above, ast.If) and above.orelse == [node]:
            continue  # `elif` of one that is looked at itself
        branches = _branches(node)
        lost = [
            (one, later)
            for n, later in enumerate(branches)
            for one in branches[:n]
            if one.takes_all_of(later)
        ]
        if lost:
            yield _finding(trace, file, path, function, branches, *lost[0])


def _branches(first: ast.If) -> list[_Branch]:
    """Those of one `if … elif …` that all compare the same number, as far as they do."""
    found: list[_Branch] = []
    node: ast.If | None = first
    while node is not None:
        branch = _branch(node)
        if branch is None or (found and ast.dump(branch.test.left) != ast.dump(found[0].test.left)):
            break
        found.append(branch)
        rest = node.orelse
        node = rest[0] if len(rest) == 1 and isinstance(rest[0], ast.If) else None
    return found


def _branch(node: ast.If) -> _Branch | None:
    test = node.test
    if (
        not isinstance(test, ast.Compare)
        or len(test.ops) != 1
        or not isinstance(test.left, (ast.Name, ast.Attribute))
    ):
        return None
    bound, asked = test.comparators[0], test.ops[0]
    if not isinstance(bound, ast.Constant) or not isinstance(bound.value, (int, float)):
        return None
    if not isinstance(asked, (*UPWARD, *DOWNWARD)):
        return None
    return _Branch(node, test, bound.value, isinstance(asked, UPWARD), isinstance(asked, (ast.GtE, ast.LtE)))


def _finding(
    trace: Trace,
    file: SourceFile,
    path: str,
    function: str,
    branches: list[_Branch],
    first: _Branch,
    later: _Branch,
) -> Finding:
    asked, taken = file.text(later.test), file.text(first.test)
    cause, effect = site_of(path, function, later.test), site_of(path, function, first.test)
    end = "largest" if first.upward else "smallest"
    return Finding(
        message=f"the branch of `{asked}` is never reached: `{taken}` stands before it, and takes all of it",
        cause=cause,
        cause_label="is asked only where the one before does not hold",
        effect=effect,
        effect_label=f"holds wherever `{asked}` does",
        seen=(f"`{asked}` is asked where `{taken}` is false, and then it is false, too",),
        fix=f"ask for the {end} number first: put the branch of {located(trace, cause)} before that of"
        f" {located(trace, effect)}",
        edits=_in_order(Source(trace, path), branches),
    )


def _in_order(here: Source, branches: list[_Branch]) -> Edits:
    """The branches with the largest number first, or with `<` the smallest; only where each is one statement."""
    one_way = len({branch.upward for branch in branches}) == 1
    if not one_way or any(len(branch.node.body) != 1 for branch in branches):
        return ()
    edits: list[Edits] = []
    for old, new in zip(
        branches, sorted(branches, key=lambda b: b.bound, reverse=branches[0].upward), strict=True
    ):
        if old is not new:
            edits.append(here.replace(old.test, here.file.text(new.test)))
            edits.append(here.replace(old.node.body[0], here.file.text(new.node.body[0])))
    return tuple(edit for some in edits for edit in some) if all(edits) else ()
