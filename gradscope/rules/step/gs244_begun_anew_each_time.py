"""A new network and a new optimizer are made again and again: what each has learned is thrown away.

Why: made inside of the loop over the epochs, the network begins from random numbers in each of them. The loss falls
within an epoch and stands where it was at the next one.

Fix: make both before the loop.

A note, since several trainings may be meant (folds, seeds, settings). Measured: optimizers from one line, one after
the other, with parameters of their own, none of which was ever evaluated. Silent on: runs that evaluate a
network, save it, or read its weights once it is trained (averages, clients, fits whose coefficients are wanted).
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.networks import thrown_away
from gradscope.analysis.words import code, counted, located, parameter_subjects, plural
from gradscope.events import ModuleCall, Step
from gradscope.model import Finding, Optimizer
from gradscope.rules import rule
from gradscope.source import LOOPS
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    data = torch.randn(4, 8, 3)
    for _ in range(5):
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS244
        for x in data:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()  # effect: GS244


def good() -> None:
    import torch
    from torch import nn

    data = torch.randn(4, 8, 3)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        for x in data:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()


@rule("GS244", name="begun-anew-each-time", severity="note")
def begun_anew_each_time(trace: Trace) -> Iterator[Finding]:
    if any(not (call.grad and call.training) for call in trace.of(ModuleCall)):
        return
    yield from (_finding(trace, made) for made in thrown_away(trace))


def _finding(trace: Trace, made: list[Optimizer]) -> Finding:
    site = made[0].site
    assert site is not None
    step = next(event for event in trace.of(Step) if event.optimizer == made[0].id)
    loops = [node for node in trace.source_file(site.user.path).around(site.user) if isinstance(node, LOOPS)]
    before = f" (line {loops[-1].lineno})" if loops and isinstance(loops[-1], ast.For | ast.While) else ""
    steps = sorted({optimizer.steps for optimizer in made})
    each = plural(steps[0], "step") if len(steps) == 1 else f"{steps[0]} to {steps[-1]} steps"
    return Finding(
        message=f"a new network is made and trained {counted(len(made), 'time')}, each for {each}, and none is used"
        " afterwards",
        cause=site.user,
        cause_label="made anew, with new parameters",
        effect=step.site.user,
        effect_label="its steps are those of one network after the other",
        seen=(
            f"{counted(len(made), 'optimizer')} of {code(trace, site.user)} stepped one after the other, and no two"
            " hold the same parameter; no network was called in evaluation mode or without gradients",
        ),
        fix=f"if one network is to be trained, make it and {located(trace, site.user)} once, before the loop{before}",
        count=len(made),
        subjects=parameter_subjects(id for optimizer in made for id in optimizer.parameters),
    )
