"""Two steps use one gradient: the parameters move twice for a single backward pass.

Why: a step does not consume `.grad`. Where two optimizers hold the same parameters, or `step()` is called twice, the
second one moves them once more by the same gradient, now of weights that are no longer there: the rate is that of
both together, and each optimizer's momentum knows nothing of the other.

Fix: give each parameter to one optimizer, and call `step()` once for a backward pass.

Measured: what the second step found in `.grad` was what the first had used, with no pass and no clear between.
Silent on: gradients that the program reads to do more than show them; closures; a second step now and then.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.second_uses import SecondUse, second_uses
from gradscope.analysis.words import (
    code,
    located,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    plural,
)
from gradscope.fixes.statements import taken_away
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, left, right = nn.Linear(6, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    opt_left = torch.optim.Adam([*trunk.parameters(), *left.parameters()], lr=0.01)
    opt_right = torch.optim.Adam([*trunk.parameters(), *right.parameters()], lr=0.01)
    for _ in range(4):
        x, y = torch.randn(16, 6), torch.randn(16, 1)
        hidden = torch.relu(trunk(x))
        loss = (left(hidden) - y).pow(2).mean() + (right(hidden) - y).abs().mean()
        opt_left.zero_grad()
        opt_right.zero_grad()
        loss.backward()
        opt_left.step()  # effect: GS268
        opt_right.step()  # cause: GS268


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    trunk, left, right = nn.Linear(6, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    opt_left = torch.optim.Adam([*trunk.parameters(), *left.parameters()], lr=0.01)
    opt_right = torch.optim.Adam(right.parameters(), lr=0.01)
    for _ in range(4):
        x, y = torch.randn(16, 6), torch.randn(16, 1)
        hidden = torch.relu(trunk(x))
        loss = (left(hidden) - y).pow(2).mean() + (right(hidden) - y).abs().mean()
        opt_left.zero_grad()
        opt_right.zero_grad()
        loss.backward()
        opt_left.step()
        opt_right.step()


@rule("GS268", name="gradient-used-twice", severity="warning")
def gradient_used_twice(trace: Trace) -> Iterator[Finding]:
    for use in second_uses(trace):
        yield _finding(trace, use)


def _finding(trace: Trace, use: SecondUse) -> Finding:
    first, again = use.first.site.user, use.again.site.user
    names = parameter_names(trace, sorted(use.parameters))
    one, other = (optimizer_name(trace, step.optimizer) for step in (use.first, use.again))
    twice = use.first.optimizer == use.again.optimizer
    steps = f"{code(trace, first, 'the first step')} and {code(trace, again, 'the second')}"
    return Finding(
        message=f"{names}: two steps use one gradient, {steps}"
        if not twice
        else f"{names}: {code(trace, again, 'the step')} uses a gradient that was used already",
        cause=again,
        cause_label="moves them once more by the same gradient",
        effect=first if first.location() != again.location() else None,
        effect_label="has used it, and nothing filled or cleared it since",
        seen=(
            f"in {plural(use.count, 'step')} of this line the gradients of"
            f" {plural(len(use.parameters), 'parameter')} were those of the step before, with no backward pass and no"
            " `zero_grad()` between",
        ),
        fix=f"leave {located(trace, again)} out, or make a pass of its own before it"
        if twice
        else f"leave {located(trace, again)} out: all its steps are by gradients that {code(trace, first)} has used;"
        " where a schedule of the rate is meant, make one (`torch.optim.lr_scheduler`)"
        if use.alone
        else f"leave {names} out of one of the two optimizers: {one} and {other} both hold"
        f" {'it' if len(use.parameters) == 1 else 'them'}",
        edits=taken_away(trace, again)
        if (twice or use.alone) and first.location() != again.location()
        else (),
        count=use.count,
        subjects=parameter_subjects(use.parameters),
    )
