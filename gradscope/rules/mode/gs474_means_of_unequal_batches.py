"""The mean over a test set is that of its batches' means, and the last batch is far smaller than the others.

Why: the mean of a batch of 8 counts like that of a batch of 64, so each of its samples weighs eight times as much. An
accuracy of 1 where the few samples of the last batch happen to be right lifts the figure of all.

Fix: multiply each mean by the size of its batch, and divide by the number of samples; or count the right answers.

A note: the figure is another one than it is taken for, and need not be far off. The list, or the sum, and what divides
it are read in the program's text, of loops that ran; that a mean is added, and the sizes of the first and the last
batch, were seen in the run. Silent on: passes of the training, a last batch of more than a quarter of the first, many
batches, batches that the program puts together itself, and means that are weighed by their batch's size.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.figures import Quotient, Sum, is_length, passes_of, sums
from gradscope.analysis.text import own_nodes, site_of
from gradscope.analysis.words import located
from gradscope.events import Loader, LoaderPassed
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.rules.mode._batch_figures import Figure, figure_added, length_in
from gradscope.source import method_name
from gradscope.store import Trace

SHARE = 4  # times as many samples in the first batch as in the last, at least
FEW = 64  # batches: of more, one more or less makes no difference


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x, held = torch.randn(64, 4), torch.randn(34, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    test = DataLoader(TensorDataset(held, held.sum(1, keepdim=True)), batch_size=16)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for a, b in loader:
            opt.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            opt.step()
        total = 0.0
        with torch.no_grad():
            for a, b in test:
                total += nn.functional.mse_loss(model(a), b).item()  # effect: GS474
        print(total / len(test))  # cause: GS474


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x, held = torch.randn(64, 4), torch.randn(34, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    test = DataLoader(TensorDataset(held, held.sum(1, keepdim=True)), batch_size=16)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for a, b in loader:
            opt.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            opt.step()
        total = 0.0
        with torch.no_grad():
            for a, b in test:
                total += nn.functional.mse_loss(model(a), b).item() * len(a)
        print(total / len(test.dataset))  # type: ignore[arg-type]


@rule("GS474", name="means-of-unequal-batches", severity="note", needs=Loader)
def means_of_unequal_batches(trace: Trace) -> Iterator[Finding]:
    plain = {(event.site.id, event.loop) for event in trace.of(Loader) if event.order}
    for one in sums(trace):
        passes = [
            event
            for event in passes_of(trace, one.path, one.loop)
            if (event.site.id, event.loop) in plain
            and 0 < event.last * SHARE <= event.first
            and 1 < event.batches <= FEW
        ]
        if not passes or any(method_name(node) == "backward" for node in own_nodes(one.loop)):
            continue
        quotient = next((q for q in one.quotients(one.scope) if _by_batches(one, q)), None)
        term = figure_added(trace, one) if quotient is not None else None
        if quotient is not None and term is not None and term.kind == "mean":
            yield _finding(trace, one, quotient, term, passes[0])


def _by_batches(one: Sum, quotient: Quotient) -> bool:
    """Whether the sum, or list, is divided by the number of batches."""
    divisor = quotient.divisor
    if divisor is None:
        return True
    text = ast.unparse(divisor)
    whole = text.endswith(".dataset)")
    return text == f"len({one.name})" or (not whole and is_length(one.file, divisor, one.loop))


def _finding(trace: Trace, one: Sum, quotient: Quotient, term: Figure, passed: LoaderPassed) -> Finding:
    added, site = site_of(one.path, one.function, one.add), site_of(one.path, one.function, quotient.node)
    size, here, divisor = length_in(one.loop), Source(trace, one.path), quotient.divisor
    loader = ast.unparse(divisor.args[0]) if isinstance(divisor, ast.Call) and divisor.args else ""
    edits: Edits = ()
    if size and divisor is not None and loader and not one.is_list:
        edits = (
            *here.around(one.term, "", f" * {size}", Binds.PRODUCT),
            *here.replace(divisor, f"len({loader}.dataset)"),
        )
    times = passed.first / passed.last
    return Finding(
        message=f"`{one.name}` is averaged over batches of {passed.first} samples and one of {passed.last}, as if they"
        " were alike",
        cause=site,
        cause_label=f"gives each of {passed.batches} batches the same weight",
        effect=added,
        effect_label="adds the mean of a batch",
        seen=(
            f"the loop over `{ast.unparse(one.loop.iter)}` went through {passed.batches} batches, the first of"
            f" {passed.first} samples and the last of {passed.last}: each of these weighs {times:.3g} times as much",
        ),
        fix=f"multiply what {located(trace, added)} adds by the size of its batch{f', `{size}`' if size else ''}, and"
        f" divide by the number of samples in {located(trace, site)}",
        edits=edits,
        subjects=frozenset({("sum", *site.location())}),
    )
