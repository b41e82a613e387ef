"""Inputs and targets come from two loaders that each draw an order of their own: no sample meets its target.

Why: `shuffle=True` draws a new order for each pass over a loader, from torch's random numbers. Two loaders draw one
after the other, so they draw two orders: the first batch of the one has other rows than the first batch of the other.
The network is trained to give each input the target of another sample, a new one in each epoch; the best it can learn
is what suits all samples on average.

Fix: one `Dataset` that gives both, and one loader: torch's `StackDataset(inputs, targets)` puts two together.

Measured: a loss compared what a module had made of one loader's batch with the batch of another loader, as it came;
both have a `RandomSampler`, and asked for other rows. Silent where both asked for the same rows, where a module was
given both batches (unpaired images of a GAN), and where what was compared was computed from the other batch (a style).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_subjects, plural, user
from gradscope.events import ShuffledApart
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.rules.mode._loaders import dataset_given
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    images = torch.randn(64, 4)
    labels = images.sum(1, keepdim=True)
    image_loader = DataLoader(TensorDataset(images), batch_size=16, shuffle=True)  # cause: GS428
    label_loader = DataLoader(TensorDataset(labels), batch_size=16, shuffle=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for (x,), (y,) in zip(image_loader, label_loader, strict=True):
            loss = nn.functional.mse_loss(model(x), y)  # effect: GS428
            opt.zero_grad()
            loss.backward()
            opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    images = torch.randn(64, 4)
    labels = images.sum(1, keepdim=True)
    loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()


@rule("GS428", name="shuffled-apart", severity="warning", over=("GS784",), needs=ShuffledApart)
def shuffled_apart(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event in trace.of(ShuffledApart):
        made = [user(trace.site(site)) for site in (event.inputs, event.targets)]
        if event.calls > 1 and made[0] is not None and made[1] is not None:
            yield _finding(known, event, made[0], made[1])


def _finding(known: Paths, event: ShuffledApart, inputs: Site, targets: Site) -> Finding:
    trace = known.trace
    site, loop = event.site.user, user(trace.site(event.loop))
    pair = (inputs, targets) if event.first else (targets, inputs)
    text, edits = _together(trace, *pair, loop if event.loop == event.other else None)
    return Finding(
        message=f"{code(trace, site, 'the loss')} compares what was made of one loader's samples with the targets of"
        " others: each of the two loaders draws an order of its own",
        cause=inputs,
        cause_label="draws one order",
        effect=site,
        effect_label="compares the answers with the targets of other samples",
        related=(
            (targets, "draws another one"),
            *(
                ((loop, "goes through both at once"),)
                if loop is not None and event.loop == event.other
                else ()
            ),
        ),
        seen=(
            f"in a pass the first rows that were asked for are {_listed(event.rows)} here and"
            f" {_listed(event.others)} there; so in {plural(event.calls, 'call')} of the loss",
        ),
        fix=text,
        edits=edits,
        subjects=parameter_subjects(_trained(known, site)),
    )


def _trained(known: Paths, loss: Site) -> set[int]:
    """The parameters that the passes of this loss fill."""
    return {
        id
        for event in known.backwards
        if any(op.site.user.location() == loss.location() for op in known.graph(event.graph).ops)
        for id in event.filled
    }


def _listed(rows: tuple[int, ...]) -> str:
    return ", ".join(map(str, rows)) + ", …"


def _together(trace: Trace, one: Site, other: Site, loop: Site | None) -> tuple[str, Edits]:
    """One loader of both datasets, where one `zip` goes through the two: the first of them takes both."""
    files = [trace.source_file(site.path) for site in (one, other)]
    given = [dataset_given(file, site) for file, site in zip(files, (one, other), strict=True)]
    sets = [file.text(node) for file, node in zip(files, given, strict=True) if node is not None]
    apart = len(set(sets)) == 2  # not the argument of one function that makes both loaders
    whole = f"`StackDataset({', '.join(sets)})`" if apart else "a `StackDataset` of the two datasets"
    text = f"let one loader give both: {whole} (of `torch.utils.data`) in {located(trace, one)}"
    call = Source(trace, loop.path).file.at(loop) if loop is not None else None
    zipped = _zip(call)
    if zipped is None or loop is None or not apart or given[0] is None:
        return f"{text}, and go through that one alone", ()
    there, here = Source(trace, loop.path), Source(trace, one.path)
    first = there.file.text(zipped.args[0])
    stack = f"torch.utils.data.StackDataset({', '.join(sets)})"
    same = (one.path, one.function) == (other.path, other.function)
    edits = here.replace(given[0], stack) + there.replace(zipped, first) if same else ()
    return f"{text}, and `{first}` in place of `{there.file.text(zipped)}` in {located(trace, loop)}", edits


def _zip(node: ast.AST | None) -> ast.Call | None:
    """The `zip` of two things within what a loop goes through."""
    for call in ast.walk(node) if node is not None else ():
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "zip":
            return call if len(call.args) == 2 else None
    return None
