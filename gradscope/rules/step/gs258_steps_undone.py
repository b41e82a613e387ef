"""A write behind each step puts the weights back where they were: no step is kept.

Why: rounding the weights themselves to a grid, or copying kept values into them, undoes every step that is smaller than
half of what the grid lets through. The gradients are right, the optimizer steps, and nothing is ever learned, however
many steps there are.

Fix: let the optimizer step weights of full precision, and give the forward what is made of them:
`w + (quantised(w) - w).detach()` has the numbers of the one and the gradient of the other.

Measured: gradients that are not zero, steps whose effect the write behind them takes back: whenever looked at before a
step, the weights were exactly those from before the first. Silent where the model is called between the step and the
write, as by a test that adapts to each batch, and on weights that have moved.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.loop import in_order
from gradscope.analysis.words import (
    located,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    plural,
)
from gradscope.events import ModuleCall, Moved, Step, Update
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 16  # steps


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    sorter = nn.Linear(6, 3)
    opt = torch.optim.SGD(sorter.parameters(), lr=0.001)
    with torch.no_grad():
        sorter.weight.copy_(torch.round(sorter.weight * 8) / 8)
    for _ in range(40):
        x = torch.randn(16, 6)
        opt.zero_grad()
        nn.functional.cross_entropy(sorter(x), x[:, :3].argmax(1)).backward()
        opt.step()  # effect: GS258
        with torch.no_grad():
            sorter.weight.copy_(torch.round(sorter.weight * 8) / 8)  # cause: GS258


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    sorter = nn.Linear(6, 3)
    opt = torch.optim.SGD(sorter.parameters(), lr=0.5)
    for _ in range(40):
        x = torch.randn(16, 6)
        opt.zero_grad()
        rounded = sorter.weight + (torch.round(sorter.weight * 8) / 8 - sorter.weight).detach()
        nn.functional.cross_entropy(
            nn.functional.linear(x, rounded, sorter.bias), x[:, :3].argmax(1)
        ).backward()
        opt.step()


@rule("GS258", name="steps-undone", severity="warning", over=("GS784", "GS240"), needs=Moved)
def steps_undone(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Moved):
        if event.steps < ENOUGH:
            continue
        writes = _right_behind(trace, event.optimizer) if event.undone else {}
        held = [id for id in event.undone if id in writes and _pulled(trace, id)]
        if held:
            yield _finding(trace, event, held, *writes[held[0]])


def _right_behind(trace: Trace, optimizer: int | None) -> dict[int, tuple[Site, Site]]:
    """Parameter → (line of the write, line of the step) where each write by hand follows a step of the optimizer's, and
    no model was called between."""
    found: dict[int, tuple[Site, Site]] = {}
    late: set[int] = set()
    step: Step | None = None
    stepped = False
    for _, event in in_order(trace):
        if isinstance(event, Step) and event.optimizer == optimizer:
            step, stepped = event, True
        elif isinstance(event, ModuleCall):
            step = None
        elif isinstance(event, Update) and stepped and event.parameter is not None:
            if step is None:
                late.add(event.parameter)
            else:
                found[event.parameter] = event.site.user, step.site.user
    return {id: sites for id, sites in found.items() if id not in late}


def _pulled(trace: Trace, id: int) -> bool:
    """Whether the last measured gradients were not zero."""
    norms = [norm for _, norm in trace.numbers("grad_norm", id)]
    return bool(norms) and norms[-1] > 0


def _finding(trace: Trace, event: Moved, ids: list[int], written: Site, stepped: Site) -> Finding:
    names, steps = parameter_names(trace, ids), plural(event.steps, "step")
    it = "it" if len(ids) == 1 else "them"
    were = "is where it was" if len(ids) == 1 else "are where they were"
    return Finding(
        message=f"{names} {were} before the first of {steps}: each is undone by the write behind it",
        cause=written,
        cause_label="puts the old values back",
        effect=stepped,
        effect_label=f"moves {it}, for nothing",
        seen=(
            f"the gradient of {names} was not zero, and the values before step {event.steps:,} of"
            f" {optimizer_name(trace, event.optimizer)} were bit for bit those before the first",
            "no model was called between a step and the write",
        ),
        fix=f"take {located(trace, written)} out of the loop, and give the forward what it would write: `w + (rounded -"
        " w).detach()` has the numbers of `rounded` and the gradient of `w`, which the optimizer steps",
        count=event.steps,
        subjects=parameter_subjects(ids),
    )
