"""A sum over batches is divided by another count: mean losses by the samples, or right answers by the batches.

Why: a loss is a mean over its batch already, so the sum of them is divided by the number of batches. Divided by that of
the samples it is too small by about the batch's size; a count of right answers divided by the batches is too large by
it, an accuracy beyond 1. Two figures of loaders with other batch sizes can't be compared.

Fix: multiply each mean by the size of its batch, which is right for a last batch that is smaller too, and divide by the
samples; divide hits by the samples.

The sum and its divisor are read in the program's text, of loops that ran; that what is added is the mean or the count
of a batch was seen in the run, with the batch's size. Silent on: batches of one sample, losses that are sums.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.figures import Quotient, Sum, gone_through, sums
from gradscope.analysis.text import site_of
from gradscope.analysis.words import located
from gradscope.events import Loader
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.rules.mode._batch_figures import Figure, bare, figure_added, length_in
from gradscope.source import called_name, own_name, stands_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    loader = DataLoader(data, batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = 0.0
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()  # effect: GS422
        print(total / len(data))  # cause: GS422


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    loader = DataLoader(data, batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = 0.0
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(a)
        print(total / len(data))


@rule("GS422", name="divided-by-another-count", severity="note")
def divided_by_another_count(trace: Trace) -> Iterator[Finding]:
    known = sums(trace)
    for one in known:
        alone = sum(other.name == one.name and other.scope is one.scope for other in known) == 1
        for quotient in one.quotients(one.scope) if alone and not one.is_list else ():
            counted = _counts(known, one, quotient.divisor) if _is_last(one, quotient) else ""
            term = figure_added(trace, one) if counted else None
            if term is not None and (term.kind, counted) in (("mean", "samples"), ("hits", "batches")):
                yield _finding(trace, known, one, quotient, term)
                break


# -- what it is divided by


def _counts(known: list[Sum], one: Sum, divisor: ast.expr | None, deep: int = 2) -> str:
    """ "samples" or "batches"; "" where that can't be told."""
    divisor = bare(divisor)
    if divisor is None or not deep:
        return ""
    if called_name(divisor) == "len" and isinstance(divisor, ast.Call) and len(divisor.args) == 1:
        return _counts_length(one, divisor.args[0])
    if isinstance(divisor, ast.BinOp) and isinstance(divisor.op, ast.Add):
        is_round = ast.unparse(divisor.right) == "1" and ast.unparse(divisor.left) == _number_of_round(one)
        return "batches" if is_round else ""
    term = _counted_beside(known, one, divisor)
    if term is not None:
        return "samples" if _is_size(term) else "batches" if ast.unparse(term) == "1" else ""
    found = one.file.assigned.get(ast.unparse(divisor), [])
    if len(found) == 1:
        return _counts(known, one, found[0], deep - 1)
    table = (
        one.file.assigned.get(ast.unparse(divisor.value), []) if isinstance(divisor, ast.Subscript) else []
    )
    lengths = [n for n in ast.walk(table[0]) if called_name(n) == "len"] if len(table) == 1 else []
    kinds = {_counts(known, one, n, deep - 1) for n in lengths if isinstance(n, ast.Call)}
    return kinds.pop() if len(kinds) == 1 else ""


def _counted_beside(known: list[Sum], one: Sum, divisor: ast.expr) -> ast.expr | None:
    """What the same loop adds to the divisor in each round, where it does."""
    name = ast.unparse(divisor)
    term = next((o.term for o in known if o.loop is one.loop and o.name == name and not o.is_list), None)
    found = one.file.assigned.get(term.id, []) if isinstance(term, ast.Name) else []
    return found[0] if len(found) == 1 else term


def _counts_length(one: Sum, node: ast.expr) -> str:
    text, through = ast.unparse(node), _through(one)
    if text == through:
        return "batches"
    if text.removesuffix(".dataset") == through:
        return "samples"
    given = [call.args[0] for call in one.file.calls.get("DataLoader", []) if call.args]
    return "samples" if any(_base(node) == _base(data) for data in given) else ""


def _through(one: Sum) -> str:
    named = gone_through(one.loop)
    return ast.unparse(named) if named is not None else ""


def _base(node: ast.expr) -> str:
    """`data` of `data[phase]`."""
    return ast.unparse(node.value if isinstance(node, ast.Subscript) else node)


def _is_size(term: ast.expr) -> bool:
    """Whether it is `x.size(0)`, `x.shape[0]` or `len(x)`."""
    if isinstance(term, ast.Subscript):
        return own_name(term.value) == "shape" and ast.unparse(term.slice) == "0"
    if called_name(term) == "len":
        return True
    return (
        called_name(term) == "size"
        and isinstance(term, ast.Call)
        and [ast.unparse(a) for a in term.args] == ["0"]
    )


def _number_of_round(one: Sum) -> str:
    """`i` of `for i, batch in enumerate(loader)`."""
    target = one.loop.target
    begun_at_0 = called_name(one.loop.iter) == "enumerate" and len(getattr(one.loop.iter, "args", ())) == 1
    return ast.unparse(target.elts[0]) if begun_at_0 and isinstance(target, ast.Tuple) else ""


def _is_last(one: Sum, quotient: Quotient) -> bool:
    """Whether the quotient is what it looks like: nothing divides or multiplies it, or the sum, once more."""
    above = one.file.parent.get(id(quotient.node))
    if isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Mult, ast.Div)):
        other = above.right if above.left is quotient.node else above.left
        if ast.unparse(other) not in ("100", "100.0"):
            return False
    changed = [
        node
        for node in ast.walk(one.scope)
        if isinstance(node, ast.AugAssign)
        and node not in (one.add, quotient.node)
        and ast.unparse(node.target) == one.name
    ]
    return not changed


# -- the finding


def _finding(trace: Trace, known: list[Sum], one: Sum, quotient: Quotient, term: Figure) -> Finding:
    assert quotient.divisor is not None
    site = site_of(one.path, one.function, quotient.node)
    divisor = ast.unparse(quotient.divisor)
    if term.kind == "mean":
        message = (
            f"`{one.name}` adds up means of batches and is divided by the number of samples: it is too small"
        )
        label, adds = "counts samples", f"adds a mean over {term.size} in each round"
        seen = f"`{term.op.name}` has divided each of them already; the result is too small by the size of a batch"
    else:
        message = (
            f"`{one.name}` counts right answers and is divided by the number of batches: it is too large"
        )
        label, adds = "counts batches", f"adds how many of {term.size} are right in each round"
        seen = f"a share is 1 at most, and the result is up to {term.size}"
    fix, edits = _remedy(trace, known, one, quotient, term)
    return Finding(
        message=message,
        cause=site,
        cause_label=f"`{divisor}` {label}",
        effect=site_of(one.path, one.function, one.add),
        effect_label=adds,
        seen=(seen,),
        fix=fix,
        edits=edits,
        subjects=frozenset({("sum", *site.location())}),
    )


def _remedy(trace: Trace, known: list[Sum], one: Sum, quotient: Quotient, term: Figure) -> tuple[str, Edits]:
    assert quotient.divisor is not None
    here, loader = Source(trace, one.path), _through(one)
    instead = f"in place of {located(trace, site_of(one.path, one.function, quotient.divisor))}"
    if term.kind == "mean":
        counted = _counted_beside(known, one, quotient.divisor)
        size = ast.unparse(counted) if counted is not None else length_in(one.loop)
        if size:
            added = located(trace, site_of(one.path, one.function, one.add))
            edits = here.around(one.term, "", f" * {size}", Binds.PRODUCT)
            return f"multiply what {added} adds by `{size}`", edits
        edits = here.replace(quotient.divisor, f"len({loader})") if loader else ()
        return f"divide by the number of batches {instead}", edits
    loops = [
        e for e in trace.of(Loader) if (at := trace.site(e.loop)) is not None and stands_in(one.loop, at.user)
    ]
    if not loader or not loops or any(event.drawn for event in loops):
        return f"divide by the number of samples {instead}", ()
    edits = here.replace(quotient.divisor, f"len({loader}.dataset)")
    return f"divide by the number of samples {instead}: `len({loader}.dataset)`", edits
