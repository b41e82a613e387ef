"""An attribute is set through one part of a divided dataset, and the other part has it too: both are of one dataset.

Why: `random_split` and `Subset` copy nothing. `train_set.dataset` and `val_set.dataset` are the same object, so that
`val_set.dataset.transform = …` is the training's transform as well: the training loses its augmentation, or the
validation gets it.

Fix: give the validation's part a dataset of its own before: `val_set.dataset = copy.copy(val_set.dataset)`.

Measured: the parts' dataset is one object, and the attribute was the same one in each pass through either part.
Silent on: attributes that are set anew between training and validation, and those set through one part alone, unless
the dataset was made with another one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.analysis.text import site_of
from gradscope.analysis.words import located, user
from gradscope.events import DatasetShared
from gradscope.fixes.source import Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import SourceFile
from gradscope.store import Trace


def bad() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, random_split

    class Rows(Dataset[Any]):
        def __init__(self, x: torch.Tensor) -> None:
            self.x: torch.Tensor = x
            self.transform: Any = None

        def __len__(self) -> int:
            return len(self.x)

        def __getitem__(self, i: int) -> Any:
            x = self.x[i]
            return (self.transform(x) if self.transform else x), x.sum(0, keepdim=True)

    def noise(x: torch.Tensor) -> torch.Tensor:
        return x + 0.1 * torch.randn(4)

    torch.manual_seed(0)
    train_set, val_set = random_split(Rows(torch.randn(40, 4)), [32, 8])
    train_set.dataset.transform = noise  # type: ignore[attr-defined] # effect: GS424
    val_set.dataset.transform = None  # type: ignore[attr-defined] # cause: GS424
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(train_set, batch_size=8):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    with torch.no_grad():
        print([nn.functional.mse_loss(model(x), y).item() for x, y in DataLoader(val_set, batch_size=8)])


def good() -> None:
    import copy
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, Subset, random_split

    class Rows(Dataset[Any]):
        def __init__(self, x: torch.Tensor) -> None:
            self.x: torch.Tensor = x
            self.transform: Any = None

        def __len__(self) -> int:
            return len(self.x)

        def __getitem__(self, i: int) -> Any:
            x = self.x[i]
            return (self.transform(x) if self.transform else x), x.sum(0, keepdim=True)

    def noise(x: torch.Tensor) -> torch.Tensor:
        return x + 0.1 * torch.randn(4)

    torch.manual_seed(0)
    data = Rows(torch.randn(40, 4))
    train_set, held = random_split(data, [32, 8])
    val_set = Subset(copy.copy(data), held.indices)
    train_set.dataset.transform = noise  # type: ignore[attr-defined]
    val_set.dataset.transform = None  # type: ignore[attr-defined]
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(train_set, batch_size=8):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    with torch.no_grad():
        print([nn.functional.mse_loss(model(x), y).item() for x, y in DataLoader(val_set, batch_size=8)])


@dataclass
class _Written:
    """`part.dataset.attribute = value`."""

    part: str
    attribute: str
    statement: ast.Assign


@rule("GS424", name="set-through-a-part", severity="warning", needs=DatasetShared)
def set_through_a_part(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(DatasetShared):
        held, training = user(trace.site(event.subset)), user(trace.site(event.training))
        if held is None or training is None or held.path != training.path:
            continue
        file = trace.source_file(held.path)
        names = [_name(file, held, event.place), _name(file, training, event.training_place)]
        made = file.statement(held)
        if not all(names) or made is None:
            continue
        for attribute in event.kept:
            writes = _writes(file, made, names, attribute)
            if not writes or (held.path, writes[-1].statement.lineno) in told:
                continue
            last, before = writes[-1], writes[-2].statement.value if len(writes) > 1 else None
            first = before if before is not None and writes[-2].part != last.part else None
            if len(writes) == 1 and last.part == names[0]:
                first = _given(file, held, attribute)
            if first is not None and ast.dump(first) != ast.dump(last.statement.value):
                told.add((held.path, last.statement.lineno))
                yield _finding(trace, event, held, writes, first, names)


def _finding(
    trace: Trace, event: DatasetShared, split: Site, writes: list[_Written], first: ast.expr, names: list[str]
) -> Finding:
    held, training, last = *names, writes[-1]
    other = training if last.part == held else held
    here = Source(trace, split.path)
    evaluation = located(trace, user(trace.site(event.loop)), "the evaluation")
    site = site_of(split.path, split.function, last.statement)
    before = site_of(split.path, split.function, first)
    value, own = ast.unparse(last.statement.value), f"{held}.dataset = copy.copy({held}.dataset)"
    return Finding(
        message=f"`{last.part}.dataset.{last.attribute} = {value}` sets it for `{other}` too: both are parts of one"
        " dataset",
        cause=site,
        cause_label=f"the dataset of `{held}` is that of `{training}`",
        effect=before,
        effect_label="is what it had before",
        related=((split, "divides the dataset; nothing is copied"),) if split.line != site.line else (),
        seen=(
            f"`{held}.dataset is {training}.dataset` ({event.dataset}), and its `{last.attribute}` was the same"
            f" object in each pass, of the training and of {evaluation}",
        ),
        fix=f"give `{held}` a dataset of its own before either is set: `{own}`",
        edits=here.before(
            writes[0].statement, *(() if here.file.binds(site, "copy") else ("import copy",)), own
        ),
        subjects=frozenset({("dataset", *split.location())}),
    )


def _writes(file: SourceFile, made: ast.stmt, names: list[str], attribute: str) -> list[_Written]:
    """The statements that set this attribute through one of the parts, in the block that makes these."""
    found = []
    for statement in file.siblings(made):
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            whole = target.value if isinstance(target, ast.Attribute) and target.attr == attribute else None
            if isinstance(whole, ast.Attribute) and whole.attr == "dataset":
                found.append(_Written(ast.unparse(whole.value), attribute, statement))
    return [written for written in found if written.part in names]


def _name(file: SourceFile, made: Site, place: int) -> str:
    """What the part is called that stands at this place of those that one line makes."""
    statement = file.statement(made)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target, value = statement.targets[0], statement.value
    targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    if isinstance(value, (ast.Tuple, ast.List)):  # each by a call of its own
        place = next((at for at, part in enumerate(value.elts) if part is file.at(made)), 0)
    chosen = targets[place % len(targets)]
    return ast.unparse(chosen) if isinstance(chosen, (ast.Name, ast.Attribute)) else ""


def _given(file: SourceFile, split: Site, attribute: str) -> ast.expr | None:
    """What the divided dataset was made with: `transform=augment`."""
    call = file.at(split)
    whole = call.args[0] if isinstance(call, ast.Call) and call.args else None
    made = file.assigned.get(ast.unparse(whole), []) if whole is not None else []
    if len(made) != 1 or not isinstance(made[0], ast.Call):
        return None
    given = next((k.value for k in made[0].keywords if k.arg == attribute), None)
    return None if isinstance(given, ast.Constant) and type(given.value) is not bool else given
