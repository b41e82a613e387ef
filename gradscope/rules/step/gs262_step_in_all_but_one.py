"""An accumulation steps in all batches but each n-th, and not in each n-th: its condition is the wrong way round.

Why: `if i % 4 == 0:` before the branch without a step leaves the step out in one batch of four and takes it in the
three others. Each uses the gradient of one batch, or two, of a loss that is divided by four, and a schedule that is
made for a quarter of the batches runs three times as fast.

Fix: turn the condition round: `if (i + 1) % 4 != 0:` before the branch without a step.

Measured: how many passes each step used: one, and two after the batch that was left out, in just this proportion, while
the loss of these passes is divided by the same n; or, of a loss that nothing divides, while the branch without a step
does nothing at all, and no other optimizer steps. Silent on: n of 2.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.gradients import gradients
from gradscope.analysis.ops import DIVISIONS
from gradscope.analysis.step_conditions import Guard, counts_from_zero, guard_of, skipping, without_remainder
from gradscope.analysis.words import code, parameter_subjects, quoted
from gradscope.events import Backward, SchedulerMade
from gradscope.fixes.source import Binds, Source
from gradscope.model import Finding, Optimizer, Site
from gradscope.rules import rule
from gradscope.store import Trace

NEAR = 0.1  # of n: a last batch of an epoch may stand alone
ENOUGH = 3  # steps that used two passes
_WHY_SUMMED = """a remainder by itself counts as true wherever there is one: the step is left out in one batch of n and
taken in all others. Nearly every step uses one batch alone, the one after the gap the sum of two: nothing of the large
batch that an accumulation makes"""


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(24):
        loss = model(torch.randn(8, 4)).pow(2).mean() / 4
        loss.backward()
        if i % 4 != 0:  # cause: GS262
            opt.step()  # effect: GS262
            opt.zero_grad()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(24):
        loss = model(torch.randn(8, 4)).pow(2).mean() / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            opt.step()
            opt.zero_grad()


@dataclass
class Used:
    """What the steps of one optimizer used."""

    site: Site | None = None
    sizes: Counter[int] = field(default_factory=Counter)  # passes of a step → how many steps
    passes: dict[Site, Backward] = field(default_factory=dict)  # line → one of its passes
    parameters: set[int] = field(default_factory=set)


@rule("GS262", name="step-in-all-but-one", severity="warning", over=("GS217", "GS212", "GS216"))
def step_in_all_but_one(trace: Trace) -> Iterator[Finding]:
    found: dict[int, Used] = {}
    for turn in gradients(trace).turns:
        used = found.setdefault(turn.step.optimizer, Used())
        used.site = turn.step.site.user
        used.sizes[sum(fill.times for fill in turn.fills)] += turn.times
        for fill, ids in turn.fills.items():
            used.parameters |= ids
            if fill.event.graph >= 0:
                used.passes.setdefault(fill.event.site.user, fill.event)
    for number, used in found.items():
        optimizer = trace.optimizers.get(number)
        if optimizer is None or min(used.sizes[1], used.sizes[2]) < ENOUGH or max(used.sizes) > 2:
            continue
        guard = guard_of(trace, optimizer, used.site) or skipping(trace, optimizer, used.site)
        if guard is not None and len(guard.branches) == 1:
            finding = _finding(trace, optimizer, used, guard)
            if finding is not None:
                yield finding


def _finding(trace: Trace, optimizer: Optimizer, used: Used, guard: Guard) -> Finding | None:
    steps = optimizer.steps
    passes = max((trace.parameter(id).passes for id in used.parameters), default=0)
    here = Source(trace, guard.path)
    branch = guard.branches[0]
    asked = without_remainder(guard.test)
    if asked is None or used.site is None or passes <= steps:
        return None
    rest, without = asked
    inside = any(node is guard.call for one in branch.body for node in ast.walk(one))
    if without == inside:
        return None  # taken where nothing remains
    n = here.file.text(rest.right)
    divided = next((site for event in used.passes.values() if (site := _divided(trace, event, n))), None)
    period = passes / (passes - steps)  # one batch of so many goes without a step
    every = round(period)
    known = rest.right.value if isinstance(rest.right, ast.Constant) else every
    if abs(period - every) > NEAR * every or known != every:
        return None
    if divided is None and (
        every <= 2 or not inside or not _left_to_the_next(trace, optimizer, used, branch)
    ):
        return None
    left = here.part(rest.left, Binds.PRODUCT)
    loop = next((one for one in here.file.above(branch) if isinstance(one, ast.For)), None)
    if isinstance(rest.left, ast.Name) and loop is not None and counts_from_zero(loop, rest.left.id):
        left = f"({left} + 1)"
    turned = f"{left} % {n} {'==' if inside else '!='} 0"
    schedules = {event.scheduler for event in trace.of(SchedulerMade) if event.optimizer == optimizer.id}
    test = quoted(here.file.text(guard.test))
    why = f"the loss is divided by {every}" if divided is not None else "in that batch nothing else is done"
    return Finding(
        message=f"{code(trace, used.site, 'the step')} is taken in all batches but one of {every}, and not in one of"
        f" {every}: {test} is the wrong way round",
        cause=guard.site,
        cause_label=f"leaves the step out in one batch of {every}",
        effect=used.site,
        effect_label=f"runs {steps:,} times for {passes:,} batches",
        related=((divided, f"the loss is divided by `{n}`"),) if divided is not None else (),
        seen=(
            f"{steps:,} steps for {passes:,} passes: they used the gradients of one pass, and of two after the batch"
            f" that was left out, while {why}",
            f"{passes:,} passes make {passes // every:,} steps of {every}",
        ),
        why=_WHY_SUMMED if divided is None else "",
        fix=f"turn the condition round: `{turned}` in place of {test}",
        edits=here.replace(guard.test, turned),
        count=steps,
        subjects=parameter_subjects(used.parameters) | {("scheduler", one) for one in schedules},
    )


def _left_to_the_next(trace: Trace, optimizer: Optimizer, used: Used, branch: ast.If) -> bool:
    """Whether the batch without a step has no other purpose: its gradient comes from the line of all others, waits for
    the next step, and nothing else steps or is done in its place."""
    others = any(one.steps for one in trace.optimizers.values() if one is not optimizer)
    return not branch.orelse and not others and len(used.passes) == 1


def _divided(trace: Trace, event: Backward, by: str) -> Site | None:
    """Where the program divides a number by this before the pass."""
    for op in trace.graph(event.graph).ops[::-1]:
        if op.name in DIVISIONS and not trace.graph(event.graph).values[op.outputs[0]].shape:
            file = trace.source_file(op.site.user.path)
            node, statement = file.at(op.site.user), file.statement(op.site.user)
            if isinstance(statement, ast.AugAssign) and ast.unparse(statement.value) == by:
                return op.site.user
            given = node.args[-1:] if isinstance(node, ast.Call) else []
            divisors = [node.right] if isinstance(node, ast.BinOp) else given
            if any(ast.unparse(divisor) == by for divisor in divisors):
                return op.site.user
    return None
