"""A table is replaced by the entries that are looked up in it: from the next call on they are the table.

Why: `self.weight = self.weight[labels]` gives the attribute the entries of this batch's samples. The next batch's
labels number those samples and no classes any more: what it gets has nothing to do with the classes, and nothing fails
as long as the batch is larger than the number of classes.

Fix: give what is looked up a name of its own: `weight = self.weight[labels]`.

Measured: the first call of the line took more entries out of a tensor than it has, and the next ones took them out of
what the line had made in the call before; a loss was made of them.
Silent on: samples or states that are sorted, thinned out or drawn again, and values with a gradient.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import TAKING
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, plural
from gradscope.events import Backward, ReplacedTable
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import names_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.share = torch.tensor([0.2, 1.0, 3.0])

        def forward(self, scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            each = nn.functional.cross_entropy(scores, labels, reduction="none")
            self.share = self.share[labels]  # cause: GS338
            return (self.share * each).mean()

    model, criterion = nn.Linear(4, 3), Weighted()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(8, 4)
        loss = criterion(model(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()  # effect: GS338
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.share = torch.tensor([0.2, 1.0, 3.0])

        def forward(self, scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            each = nn.functional.cross_entropy(scores, labels, reduction="none")
            share = self.share[labels]
            return (share * each).mean()

    model, criterion = nn.Linear(4, 3), Weighted()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(8, 4)
        loss = criterion(model(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS338", name="table-replaced-by-its-rows", severity="warning", needs=ReplacedTable)
def table_replaced_by_its_rows(trace: Trace) -> Iterator[Finding]:
    events = {event.site.user.span(): event for event in trace.of(ReplacedTable)}
    if not events:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls(TAKING):
        site = op.site.user
        target = _kept_in_itself(trace, site) if site.span() in events else None
        if target is not None and site.location() not in told:
            told.add(site.location())
            yield _finding(trace, events[site.span()], target, known.loss_of(key))


def _kept_in_itself(trace: Trace, site: Site) -> ast.Attribute | None:
    """`self.weight`, where a statement puts into it what is looked up in it."""
    file = trace.source_file(site.path)
    statement = file.statement(site)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Attribute) or file.at(site) is not statement.value:
        return None
    text = ast.unparse(target)
    own = any(ast.unparse(n) == text for n in ast.walk(statement.value) if isinstance(n, ast.Attribute))
    return target if own else None


def _finding(trace: Trace, event: ReplacedTable, target: ast.Attribute, loss: Backward | None) -> Finding:
    site, text = event.site.user, ast.unparse(target)
    new, edits = _own_name(trace, site, target)
    return Finding(
        message=f"{code(trace, site, 'the line')} takes the place of `{text}`: the next call looks its entries up in"
        " those of this one",
        cause=site,
        cause_label="what it was is gone with the first call",
        effect=loss.site.user if loss is not None else None,
        effect_label="goes through a loss that is weighted with them",
        seen=(
            f"the first call took {event.made} entries out of {event.taken}, and the next ones"
            f" ({plural(event.calls, 'call')}) took theirs out of what the line had made in the call before",
        ),
        fix=f"a name of its own, `{new}`, in place of `{text}` for what {located(trace, site)} gives, and below it",
        edits=edits,
        count=event.calls,
        subjects=frozenset({("replaced", *site.location())}),
    )


def _own_name(trace: Trace, site: Site, target: ast.Attribute) -> tuple[str, Edits]:
    """A name of the function's own, in the statement and wherever the function reads the attribute after it."""
    here = Source(trace, site.path)
    scope, text = here.file.scope_of(target), ast.unparse(target)
    taken = names_in(scope) if scope is not None else set()
    name = target.attr if target.attr not in taken else f"own_{target.attr}"
    edits = here.replace(target, name)
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, ast.Attribute) and ast.unparse(node) == text and node.lineno > site.end_line:
            edits += here.replace(node, name)
    return name, edits
