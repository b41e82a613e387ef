"""A sum over the samples of a loader is divided by the number of all samples of its dataset.

Why: a loader with a sampler of its own (`SubsetRandomSampler`, for a split into training and validation) draws some of
the dataset; `len(loader.dataset)` counts all of it. Losses and accuracies come out too small, each by the share of its
part: those of training and validation can't be compared.

Fix: `len(loader.sampler)`.

Measured: how many samples the loader draws, and the largest number among them. The number of all may have a name, or
stand in a dict with those of other loaders, and may be that of the dataset which the loader was made with. Silent on:
datasets that are made of the part (`Subset`, `random_split`), which have the right length.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.text import nodes_that_ran, site_of
from gradscope.analysis.words import located, user
from gradscope.events import Loader
from gradscope.fixes.source import Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import LOOPS, SourceFile, sides_of
from gradscope.store import Trace


def bad() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 3)
    data: Any = TensorDataset(x, x.sum(1, keepdim=True))
    loader: Any = DataLoader(data, batch_size=8, sampler=SubsetRandomSampler(range(32, 64)))  # effect: GS771
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = 0.0
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(a)
        print(total / len(loader.dataset))  # cause: GS771


def good() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 3)
    data: Any = TensorDataset(x, x.sum(1, keepdim=True))
    loader: Any = DataLoader(data, batch_size=8, sampler=SubsetRandomSampler(range(32, 64)))
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = 0.0
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(a)
        print(total / len(loader.sampler))


@rule("GS771", name="mean-over-all-samples", severity="warning", needs=Loader)
def mean_over_all_samples(trace: Trace) -> Iterator[Finding]:
    parts = [event for event in trace.of(Loader) if event.drawn < event.held]
    if not parts:
        return
    told: set[tuple[str, int]] = set()
    for path, function, node in nodes_that_ran(trace, ast.BinOp, ast.AugAssign):
        mean = _mean(node, trace.source_file(path))
        if mean is None or (path, mean.divisor.lineno) in told:
            continue
        for event in parts:
            site = user(trace.site(event.loop))
            if site is None or (path, function) != (site.path, site.function.split(".")[-1]):
                continue
            file = trace.source_file(path)
            loop = next((n for n in file.around(site) if isinstance(n, LOOPS)), None)
            if not isinstance(loop, ast.For) or not _is_of(mean, loop, file, site):
                continue
            loader = _loader(mean, loop, file, event)
            if loader:
                told.add((path, mean.divisor.lineno))
                yield _finding(trace, event, site_of(path, function, mean.divisor), mean, loader)
                break


class _Mean(NamedTuple):
    """`total / len(loader.dataset)`; `held`: `loader.dataset`, which the divisor counts."""

    node: ast.AST
    totals: frozenset[str]  # the names in `total`
    divisor: ast.expr
    held: ast.expr


def _mean(node: ast.AST, file: SourceFile) -> _Mean | None:
    sides = sides_of(node)
    if sides is None or not isinstance(node, ast.BinOp | ast.AugAssign) or not isinstance(node.op, ast.Div):
        return None
    total, divisor = sides
    held = _held(divisor, file)
    names = frozenset(ast.unparse(n) for n in ast.walk(total) if isinstance(n, ast.Name | ast.Attribute))
    return _Mean(node, names, divisor, held) if held is not None else None


def _held(divisor: ast.expr, file: SourceFile) -> ast.expr | None:
    """What a number is the length of: `len(x)`, a name for it, or an entry of a dict of such ones."""
    if isinstance(divisor, ast.Call) and ast.unparse(divisor.func) == "len" and len(divisor.args) == 1:
        return divisor.args[0]
    if isinstance(divisor, ast.Name | ast.Attribute):
        given = file.assigned.get(ast.unparse(divisor), ())
        return _held(given[0], file) if len(given) == 1 and isinstance(given[0], ast.Call) else None
    if not isinstance(divisor, ast.Subscript):
        return None
    given = file.assigned.get(ast.unparse(divisor.value), ())
    table = given[0] if len(given) == 1 else None
    if isinstance(table, ast.DictComp) and isinstance(table.value, ast.Call):
        return _held(table.value, file)
    if isinstance(table, ast.Dict) and isinstance(divisor.slice, ast.Constant):
        found = [
            v
            for k, v in zip(table.keys, table.values, strict=True)
            if k is not None and ast.unparse(k) == ast.unparse(divisor.slice)
        ]
        return _held(found[0], file) if len(found) == 1 and isinstance(found[0], ast.Call) else None
    return None


def _loader(mean: _Mean, loop: ast.For, file: SourceFile, event: Loader) -> str:
    """What the loop calls its loader, where that is the one, or has the dataset, whose length the mean divides by."""
    named = [
        ast.unparse(n) for n in ast.walk(loop.iter) if isinstance(n, ast.Name | ast.Attribute | ast.Subscript)
    ]
    if isinstance(mean.held, ast.Attribute) and mean.held.attr == "dataset":
        loader = ast.unparse(mean.held.value)
        for name in named:
            if loader == name or [ast.unparse(v) for v in file.assigned.get(name, ())] == [loader]:
                return name
        return _of_the_same_dict(mean, loop, file, named)
    for name in named:
        for made in file.assigned.get(name, ()):
            if isinstance(made, ast.Call) and made.lineno == event.site.user.line:
                data = [*made.args[:1], *(k.value for k in made.keywords if k.arg == "dataset")]
                if [ast.unparse(one) for one in data] == [ast.unparse(mean.held)]:
                    return name
    return ""


def _of_the_same_dict(mean: _Mean, loop: ast.For, file: SourceFile, named: list[str]) -> str:
    """`loader` of `for key, loader in loaders.items()`, or `loaders[key]`, where `sizes[key]` divides and `sizes` was
    made of those loaders."""
    if not isinstance(mean.divisor, ast.Subscript):
        return ""
    given = file.assigned.get(ast.unparse(mean.divisor.value), ())
    table = given[0] if len(given) == 1 else None
    if not isinstance(table, ast.DictComp) or len(table.generators) != 1:
        return ""
    items, key = ast.unparse(table.generators[0].iter), ast.unparse(mean.divisor.slice)
    direct = f"{items.removesuffix('.items()')}[{key}]"
    if direct in named:
        return direct
    for around in file.above(loop):
        pair = around.target if isinstance(around, ast.For) and ast.unparse(around.iter) == items else None
        if isinstance(pair, ast.Tuple) and len(pair.elts) == 2 and ast.unparse(pair.elts[0]) == key:
            loader = ast.unparse(pair.elts[1])
            return loader if loader in named else ""
    return ""


def _is_of(mean: _Mean, loop: ast.For, file: SourceFile, site: Site) -> bool:
    """Whether the mean is that of what this loop sums up, alone: other loops add nothing to it, and the mean is taken
    as often as the loop is gone through."""
    inside = {id(n) for n in ast.walk(loop)}
    added = [
        n
        for n in ast.walk(file.scope(site))
        if n is not mean.node and any(_adds_to(n, total) for total in mean.totals)
    ]
    around = [id(n) for n in file.above(mean.node) if isinstance(n, LOOPS) and n is not loop]
    outer = [id(n) for n in file.above(loop) if isinstance(n, LOOPS)]
    return bool(added) and all(id(n) in inside for n in added) and around == outer


def _adds_to(node: ast.AST, total: str) -> bool:
    """Whether a statement makes a sum larger: `total += …`, `total = total + …`."""
    if isinstance(node, ast.AugAssign):
        return ast.unparse(node.target) == total
    if not isinstance(node, ast.Assign) or ast.unparse(node.targets[0]) != total:
        return False
    sides = [node.value.left, node.value.right] if isinstance(node.value, ast.BinOp) else []
    return (
        isinstance(node.value, ast.BinOp)
        and isinstance(node.value.op, ast.Add)
        and total in map(ast.unparse, sides)
    )


def _finding(trace: Trace, event: Loader, site: Site, mean: _Mean, loader: str) -> Finding:
    divisor = mean.divisor
    here = Source(trace, site.path)
    return Finding(
        message=f"`{ast.unparse(divisor)}` counts samples that `{loader}` does not draw: the mean comes out too small",
        cause=site,
        cause_label="the number of all samples of the dataset",
        effect=event.site.user,
        effect_label="draws a part of them",
        seen=(f"`{loader}` draws {event.drawn} samples, of a dataset of at least {event.held}",),
        fix=f"divide by the samples that are drawn: `len({loader}.sampler)` in place of {located(trace, site)}",
        edits=here.replace(divisor, f"len({loader}.sampler)"),
        subjects=frozenset({("mean", *site.location())}),
    )
