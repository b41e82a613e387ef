"""What is evaluated is the training's data once more: a second dataset that holds the very same samples.

Why: a validation says how the network does on samples that it was not trained on. On the training's own samples its
score rises as the network learns them by heart, and the best epoch is the one that fits them best.

Fix: make the second dataset of held-out samples (`train=False`, another file, the other part of a split).

Measured: the two datasets are different objects of one class with the same content (words and flags aside, as the name
of a split that the class then does not use, where both gave as many samples), and the samples of the training's
first batch were found in the evaluation bit for bit. Silent where anything else is evaluated as well,
where nothing is judged, where a later training works with what was made (the answers of a teacher), and on the
training's own dataset: then it is the training's score that is asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import COMPARISONS, LOSS_FUNCTIONS, SUBTRACTIONS
from gradscope.analysis.reach import paths
from gradscope.analysis.words import located, plural, user
from gradscope.events import SameSamples
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.rules.mode._loaders import dataset_given
from gradscope.source import SourceFile, stands_in
from gradscope.store import Trace

SCORING = COMPARISONS | LOSS_FUNCTIONS | SUBTRACTIONS | {"argmax", "max", "topk", "mean"}


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def rows(train: bool) -> TensorDataset:
        x = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
        x = x[:32] if train else x[32:]
        return TensorDataset(x, x.sum(1, keepdim=True))

    torch.manual_seed(0)
    train_loader = DataLoader(rows(train=True), batch_size=8, shuffle=True)
    held = rows(train=True)  # cause: GS425
    val_loader = DataLoader(held, batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for x, y in train_loader:
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()
        with torch.no_grad():
            for x, y in val_loader:  # effect: GS425
                print(nn.functional.mse_loss(model(x), y).item())


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def rows(train: bool) -> TensorDataset:
        x = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
        x = x[:32] if train else x[32:]
        return TensorDataset(x, x.sum(1, keepdim=True))

    torch.manual_seed(0)
    train_loader = DataLoader(rows(train=True), batch_size=8, shuffle=True)
    held = rows(train=False)
    val_loader = DataLoader(held, batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for x, y in train_loader:
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()
        with torch.no_grad():
            for x, y in val_loader:
                print(nn.functional.mse_loss(model(x), y).item())


@rule("GS425", name="evaluated-on-the-training-data", severity="warning", needs=SameSamples)
def evaluated_on_the_training_data(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(SameSamples):
        whole = trace.site(event.loop)
        loop = user(whole)
        if whole is not None and loop is not None and _is_scored(trace, whole) and not _is_used(trace, whole):
            yield _finding(trace, event, loop)


def _is_scored(trace: Trace, loop: Site) -> bool:
    """Whether something is judged in the evaluation: a loss, a comparison, the highest score. What a network makes of
    the training's samples may also be handed on, to a classifier on top of it, say."""
    around = {(frame.path, frame.function) for frame in loop.stack if frame.kind == "user"}
    return any(
        not op.nodes and any((frame.path, frame.function) in around for frame in op.site.stack)
        for graph in trace.graphs
        for op in graph.called(SCORING)
    )


def _is_used(trace: Trace, loop: Site) -> bool:
    """Whether a loss is made of what the loop's body gave: the answers of a teacher, kept for a student."""
    place = loop.user
    body = trace.source_file(place.path).statement(place)
    if body is None:
        return False
    used = paths(trace).used.order
    return any(
        (graph.id, value) in used
        for graph in trace.graphs
        for op in graph.ops
        if op.module is not None
        and not op.nodes
        and any(frame.path == place.path and stands_in(body, frame) for frame in op.site.stack)
        for value in op.outputs
    )


def _finding(trace: Trace, event: SameSamples, loop: Site) -> Finding:
    made, training = event.site.user, user(trace.site(event.training))
    file = trace.source_file(made.path)
    given = _dataset(file, made)
    site = made
    if given is not None:
        line, column, end_line, end_column = file.span(given)
        site = Site(-1, made.path, line, column, end_line, end_column, made.function, "user")
    related = [(made, "makes its loader")] if site.line != made.line else []
    if training is not None and training.location() != loop.location():
        related.append((training, "the training goes through the same samples"))
    otherwise = "" if event.exactly else ", whatever their settings say"
    dataset = f"`{file.text(given)}`" if given is not None else "the dataset"
    fix = f"give the evaluation a dataset of samples that are held out, in place of {located(trace, site)}"
    if not event.exactly:
        fix += ": its class takes the same samples whatever it is told"
    return Finding(
        message=f"what is evaluated is the training's data: {dataset} holds the very samples that are trained on",
        cause=site,
        cause_label="the same samples as the training's",
        effect=loop,
        effect_label="the score of samples that were trained on",
        related=tuple(related),
        seen=(
            f"two datasets of one class with the same content{otherwise}; all {plural(event.rows, 'sample')} looked for"
            " of the training's first batch were found in the evaluation, bit for bit",
            "nothing else was evaluated in the whole run",
        ),
        fix=fix,
        subjects=frozenset({("loader", *made.location())}),
    )


def _dataset(file: SourceFile, made: Site) -> ast.expr | None:
    """The expression that makes the dataset of a loader: what is given to it, or what the name given is bound to."""
    given = dataset_given(file, made)
    known = file.assigned.get(ast.unparse(given), []) if isinstance(given, (ast.Name, ast.Attribute)) else []
    here = [node for node in known if file.scope_of(node) is file.scope(made)]
    return here[0] if len(here) == 1 else known[0] if len(known) == 1 else given
