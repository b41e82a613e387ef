"""A mean over the batches of an epoch divides a sum by a count, and only one of the two begins anew with the epoch.

Why: where the count goes on, the mean gets smaller from epoch to epoch whatever the model does; where the sum goes on,
it grows with them. The curve that is shown is that of a counter, and what decides by it (a plateau, early stopping, the
best model) is misled.

Fix: begin both in the same place.

Told from the program's text, of loops that ran: both are added to in one loop, and divided behind it, in the loop
around. Silent on: a sum and a count that both go on (a mean over all epochs), sums kept in attributes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.figures import Quotient, Sum, first_value, is_length, sums
from gradscope.analysis.text import site_of
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
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = 0  # cause: GS421
    for _ in range(3):
        total = 0.0
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            batches += 1
        print(total / batches)  # effect: GS421


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = 0.0
        batches = 0
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            batches += 1
        print(total / batches)


class _Carried(NamedTuple):
    """`name` goes on where it should begin anew: before, or `behind`, the statement `place`. `kind`: it is the "count"
    of a mean or its "sum", or the sum is "shown" every so many rounds."""

    kind: str
    name: str
    begun: ast.stmt
    quotient: Quotient
    place: ast.stmt
    behind: bool = False


@rule("GS421", name="carried-into-the-next", severity="warning")
def carried_into_the_next(trace: Trace) -> Iterator[Finding]:
    known = sums(trace)
    told: set[tuple[str, int]] = set()
    for one in known:
        for quotient in () if "." in one.name or one.is_list else one.quotients(one.scope):
            found = _carried(known, one, quotient)
            if found is not None and (one.path, found.begun.lineno) not in told:
                told.add((one.path, found.begun.lineno))
                yield _finding(trace, one, found)


def _carried(known: list[Sum], one: Sum, quotient: Quotient) -> _Carried | None:
    loop: ast.stmt | None = one.loop
    divided_in = one.file.loop_of(quotient.node)
    if divided_in is one.loop:
        return _shown(one, quotient)
    while loop is not None and (outer := one.file.loop_of(loop)) is not divided_in:
        loop = outer  # that of `add` goes through parts of a batch
    if not isinstance(divided_in, (ast.For, ast.While)) or isinstance(
        divided_in.body[-1], (ast.Break, ast.Return)
    ):
        return None  # no second round
    if loop is None or quotient.node.lineno < (loop.end_lineno or 0):
        return None
    return _one_of_two(known, one, quotient, loop, divided_in)


def _one_of_two(
    known: list[Sum], one: Sum, quotient: Quotient, loop: ast.stmt, outer: ast.stmt
) -> _Carried | None:
    """A sum and its count that a loop over batches adds up, and of which one begins anew with each round of the loop
    around it."""
    divisor = ast.unparse(quotient.divisor) if quotient.divisor is not None else ""
    count = next((other for other in known if other.loop is loop and other.name == divisor), None)
    of_sum, before = one.begins(outer), _first(one, outer)
    if count is None:
        counted = is_length(one.file, quotient.divisor, loop)
        return (
            _Carried("sum", one.name, before, quotient, loop) if counted and before and not of_sum else None
        )
    of_count, earlier = count.begins(outer), _first(count, outer)
    if of_count and not of_sum and before is not None:
        return _Carried("sum", one.name, before, quotient, loop)
    together = bool(of_sum) and of_sum[0].lineno < loop.lineno and one.file.loop_of(of_sum[0]) is outer
    if together and not of_count and earlier is not None:
        return _Carried("count", count.name, earlier, quotient, of_sum[0], behind=True)
    return None


def _shown(one: Sum, quotient: Quotient) -> _Carried | None:
    """A sum that is divided by the number of rounds from one time that it is shown to the next, and is begun anew by
    none of them."""
    condition = next(node for node in one.file.above(quotient.node) if isinstance(node, (ast.If, ast.For)))
    before = _first(one, one.loop)
    if isinstance(condition, ast.For) or quotient.divisor is None or before is None or one.begins(one.loop):
        return None
    every = [
        ast.unparse(node.right)
        for node in ast.walk(condition.test)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
    ]
    if ast.unparse(quotient.divisor) not in every:
        return None
    return _Carried("shown", one.name, before, quotient, condition.body[-1], behind=True)


def _first(one: Sum, loop: ast.stmt) -> ast.stmt | None:
    """The last statement before the loop that begins it with a plain number."""
    found = [s for s in one.begins(one.scope) if s.lineno < loop.lineno and first_value(s, one.name)]
    return found[-1] if found and "." not in one.name else None


def _finding(trace: Trace, one: Sum, found: _Carried) -> Finding:
    here = Source(trace, one.path)
    site = site_of(one.path, one.function, found.begun)
    effect = site_of(one.path, one.function, found.quotient.node)
    place = located(trace, site_of(one.path, one.function, found.place))
    where = f"{'behind' if found.behind else 'before'} {place}"
    begin = f"{found.name} = {first_value(found.begun, found.name)}"
    counts_for_more = found.kind == "count" and _is_read_elsewhere(one, found)
    message, label, seen = _words(one, found)
    return Finding(
        message=message,
        cause=site,
        cause_label="begins it once, for all",
        effect=effect,
        effect_label=label,
        related=((site_of(one.path, one.function, one.add), "adds once a round"),),
        seen=(seen,),
        fix=f"divide by a count of its own, that begins {where}: `{found.name}` is used elsewhere too"
        if counts_for_more
        else f"put `{begin}` {where}",
        edits=() if counts_for_more else (here.after if found.behind else here.before)(found.place, begin),
        subjects=frozenset({("sum", *site.location())}),
    )


def _words(one: Sum, found: _Carried) -> tuple[str, str, str]:
    """Message, what is said beside the quotient, and what was seen."""
    name, outer = found.name, one.file.loop_of(found.quotient.node)
    line = outer.lineno if outer is not None else one.loop.lineno
    if found.kind == "shown":
        return (
            f"`{name}` is shown every so often and never begun anew: each time it holds more rounds",
            "divides what all rounds so far have added by the number of the latest",
            f"no line of the loop of line {line}, which ran, begins `{name}` anew",
        )
    if found.kind == "count":
        return (
            f"`{name}` counts on where `{one.name}` begins anew: the mean gets smaller with each round of line {line}",
            "divides what one of these rounds added by the count of all",
            f"the loop of line {line}, which ran, begins `{one.name}` anew, and has no line that does so with `{name}`",
        )
    return (
        f"`{name}` is never begun anew, and divided by the count of one epoch: it grows with each round of line {line}",
        "divides what all of these rounds added by the count of one",
        f"the loop of line {line}, which ran, has no line that begins `{name}` anew",
    )


def _is_read_elsewhere(one: Sum, found: _Carried) -> bool:
    """Whether a counter serves for more than the mean."""
    divided = {id(part) for part in ast.walk(found.quotient.node)}
    return any(
        isinstance(node, ast.Name)
        and node.id == found.name
        and isinstance(node.ctx, ast.Load)
        and id(node) not in divided
        for node in ast.walk(one.scope)
    )
