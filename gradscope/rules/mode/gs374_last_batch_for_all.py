"""What should be the loss of an epoch is made of its last batch's alone.

Why: a loss that each batch gives anew holds, behind the loop, that of the last one. Divided by the number of batches it
is too small by that factor; added to a total that no epoch begins anew it grows from epoch to epoch while the model
learns. The training itself goes on as it should, but its curve, and what decides by it, says nothing.

Fix: add up in the loop over the batches, begin with 0 before it, and divide what was added up.

Told from the program's text, of a loop that was measured to go through a whole `DataLoader` of several batches. Silent
on: a last batch's loss that is only shown, and what is computed once more behind the loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.figures import (
    Sum,
    added_by,
    first_value,
    is_it,
    is_length,
    passes_of,
    quotients,
    sums,
)
from gradscope.analysis.ops import LOSS_FUNCTIONS
from gradscope.analysis.text import nodes_that_ran, own_nodes, site_of
from gradscope.analysis.words import located, plural
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import SourceFile, called_name, method_name, names_in, own_name, stands_in
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
    for _ in range(3):
        total, batches = 0.0, 0
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)  # effect: GS374
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            batches += 1
        print(loss.item() / batches)  # cause: GS374


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
        total, batches = 0.0, 0
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            batches += 1
        print(total / batches, loss.item())


class _Last(NamedTuple):
    """A loss that each round of a loop over batches gives a name anew."""

    path: str
    function: str
    file: SourceFile
    loop: ast.For
    made: ast.Assign
    name: str
    batches: int

    def is_at(self, node: ast.expr | ast.stmt) -> bool:
        """Whether the name still is the last batch's there: behind the loop, beside it, and given nothing else
        between."""
        end = self.loop.end_lineno or 0
        if node.lineno <= end or self.file.loop_of(node) is not self.file.loop_of(self.loop):
            return False
        return not any(
            end < other.lineno < node.lineno and self.name in names_in(other, ast.Store)
            for other in own_nodes(self.file.scope_of(self.loop) or self.loop)
            if isinstance(other, ast.stmt)
        )


@rule("GS374", name="last-batch-for-all", severity="warning", over=("GS468",))
def last_batch_for_all(trace: Trace) -> Iterator[Finding]:
    known = sums(trace)
    for last in _lasts(trace):
        scope = last.file.scope_of(last.loop) or last.loop
        counts = [one for one in known if one.loop is last.loop and isinstance(one.term, ast.Constant)]
        for quotient in quotients(last.name, scope):
            divisor = quotient.divisor
            counted = divisor is not None and ast.unparse(divisor) in {one.name for one in counts}
            if last.is_at(quotient.node) and (counted or is_length(last.file, divisor, last.loop)):
                yield _divided(trace, known, last, quotient.node, divisor)
        for one in known:
            if (
                not one.is_list
                and one.scope is scope
                and _is_weighed(one.term, last.name)
                and last.is_at(one.add)
            ):
                yield from _added(trace, last, one)
        yield from _added_once(trace, last, scope)


def _added_once(trace: Trace, last: _Last, scope: ast.AST) -> Iterator[Finding]:
    """A total of a function that goes through the batches once, to which one loss is added behind that loop."""
    if last.file.loop_of(last.loop) is not None:
        return
    for node in own_nodes(scope):
        if not isinstance(node, ast.AugAssign | ast.Assign):
            continue
        added = added_by(node)
        if added is None or added[2] or not last.is_at(node) or not _is_weighed(added[1], last.name):
            continue
        mentioned = [
            one for one in own_nodes(scope) if isinstance(one, ast.stmt) and added[0] in names_in(one)
        ]
        before = [one for one in mentioned if one.lineno < last.loop.lineno]
        inside = [one for one in mentioned if last.loop.lineno <= one.lineno <= (last.loop.end_lineno or 0)]
        begun = bool(before) and bool(first_value(before[-1], added[0]))
        behind = [one.divisor for one in quotients(added[0], scope) if one.node.lineno > node.lineno]
        divisors = [one for one in behind if one is not None and is_length(last.file, one, last.loop)]
        if begun and not inside and divisors:
            yield _added_behind(trace, last, node, added[0], ast.unparse(divisors[0]))


def _is_weighed(term: ast.expr, name: str) -> bool:
    """Whether it is a loss, or that times a number of samples: `len(x)`, `x.size(0)`, `x.shape[0]`."""
    if not isinstance(term, ast.BinOp) or not isinstance(term.op, ast.Mult):
        return is_it(term, name)
    for one, other in ((term.left, term.right), (term.right, term.left)):
        shape = isinstance(other, ast.Subscript) and own_name(other.value) == "shape"
        if is_it(one, name) and (shape or called_name(other) in ("len", "size")):
            return True
    return False


def _added_behind(trace: Trace, last: _Last, add: ast.stmt, total: str, divisor: str) -> Finding:
    site = site_of(last.path, last.function, add)
    return Finding(
        message=f"`{total}` gets the last batch's loss alone, and is divided by `{divisor}`, as if by those of all",
        cause=site,
        cause_label="stands behind the loop over the batches: adds one loss",
        effect=site_of(last.path, last.function, last.made),
        effect_label=f"is made anew for each of {plural(last.batches, 'batch')}",
        seen=(_went(last),),
        fix=f"put {located(trace, site)} into the loop of line {last.loop.lineno}, as its last line",
        edits=Source(trace, last.path).move(add, last.loop.body[-1], after=True),
        subjects=frozenset({("sum", *site.location())}),
    )


def _lasts(trace: Trace) -> Iterator[_Last]:
    for path, function, loop in nodes_that_ran(trace, ast.For):
        batches = max((event.batches for event in passes_of(trace, path, loop)), default=0)
        if batches < 2:
            continue
        file = trace.source_file(path)
        bound: dict[str, list[ast.stmt]] = {}
        for node in own_nodes(loop):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                for name in names_in(node, ast.Store):
                    bound.setdefault(name, []).append(node)
        for name, statements in bound.items():
            made = statements[0]
            alone = len(statements) == 1 and isinstance(made, ast.Assign) and file.loop_of(made) is loop
            if not alone or not isinstance(made, ast.Assign) or not isinstance(made.targets[0], ast.Name):
                continue
            if name not in names_in(made.value) and _is_loss(trace, path, loop, made, name):
                yield _Last(path, function, file, loop, made, name, batches)


def _is_loss(trace: Trace, path: str, loop: ast.For, made: ast.stmt, name: str) -> bool:
    """Whether a loss function was seen in the statement, or the loop begins its pass with what the statement makes."""
    for node in own_nodes(loop):
        if method_name(node) == "backward" and isinstance(node, ast.Call):
            if is_it(getattr(node.func, "value", node), name):
                return True
    return any(
        op.site.user.path == path and stands_in(made, op.site.user)
        for graph in trace.graphs
        for op in graph.called(LOSS_FUNCTIONS)
    )


def _divided(
    trace: Trace, known: list[Sum], last: _Last, node: ast.expr | ast.stmt, divisor: ast.expr | None
) -> Finding:
    site = site_of(last.path, last.function, node)
    assert divisor is not None
    totals = [
        one
        for one in known
        if one.loop is last.loop
        and not one.is_list
        and is_it(one.term, last.name)
        and not one.reads(one.scope)
    ]
    edits: Edits = ()
    fix = _summed(last)
    if len(totals) == 1:
        total = totals[0]
        fix = f"divide `{total.name}` in place of `{last.name}`: {located(trace, site)}"
        edits = _in_place_of(trace, last, node, total.name)
    unread = [f"`{t.name}`, which adds all of them up (line {t.add.lineno}), is never read" for t in totals]
    return Finding(
        message=f"`{last.name}` is the last batch's loss, and is divided by the number of all batches",
        cause=site,
        cause_label=f"divides one loss by `{ast.unparse(divisor)}`",
        effect=site_of(last.path, last.function, last.made),
        effect_label=f"is made anew for each of {plural(last.batches, 'batch')}",
        seen=(_went(last), *unread),
        fix=fix,
        edits=edits,
        subjects=frozenset({("sum", *site.location())}),
    )


def _in_place_of(trace: Trace, last: _Last, node: ast.expr | ast.stmt, total: str) -> Edits:
    if not isinstance(node, ast.BinOp):
        return ()
    named = [one for one in ast.walk(node.left) if isinstance(one, ast.Name) and one.id == last.name]
    plain = not isinstance(node.left, ast.Call)  # the total may be a plain number, which has no `item()`
    return Source(trace, last.path).replace(named[0] if plain else node.left, total)


def _summed(last: _Last) -> str:
    return (
        f"add `{last.name}` up in the loop of line {last.loop.lineno}, in a name of its own that begins with 0 before"
        " it, and use that"
    )


def _went(last: _Last) -> str:
    return (
        f"the loop over `{ast.unparse(last.loop.iter)}` went through {plural(last.batches, 'batch')}, and line"
        f" {last.made.lineno} gives `{last.name}` another loss in each"
    )


def _added(trace: Trace, last: _Last, one: Sum) -> Iterator[Finding]:
    """A total to which one loss is added behind the loop over the batches."""
    outer = one.loop
    if last.file.loop_of(last.loop) is not outer:
        return
    begun = one.begins(outer)
    before = [s for s in one.begins(one.scope) if s.lineno < outer.lineno and first_value(s, one.name)]
    read = min(
        (node for node in one.reads(outer) if node.lineno > one.add.lineno),
        key=lambda node: node.lineno,
        default=None,
    )
    divided = any(is_length(last.file, quotient.divisor, last.loop) for quotient in one.quotients(outer))
    if read is None or (not divided if begun else not before):
        return
    here, site = Source(trace, last.path), site_of(last.path, last.function, one.add)
    inside = here.move(one.add, last.loop.body[-1], after=True)
    place = f"put {located(trace, site)} into the loop of line {last.loop.lineno}, as its last line"
    start = before[-1] if before and not begun else None
    if start is not None:
        place += f", and begin `{one.name}` anew before that loop (line {start.lineno} does so once, for all epochs)"
        begin = f"{one.name} = {first_value(start, one.name)}"
        inside = (*here.before(last.loop, begin), *inside)
    yield Finding(
        message=f"`{one.name}` gets the last batch's loss alone"
        + (
            ", and is divided by the number of all batches"
            if begun
            else ", and is never begun anew: it grows"
        ),
        cause=site,
        cause_label="stands behind the loop over the batches: adds one loss in each epoch",
        effect=site_of(last.path, last.function, read),
        effect_label="has "
        + ("one loss, not those of all batches" if begun else "one loss of each epoch so far"),
        related=((site_of(last.path, last.function, start), "begins it once, for all epochs"),)
        if start is not None
        else (),
        seen=(_went(last),),
        fix=place,
        edits=inside,
        subjects=frozenset({("sum", *site.location())}),
    )
