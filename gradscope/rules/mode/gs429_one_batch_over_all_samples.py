"""The right answers of one batch are divided by the number of all samples.

Why: an accuracy is right answers over the answers that were asked for. A count that begins anew in each batch has at
most the batch's size; divided by the length of the whole dataset it stays near zero, however well the network answers.

Fix: divide by the batch's own size, or add up the counts of all batches, and divide once, behind the loop.

The count and its divisor are read in the program's text, of loops that ran; that it is the count of one batch, and of
how many samples, was seen in the run, with the number of batches that the loop went through. Silent on: counts that are
added up, and datasets of one batch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.figures import additions, gone_through, passes_of, quotients
from gradscope.analysis.ops import EXITS
from gradscope.analysis.reach import paths
from gradscope.analysis.text import nodes_that_ran, own_nodes, site_of
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.rules.mode._batch_figures import Figure, bare, figure
from gradscope.source import called_name, stands_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for a, b in loader:
            out = model(a)
            opt.zero_grad()
            nn.functional.cross_entropy(out, b).backward()
            opt.step()
            correct = (out.argmax(1) == b).sum().item()  # effect: GS429
            print(correct / len(loader.dataset))  # type: ignore[arg-type]  # cause: GS429


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for a, b in loader:
            out = model(a)
            opt.zero_grad()
            nn.functional.cross_entropy(out, b).backward()
            opt.step()
            correct = (out.argmax(1) == b).sum().item()
            print(correct / len(b))


@rule("GS429", name="one-batch-over-all-samples", severity="warning")
def one_batch_over_all_samples(trace: Trace) -> Iterator[Finding]:
    for path, function, loop in nodes_that_ran(trace, ast.For):
        data = gone_through(loop)
        batches = max((event.batches for event in passes_of(trace, path, loop)), default=0)
        if data is None or batches < 2:
            continue
        for made in own_nodes(loop):
            if (
                not isinstance(made, ast.Assign)
                or len(made.targets) != 1
                or not isinstance(made.targets[0], ast.Name)
            ):
                continue
            name = made.targets[0].id
            wrong = [
                q
                for q in quotients(name, loop)
                if _is_all_of(q.divisor, ast.unparse(data)) and not _is_a_part(trace, path, loop, q.node)
            ]
            if wrong and not _added_up(loop, name) and (counted := _counted(trace, path, made)) is not None:
                assert wrong[0].divisor is not None
                yield _finding(trace, path, function, made, wrong[0].node, wrong[0].divisor, counted, batches)


def _is_all_of(divisor: ast.expr | None, data: str) -> bool:
    """Whether it is `len(loader.dataset)` of the loader that the loop goes through."""
    divisor = bare(divisor)
    whole = divisor.args[0] if isinstance(divisor, ast.Call) and len(divisor.args) == 1 else None
    return called_name(divisor) == "len" and whole is not None and ast.unparse(whole) == f"{data}.dataset"


def _is_a_part(trace: Trace, path: str, loop: ast.For, share: ast.expr | ast.stmt) -> bool:
    """Whether the loop adds the shares of all batches up: each is then its batch's part of the whole."""
    file = trace.source_file(path)
    statement = file.statement_of(share)
    names = [ast.unparse(target) for target in getattr(statement, "targets", ())]
    return any(
        one.add is statement or any(ast.unparse(node) in names for node in ast.walk(one.term))
        for one in additions(trace)
        if one.path == path and one.loop is loop
    )


def _added_up(loop: ast.For, name: str) -> bool:
    """Whether the loop gives it another value from its own old one."""
    return any(
        (isinstance(node, ast.AugAssign) and ast.unparse(node.target) == name)
        or (
            isinstance(node, ast.Assign)
            and [ast.unparse(target) for target in node.targets] == [name]
            and any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node.value))
        )
        for node in own_nodes(loop)
    )


def _counted(trace: Trace, path: str, made: ast.Assign) -> Figure | None:
    """What every call that was seen in the assignment takes out of a batch: a count of right answers."""
    known = paths(trace)
    found = [
        figure(known, (graph.id, value))
        for graph in trace.graphs
        for op in graph.called(EXITS)
        if op.site.user.path == path and stands_in(made, op.site.user)
        for value in op.inputs
    ]
    hits = [one for one in found if one is not None and one.kind == "hits"]
    return max(hits, key=lambda one: one.size) if hits and len(hits) == len(found) else None


def _finding(
    trace: Trace,
    path: str,
    function: str,
    made: ast.Assign,
    quotient: ast.expr | ast.stmt,
    divisor: ast.expr,
    counted: Figure,
    batches: int,
) -> Finding:
    site, here = site_of(path, function, quotient), Source(trace, path)
    size = _length(here, counted)
    edits: Edits = here.replace(divisor, size) if size else ()
    return Finding(
        message=f"{code(trace, site, 'the share')} divides the right answers of one batch by the number of all samples",
        cause=site,
        cause_label="counts the samples of all batches",
        effect=site_of(path, function, made),
        effect_label=f"counts anew in each batch, of {counted.size} samples",
        seen=(
            f"the loop goes through {batches:,} batches, and each gives a count of {counted.size} at most",
        ),
        fix=f"divide by the size of the batch{f', `{size}`,' if size else ''} in place of"
        f" {located(trace, site_of(path, function, divisor))}; or add the counts up, and divide behind the loop",
        edits=edits,
    )


def _length(here: Source, counted: Figure) -> str:
    """`len(y)` of the labels that the answers are compared with."""
    compared = here.file.at(counted.op.site.user)
    for node in ast.walk(compared) if compared is not None else ():
        given: ast.expr | None = None
        if isinstance(node, ast.Compare):
            given = node.comparators[0]
        elif called_name(node) in ("eq", "equal") and isinstance(node, ast.Call) and node.args:
            given = node.args[-1]
        if isinstance(given, ast.Name):
            return f"len({given.id})"
    return ""
