"""An optimizer was given a group without parameters, and what should be in it is trained by nobody.

Why: `filter(…)`, a generator and `model.parameters()` itself can be gone through once. A line that counts or prints
the parameters has used them up; an optimizer that is given the rest gets nothing. For its only argument torch refuses
that, in a group, `{"params": …}`, it does not.

Fix: make a list of them, or ask the model anew.

Measured: the group was empty when the optimizer was made, and parameters got gradients that no optimizer holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.loop import idle, nearest_backward
from gradscope.analysis.used_up import UsedUp, used_up
from gradscope.analysis.words import (
    located,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    plural,
    where_made,
)
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Optimizer, Parameter
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    trained = filter(lambda p: p.requires_grad, model.parameters())
    print(sum(p.numel() for p in trained), "parameters")
    opt = torch.optim.SGD([{"params": trained}], lr=0.1)  # cause: GS272
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS272
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    trained = list(filter(lambda p: p.requires_grad, model.parameters()))
    print(sum(p.numel() for p in trained), "parameters")
    opt = torch.optim.SGD([{"params": trained}], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


@rule(
    "GS272",
    name="optimizer-without-parameters",
    severity="error",
    over=("GS204", "GS206", "GS207", "GS215", "GS302", "GS605"),
)
def optimizer_without_parameters(trace: Trace) -> Iterator[Finding]:
    for optimizer in trace.optimizers.values():
        if optimizer.site is None or not optimizer.made or not optimizer.steps:
            continue
        empty = sum(not group["parameters"] for group in optimizer.groups)
        left = (
            [p for p in trace.parameters if p.registered and p.passes > 1 and idle(p) and not p.optimizers]
            if empty
            else []
        )
        if left:
            yield _finding(trace, optimizer, empty, left)


def _finding(trace: Trace, optimizer: Optimizer, empty: int, left: list[Parameter]) -> Finding:
    assert optimizer.site is not None
    here, ids = optimizer.site.user, [p.id for p in left]
    name, names = optimizer_name(trace, optimizer.id), parameter_names(trace, ids)
    whole = empty == len(optimizer.groups)
    gone, effect = used_up(trace, here), nearest_backward(trace, set(ids))
    what = "no parameters" if whole else "a group without parameters"
    return Finding(
        message=f"{name} was given {what}: nothing trains {names}",
        cause=here,
        cause_label=f"`{gone.name}` gives nothing any more" if gone is not None else "an empty group",
        effect=effect.site.user if effect is not None else None,
        effect_label="fills gradients that no optimizer knows",
        related=()
        if gone is None
        else ((gone.made, "can be gone through once"), (gone.read, "has gone through it")),
        seen=(
            f"{plural(empty, 'group')} of {name} held no parameter when it was made;"
            f" {plural(len(left), 'parameter')} got a gradient {max(p.passes for p in left)} times and never changed",
        ),
        fix=f"make a list of them: `list({_text(trace, gone)})` in {located(trace, gone.made)}"
        if gone is not None
        else f"give {names} to {name} ({where_made(optimizer)})",
        edits=_listed(trace, gone) if gone is not None else (),
        subjects=parameter_subjects(ids) | {("optimizer", optimizer.id)},
    )


def _text(trace: Trace, gone: UsedUp) -> str:
    return " ".join(Source(trace, gone.made.path).file.text(gone.value).split())


def _listed(trace: Trace, gone: UsedUp) -> Edits:
    here = Source(trace, gone.made.path)
    return here.replace(gone.value, f"list({here.file.text(gone.value)})")
