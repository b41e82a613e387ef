"""The rows of an evaluation are other ones in each pass: its dataset is the training's, which changes them at random.

Why: `random_split` and `Subset` copy nothing. What the dataset does to a row for the training (flips, noise, crops) it
does for the validation as well: its result moves from epoch to epoch though the weights don't, and is that of changed
rows.

Fix: a dataset of its own for the evaluation, without what is random, divided by the same numbers.

Measured: the first batch of each pass through a loader that takes its rows in order, of a part of a dataset, another
part of which is gone through with gradients. Only a note: noise may be what is evaluated.
Silent on: batches that differ as a whole, as rows that are made up when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.words import located, plural, user
from gradscope.events import DatasetShared
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, random_split

    class Rows(Dataset[Any]):
        def __init__(self, x: torch.Tensor) -> None:
            self.x: torch.Tensor = x

        def __len__(self) -> int:
            return len(self.x)

        def __getitem__(self, i: int) -> Any:
            return self.x[i] + 0.1 * torch.randn(4), self.x[i].sum(0, keepdim=True)

    torch.manual_seed(0)
    train_set, val_set = random_split(Rows(torch.randn(40, 4)), [32, 8])  # cause: GS423
    train_loader, val_loader = DataLoader(train_set, batch_size=8), DataLoader(val_set, batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for x, y in train_loader:
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()
        with torch.no_grad():
            for x, y in val_loader:  # effect: GS423
                print(nn.functional.mse_loss(model(x), y).item())


def good() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, Subset, random_split

    class Rows(Dataset[Any]):
        def __init__(self, x: torch.Tensor, noise: float) -> None:
            self.x: torch.Tensor = x
            self.noise = noise

        def __len__(self) -> int:
            return len(self.x)

        def __getitem__(self, i: int) -> Any:
            return self.x[i] + self.noise * torch.randn(4), self.x[i].sum(0, keepdim=True)

    torch.manual_seed(0)
    x = torch.randn(40, 4)
    train_set, held = random_split(Rows(x, 0.1), [32, 8])
    train_loader = DataLoader(train_set, batch_size=8)
    val_loader = DataLoader(Subset(Rows(x, 0.0), held.indices), batch_size=8)
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


@rule("GS423", name="other-rows-in-each-evaluation", severity="note", needs=DatasetShared)
def other_rows_in_each_evaluation(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(DatasetShared):
        loop = user(trace.site(event.loop))
        alike = [entry for entry, count in enumerate(event.differing) if count < event.rows]
        changed = [entry for entry, count in enumerate(event.differing) if count]
        if loop is not None and changed and alike and loop.location() not in told:
            told.add(loop.location())
            yield _finding(trace, event, loop, changed)


def _finding(trace: Trace, event: DatasetShared, loop: Site, changed: list[int]) -> Finding:
    made, trained = event.site.user, user(trace.site(event.trained))
    split = user(trace.site(event.subset)) or made
    most = max(changed, key=lambda entry: event.differing[entry])
    size = ", ".join(str(int(length)) for length in event.sizes[most])
    related = [(made, "the evaluation's loader")] if made.line != split.line else []
    if trained is not None and trained.line not in (split.line, made.line):
        related.append((trained, "the training's loader, of the same dataset"))
    return Finding(
        message="the rows of the evaluation are other ones in each pass: its dataset is the training's, which changes"
        " them at random",
        cause=split,
        cause_label=f"a part of the {event.dataset} that is trained on",
        effect=loop,
        effect_label=f"{event.differing[most]} of {event.rows} rows were others than in the pass before",
        related=tuple(related),
        seen=(
            f"in {plural(event.passes, 'pass')}, with gradients off and in order, the first batch had rows that differ"
            f" in its tensor {most + 1} ([{size}]): {event.differing[most]} of the {event.rows} that were compared",
        ),
        fix=f"make a second {event.dataset} without what is random, and take the rows of {located(trace, split)} from"
        " it: `Subset(plain, part.indices)`; where the noise is what is evaluated, this is right as it is",
        subjects=frozenset({("loader", *made.location())}),
    )
