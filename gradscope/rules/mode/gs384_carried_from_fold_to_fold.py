"""A model is carried from one fold of a cross validation to the next: it is validated on rows that it was trained on.

Why: each fold holds out another part of the data. A model that is made before the loop over the folds has learned what
the second fold holds out in the first one: the score climbs from fold to fold, and the mean of all says nothing of new
data.

Fix: make the model, and its optimizer, anew in each fold.

Measured: which rows of a dataset each loader of a subset has, whether gradients were on, and the steps in between: the
first loader without gradients has no row that was trained on, each later one has. One set of parameters was trained,
and nothing wrote to it in between.
Silent on: models that are made anew, weights that are reset or loaded for each fold.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.loop import parameters_of
from gradscope.analysis.made import root_made
from gradscope.analysis.text import site_of
from gradscope.analysis.words import (
    code,
    listed,
    located,
    optimizer_name,
    parameter_subjects,
    plural,
    root_of,
)
from gradscope.events import RowsEvaluated
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Optimizer, Site
from gradscope.rules import rule
from gradscope.store import Trace

SHARE = 0.5  # of the rows of a later loader, that were trained on


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Subset, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(24, 4), torch.randint(2, (24,)))
    parts = torch.randperm(24).chunk(3)
    model = nn.Linear(4, 2)  # cause: GS384
    for fold in range(3):
        rows = torch.cat([part for i, part in enumerate(parts) if i != fold])
        loader = DataLoader(Subset(data, rows.tolist()), batch_size=8, shuffle=True)
        held_out = DataLoader(Subset(data, parts[fold].tolist()), batch_size=8)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        model.train()
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            for x, y in held_out:  # effect: GS384
                print(nn.functional.cross_entropy(model(x), y).item())


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Subset, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(24, 4), torch.randint(2, (24,)))
    parts = torch.randperm(24).chunk(3)
    for fold in range(3):
        rows = torch.cat([part for i, part in enumerate(parts) if i != fold])
        loader = DataLoader(Subset(data, rows.tolist()), batch_size=8, shuffle=True)
        held_out = DataLoader(Subset(data, parts[fold].tolist()), batch_size=8)
        model = nn.Linear(4, 2)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        model.train()
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            for x, y in held_out:
                print(nn.functional.cross_entropy(model(x), y).item())


@rule("GS384", name="carried-from-fold-to-fold", severity="warning", needs=RowsEvaluated)
def carried_from_fold_to_fold(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(RowsEvaluated):
        later = zip(event.before[1:], event.samples[1:], strict=False)
        if event.before[0] or any(event.latest) or any(seen < SHARE * rows for seen, rows in later):
            continue
        stepped = [optimizer for optimizer in trace.optimizers.values() if optimizer.steps]
        held = {tuple(sorted(optimizer.parameters)) for optimizer in stepped}
        if len(held) == 1 and not any(p.updates for p in parameters_of(trace, stepped[0].parameters)):
            yield _finding(trace, event, stepped)


def _finding(trace: Trace, event: RowsEvaluated, stepped: list[Optimizer]) -> Finding:
    site = trace.site(event.loop) or event.site
    held = parameters_of(trace, stepped[0].parameters)
    module = trace.modules.get(next((root for p in held if (root := root_of(trace, p)) is not None), -1))
    found = root_made(trace, module) if module is not None else None
    made = site_of(found[0], "", found[1]) if found is not None else None
    place = stepped[0].site.user if stepped[0].site is not None else event.site.user
    name = module.variable if module is not None and module.variable else "the model"
    model = f"`{name}`" if name != "the model" else name
    shares = [f"{seen} of {rows}" for seen, rows in zip(event.before, event.samples, strict=True)]
    optimizer = optimizer_name(trace, stepped[0].id)
    return Finding(
        message=f"{model} is carried from fold to fold: from the second one on it is evaluated on rows that it was"
        " trained on",
        cause=made or place,
        cause_label="made once, for all folds"
        if made is not None
        else "trains the same parameters in each fold",
        effect=site.user,
        effect_label="the rows that are held out now were trained on in another fold",
        seen=(
            f"of the rows of {code(trace, event.site.user, 'the loader')} {listed(shares, 5)} had been trained on"
            " before, in earlier folds; none in the fold's own training",
            f"all steps trained the same {plural(len(held), 'parameter')}, and nothing wrote to them in between",
        ),
        fix=f"make {model} and {optimizer} anew in each fold: take {located(trace, made or place)} into the loop over"
        " the folds",
        edits=_into_the_loop(trace, made, place, event.site.user),
        count=len(event.samples) - 1,
        subjects=parameter_subjects(stepped[0].parameters),
    )


def _into_the_loop(trace: Trace, made: Site | None, optimizer: Site, loader: Site) -> Edits:
    """The model's statement to the front of the loop that makes the loader and the optimizer."""
    if made is None or not made.path == optimizer.path == loader.path:
        return ()
    here = Source(trace, made.path)
    statement, other, loading = (here.file.statement(site) for site in (made, optimizer, loader))
    if statement is None or other is None or loading is None:
        return ()
    loop, beside, around = (here.file.loop_of(one) for one in (loading, other, statement))
    if not isinstance(loop, ast.For) or beside is not loop or around is not None:
        return ()
    return here.move(statement, loop.body[0])
