"""A sum over the batches of one loader is divided by another number than that of its batches.

Why: a mean over an evaluation's batches that is divided by the number of the training's, or by one more than there are,
is too small by that factor in every epoch. It can't be compared with the training's, and where it is a share, 1 is out
of reach.

Fix: divide by the length of the loader that the loop goes through.

Measured: how many batches the loop went through, and what `len(loader)` gave where the sum is divided. That one value
is added for each batch, and begun before the loop, is read in the program's text, of loops that ran. Silent on: loops
that stop early, and divisors that are computed in another way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.analysis.figures import Quotient, Sum, gone_through, passes_of, sums
from gradscope.analysis.text import site_of
from gradscope.analysis.words import located, plural, user
from gradscope.events import LoaderCounted
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(40, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    train_loader = DataLoader(data, batch_size=8)
    held = torch.randn(16, 4)
    val_loader = DataLoader(TensorDataset(held, held.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for a, b in train_loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(a), b).backward()
        opt.step()
    total = 0.0
    with torch.no_grad():
        for a, b in val_loader:
            total += nn.functional.mse_loss(model(a), b).item()  # effect: GS426
    print(total / len(train_loader))  # cause: GS426


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(40, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    train_loader = DataLoader(data, batch_size=8)
    held = torch.randn(16, 4)
    val_loader = DataLoader(TensorDataset(held, held.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for a, b in train_loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(a), b).backward()
        opt.step()
    total = 0.0
    with torch.no_grad():
        for a, b in val_loader:
            total += nn.functional.mse_loss(model(a), b).item()
    print(total / len(val_loader))


@dataclass
class _Divided:
    """`length`: `len(loader)`; `beside`: what is added to it; `batches` that were gone through, `by`: what they were
    divided by; `other`: it is another loader's length."""

    quotient: Quotient
    length: ast.Call
    beside: int
    batches: int
    by: int
    other: bool


@rule("GS426", name="divided-by-another-length", severity="warning")
def divided_by_another_length(trace: Trace) -> Iterator[Finding]:
    known = sums(trace)
    for one in known:
        if not _once_a_round(one):
            continue
        for quotient in one.quotients(one.scope):
            found = _divided(trace, one, quotient) if _belongs(known, one, quotient) else None
            if found is not None:
                yield _finding(trace, one, found)


def _once_a_round(one: Sum) -> bool:
    """Whether the addition stands in the loop's own block, or in a `with` of it."""
    for above in one.file.above(one.add):
        if above is one.loop:
            return True
        if not isinstance(above, ast.With):
            break
    return False


def _belongs(known: list[Sum], one: Sum, quotient: Quotient) -> bool:
    """Whether what is divided is what this loop has added: begun before it, and by no other loop added to since."""
    file, end = one.file, quotient.node.lineno
    if quotient.node.lineno <= (one.loop.end_lineno or 0):
        return False
    outer = file.loop_of(one.loop)
    begun = [s.lineno for s in one.begins(one.scope) if s.lineno < end and file.loop_of(s) is outer]
    since = max(begun, default=end)
    if since > one.loop.lineno or file.loop_of(quotient.node) is not outer:
        return False
    others = [o for o in known if o.name == one.name and o.scope is one.scope and o.add is not one.add]
    changed = [
        node
        for node in ast.walk(one.scope)
        if isinstance(node, ast.AugAssign)
        and node not in (one.add, quotient.node)
        and ast.unparse(node.target) == one.name
        and since < node.lineno < end
    ]
    return not changed and not any(since < o.add.lineno < end for o in others)


def _divided(trace: Trace, one: Sum, quotient: Quotient) -> _Divided | None:
    written = _length(quotient.divisor)
    passed = passes_of(trace, one.path, one.loop)
    if written is None or not passed:
        return None
    call, beside = written
    place = one.file.span(call)
    for event in trace.of(LoaderCounted):
        asked = [user(trace.site(number)) for number in event.asked]
        if not any(
            s is not None and s.path == one.path and (s.line, s.column, s.end_line, s.end_column) == place
            for s in asked
        ):
            continue
        own = [p.batches for p in passed if p.site.id == event.site.id]
        if own and beside:
            return _Divided(quotient, call, beside, own[0], event.length + beside, False)
        if not own and event.length + beside not in {p.batches for p in passed}:
            return _Divided(quotient, call, beside, passed[0].batches, event.length + beside, True)
    return None


def _length(divisor: ast.expr | None) -> tuple[ast.Call, int] | None:
    """`len(loader)` and what is added to it, of `len(loader) + 1`."""
    if isinstance(divisor, ast.BinOp) and isinstance(divisor.op, (ast.Add, ast.Sub)):
        found = _length(divisor.left)
        by = divisor.right.value if isinstance(divisor.right, ast.Constant) else None
        if found is None or type(by) is not int:
            return None
        return found[0], found[1] + (by if isinstance(divisor.op, ast.Add) else -by)
    is_length = isinstance(divisor, ast.Call) and called_name(divisor) == "len" and len(divisor.args) == 1
    return (divisor, 0) if is_length and isinstance(divisor, ast.Call) else None


def _finding(trace: Trace, one: Sum, found: _Divided) -> Finding:
    assert found.quotient.divisor is not None
    site = site_of(one.path, one.function, found.quotient.node)
    divisor = site_of(one.path, one.function, found.quotient.divisor)
    text = ast.unparse(found.quotient.divisor)
    batches = plural(found.batches, "batch")
    right, edits = _right(trace, one, found)
    return Finding(
        message=f"`{one.name}` adds up {batches} and is divided by {found.by}, `{text}`",
        cause=site,
        cause_label=f"divides by {found.by}" + (", the length of another loader" if found.other else ""),
        effect=site_of(one.path, one.function, one.add),
        effect_label=f"adds once for each of {batches}",
        seen=(
            f"the loop went through {batches}, and `{ast.unparse(found.length)}` gave {found.by - found.beside} here:"
            f" what comes out is {found.batches / found.by:.3g} times the mean",
        ),
        fix=f"divide by `{right}` in place of {located(trace, divisor)}",
        edits=edits,
        subjects=frozenset({("sum", *site.location())}),
    )


def _right(trace: Trace, one: Sum, found: _Divided) -> tuple[str, Edits]:
    """The length to divide by, and the edit, where what the loop goes through has a name."""
    assert found.quotient.divisor is not None
    through = gone_through(one.loop)
    if through is None:
        return str(found.batches), ()
    right = f"len({ast.unparse(through)})"
    if '"' in one.file.text(found.quotient.divisor):  # in an f-string the other one may end it
        right = right.replace("'", '"')
    return right, Source(trace, one.path).replace(found.quotient.divisor, right)
