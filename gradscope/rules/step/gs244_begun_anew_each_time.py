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

from gradscope.analysis.loop import one_after_the_other
from gradscope.analysis.networks import read_after_its_steps
from gradscope.analysis.text import nodes_that_ran
from gradscope.analysis.words import code, counted, located, parameter_subjects, plural
from gradscope.events import ModuleCall, Step
from gradscope.model import Finding, Optimizer
from gradscope.rules import rule
from gradscope.source import LOOPS, called_name
from gradscope.store import Trace

OFTEN = 3
ENOUGH = 2  # steps of each


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
    alike: dict[object, list[Optimizer]] = {}
    for optimizer in trace.optimizers.values():
        if optimizer.site is not None and optimizer.steps >= ENOUGH:
            settings = [{k: v for k, v in group.items() if k != "parameters"} for group in optimizer.groups]
            key = (optimizer.site.user.location(), optimizer.cls, repr(settings), len(optimizer.parameters))
            alike.setdefault(key, []).append(optimizer)
    for made in alike.values():
        ids = [id for optimizer in made for id in optimizer.parameters]
        apart = len(set(ids)) == len(ids)
        if len(made) >= OFTEN and apart and one_after_the_other(trace, {o.id for o in made}):
            if not read_after_its_steps(trace, made) and not _saves(trace):
                yield _finding(trace, made)


def _saves(trace: Trace) -> bool:
    """Whether the program's text saves something: what `torch.save(model)` writes is no op."""
    return any(called_name(node) in ("save", "dump", "dumps") for _, _, node in nodes_that_ran(trace))


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
