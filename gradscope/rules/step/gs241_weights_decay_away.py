"""The decay of the weights is so strong that they shrink to nothing, whatever the gradients say.

Why: in each step `weight_decay` takes the part rate × decay of a weight away. Over a training that is a factor of
exp(-rate × decay × steps): with a decay of 1 and a rate of 0.01 a weight is halved every 70 steps, unless its
gradient holds against it. What is left of the network is about zero, and the loss is that of a constant.

Fix: a decay of `1e-4` to `1e-2`, as it is usual.

Measured: the weights at the first step and at the last, and the losses. Silent on: losses that fall, optimizers
whose decay could not have done it.
"""

import ast
from collections.abc import Iterator
from statistics import median
from typing import Any

from gradscope.analysis.course import Course, course_of
from gradscope.analysis.text import nodes_of_functions, site_of
from gradscope.analysis.words import (
    code,
    located,
    numbers,
    optimizer_name,
    parameter_subjects,
    percent,
    plural,
    user,
    where,
)
from gradscope.events import Moved
from gradscope.fixes.settings import with_setting
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Optimizer, Site
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 50  # steps
GONE = 0.1  # of what they were is left of the weights
HALVED = 0.7  # rate × decay × steps: weights are half of what they were
STRONG = 0.05  # a decay from here on is strong where steps are divided by the size of the gradient
FELL = 0.9  # of what the loss was


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=5.0)  # cause: GS241
    for _ in range(150):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()  # effect: GS241
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=1e-4)
    for _ in range(150):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        opt.step()


@rule("GS241", name="weights-decay-away", severity="warning", over=("GS705", "GS720", "GS707"), needs=Moved)
def weights_decay_away(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Moved):
        optimizer = trace.optimizers.get(event.optimizer)
        if optimizer is None or event.steps < ENOUGH:
            continue
        strong = [group for group in optimizer.groups if _is_strong(group, event.steps)]
        held = {id for group in strong for id in group["parameters"]}
        rows = zip(event.parameters, event.begun, event.now, strict=False)
        left = [now / begun for id, begun, now in rows if begun and id in held]
        course = course_of(trace, optimizer)
        if course is None or not left or max(left) > GONE:
            continue
        first, last = course.ends
        if last > FELL * first > 0:
            yield _finding(trace, event, optimizer, strong[0], median(left), course)


def _is_strong(group: dict[str, Any], steps: int) -> bool:
    """Whether its decay alone could have taken its weights away."""
    decay, rate = group.get("weight_decay"), group.get("lr")
    if not isinstance(decay, int | float) or not isinstance(rate, int | float):
        return False
    return decay * rate * steps >= HALVED or ("eps" in group and decay >= STRONG)


def _finding(
    trace: Trace, event: Moved, optimizer: Optimizer, group: dict[str, Any], left: float, course: Course
) -> Finding:
    made = user(optimizer.site)
    decay, name = group["weight_decay"], optimizer_name(trace, optimizer.id)
    first, last = course.ends
    written = (
        _of_a_group(trace, decay) if len({one["weight_decay"] for one in optimizer.groups}) > 1 else None
    )
    cause = written[0] if written is not None else made
    place = (
        located(trace, cause)
        if written is not None
        else f"{code(trace, made, 'the optimizer')} ({where(made)})"
    )
    return Finding(
        message=f"the `weight_decay` of {name} has taken the weights away: {percent(left, 1)} of their size is left",
        cause=cause,
        cause_label=f"a decay of {decay:g}",
        effect=course.line,
        effect_label="the loss does not fall",
        seen=(
            f"after {plural(event.steps, 'step')} the median weight had {percent(left, 1)} of its first size",
            f"the loss went from {numbers(first)} to {numbers(last)}",
        ),
        fix=f"a weaker decay in {place}: 1e-4 in place of {decay:g}",
        edits=written[1] if written is not None else with_setting(trace, made, "weight_decay", "1e-4"),
        count=event.steps,
        subjects=parameter_subjects(optimizer.parameters),
    )


def _of_a_group(trace: Trace, decay: float) -> tuple[Site, Edits] | None:
    """The one `{"params": …, "weight_decay": 5.0}` of the program with this decay, and a weaker one in it."""
    found = [
        (path, function, node, value)
        for path, function, node in nodes_of_functions(trace, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "weight_decay"
        if isinstance(value, ast.Constant) and value.value == decay
    ]
    if len(found) != 1:
        return None
    path, function, node, value = found[0]
    return site_of(path, function, node), Source(trace, path).replace(value, "1e-4")
