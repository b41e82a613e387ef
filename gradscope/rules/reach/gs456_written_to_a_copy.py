"""A statement writes to the copy that an index of a mask or of rows picks: the tensor itself stays as it is.

Why: `x[2:4]` is a view of `x`, and what is written to it stands in `x`. `x[mask]` and `x[rows]`, with a mask or a list
of places, are new tensors: `x[mask].zero_()` and `x[rows][0] = 1` write to one that nothing holds, and it is gone with
the end of the line.

Fix: assign to the places themselves: `x[mask] = 0`, `x[rows[0]] = 1`.

Measured: the memory that was written to is not that of the tensor, and nothing has read it; the tensor goes on into a
loss. Silent on: copies that are read, or have a name, and views.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import WITH_TWIN
from gradscope.analysis.picked_copies import Lost, lost_writes, read_again, taken_from
from gradscope.analysis.reach import paths
from gradscope.analysis.words import located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Span
from gradscope.rules import rule
from gradscope.rules.reach._in_use import goes_on, is_gradient
from gradscope.source import called_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.Linear(4, 3)
    mask = torch.ones(3, 4)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    rows = torch.tensor([0, 2])
    mask[rows].zero_()  # cause: GS456
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        nn.functional.linear(x, layer.weight * mask, layer.bias).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.Linear(4, 3)
    mask = torch.ones(3, 4)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    rows = torch.tensor([0, 2])
    mask[rows] = 0
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        nn.functional.linear(x, layer.weight * mask, layer.bias).pow(2).mean().backward()
        opt.step()


@rule("GS456", name="written-to-a-copy", severity="warning", over=("GS206", "GS605"))
def written_to_a_copy(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    found: dict[Span, tuple[Lost, _ToACopy, int]] = {}
    for lost in lost_writes(trace):
        written = _to_a_copy(trace, lost)
        if written is None:
            continue
        used = goes_on(known, lost.graph, lost.picked) or read_again(trace, lost)
        if used or (written.part and is_gradient(trace, lost.graph, lost.picked, written.part.value)):
            span = lost.op.site.user.span()
            count = found[span][2] if span in found else 0
            found[span] = lost, written, count + max(lost.graph.count, 1)
    for lost, written, count in found.values():
        yield _written_to_a_copy(trace, lost, written, count)


class _ToACopy(NamedTuple):
    """A statement that writes to a copy which only it holds."""

    statement: ast.Expr | ast.Assign | ast.AugAssign
    picked: ast.expr  # `x[mask]`, `x.index_select(0, rows)`

    @property
    def part(self) -> ast.Subscript | None:
        return self.picked if isinstance(self.picked, ast.Subscript) else None


def _to_a_copy(trace: Trace, lost: Lost) -> _ToACopy | None:
    site, place = lost.op.site.user, lost.picked.site.user
    file = trace.source_file(site.path)
    statement, picked = file.statement(site), file.at(place)
    if place.path != site.path or not isinstance(picked, ast.Subscript | ast.Call):
        return None
    if isinstance(statement, ast.Expr):
        holds = statement.value if file.at(site) is statement.value else None
    elif isinstance(statement, ast.Assign | ast.AugAssign) and lost.op.name == "__setitem__":
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        holds = targets[0].value if len(targets) == 1 and isinstance(targets[0], ast.Subscript) else None
    else:
        return None
    parts = list(ast.walk(holds)) if holds is not None else []
    held = not any(part is picked for part in parts) or any(isinstance(p, ast.NamedExpr) for p in parts)
    if held or not isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign):
        return None
    return _ToACopy(statement, picked)


def _written_to_a_copy(trace: Trace, lost: Lost, written: _ToACopy, count: int) -> Finding:
    site = lost.op.site.user
    here = Source(trace, site.path)
    picked = here.file.text(written.picked)
    holder = here.file.text(written.part.value) if written.part else located(trace, lost.picked.site.user)
    fix, edits = _given_back(trace, lost, written)
    name = f"`{lost.op.name}`" if lost.op.name != "__setitem__" else "this line"
    return Finding(
        message=f"`{here.file.text(written.statement)}` writes to a copy: "
        + (f"`{holder}` stays as it is" if written.part else "what it was picked from stays as it is"),
        cause=site,
        cause_label="an index or a mask picks a copy, and this writes to that",
        seen=(
            f"the memory that {name} wrote to is not that of `{holder}`, and no operation read it"
            if written.part
            else f"the memory that {name} wrote to is new in {holder}, and no operation read it",
        ),
        why=f"`{picked}` is a view only where it is made of numbers and slices; of a mask or of indices it is a"
        " new tensor, which nothing keeps"
        if written.part
        else f"`{picked}` gives a new tensor, which nothing keeps",
        fix=fix,
        count=count,
        edits=edits,
        subjects=frozenset({("write", *site.location())}),
    )


_ASSIGNED = {"fill_", "copy_"}  # calls whose argument may be assigned in their place


def _given_back(trace: Trace, lost: Lost, written: _ToACopy) -> tuple[str, Edits]:
    """How to write to the places themselves, and the edit."""
    here = Source(trace, lost.op.site.user.path)
    picked, statement, name = here.file.text(written.picked), written.statement, lost.op.name
    if written.part is None:
        return (
            f"write to the places of the tensor itself, with the same index: `x[…] = …`, `index_fill_`,"
            f" `index_copy_`, `masked_fill_` or `scatter_` of what `{picked}` takes from",
            (),
        )
    call = statement.value if isinstance(statement, ast.Expr) else None
    called = call if isinstance(call, ast.Call) and "\n" not in here.file.text(statement) else None
    method = called and isinstance(called.func, ast.Attribute) and called.func.value is written.picked
    given = called and called.args[:1] == [written.picked] and here.file.is_imported(called.func)
    if called is None or not (method or given):
        return (
            f"take the places out, write to that, and give it back: `part = {picked}`, then the same with `part` in"
            f" place of `{picked}`, then `{picked} = part`",
            (),
        )
    if method and name == "zero_" and not called.args:
        instead = f"{picked} = 0"
    elif method and name in _ASSIGNED and len(called.args) == 1 and not called.keywords:
        instead = f"{picked} = {here.file.text(called.args[0])}"
    elif method and name.removesuffix("_") in WITH_TWIN and called_name(called) == name:
        rest = here.file.text(called).partition(f".{name}(")[2]
        instead = f"{picked} = {picked}.{name.removesuffix('_')}({rest}"
    else:
        instead = f"{picked} = {here.file.text(called)}"
    of_leaf = lost.graph.values[lost.picked.outputs[0]].requires_grad and _is_leaf(trace, lost)
    off = ", with gradients off (`with torch.no_grad():`)" if of_leaf else ""
    edits = here.replace(called, instead) if not of_leaf else ()
    return f"give the result back to the places: `{instead}`{off}", edits


def _is_leaf(trace: Trace, lost: Lost) -> bool:
    return lost.graph.values[taken_from(trace, lost)].is_leaf
