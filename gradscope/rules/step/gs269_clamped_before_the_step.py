"""Weights are clamped right before the optimizer's step, which moves them out of the bounds again.

Why: what computes with the weights next finds them as the step has left them. A critic whose weights are to stay within
bounds (WGAN) is used with weights that do not.

Fix: clamp behind the step.

Measured: between the clamp and the step of an optimizer that holds the weights no backward pass ran, and when the next
one began elements lay outside of the bounds. Silent where they are clamped again behind the step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural, user
from gradscope.events import BoundsLeft
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

OFTEN = 2  # rounds: an element may leave the bounds once


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(4, 1)
    opt = torch.optim.RMSprop(critic.parameters(), lr=0.01)
    for _ in range(6):
        opt.zero_grad()
        real, fake = torch.randn(8, 4) + 1, torch.randn(8, 4)
        loss = critic(fake).mean() - critic(real).mean()
        loss.backward()
        for p in critic.parameters():
            p.data.clamp_(-0.02, 0.02)  # cause: GS269
        opt.step()  # effect: GS269


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(4, 1)
    opt = torch.optim.RMSprop(critic.parameters(), lr=0.01)
    for _ in range(6):
        opt.zero_grad()
        real, fake = torch.randn(8, 4) + 1, torch.randn(8, 4)
        loss = critic(fake).mean() - critic(real).mean()
        loss.backward()
        opt.step()
        for p in critic.parameters():
            p.data.clamp_(-0.02, 0.02)


@rule("GS269", name="clamped-before-the-step", severity="warning", needs=BoundsLeft)
def clamped_before_the_step(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(BoundsLeft):
        step = user(trace.site(event.step))
        if step is not None and event.broken >= OFTEN and 2 * event.broken >= event.rounds:
            yield _finding(trace, event, step)


def _finding(trace: Trace, event: BoundsLeft, step: Site) -> Finding:
    clamp, names = event.site.user, parameter_names(trace, event.parameters)
    bounds = " and ".join(f"{bound:g}" for bound in (event.low, event.high) if bound is not None)
    share = f"{event.outside:,} of {event.elements:,} elements"
    return Finding(
        message=f"{code(trace, step, 'the step')} moves {names} out of the bounds that they have just been clamped to",
        cause=clamp,
        cause_label="clamps them before the step",
        effect=step,
        effect_label="and this moves them out of the bounds",
        seen=(
            f"in {event.broken} of the {plural(event.rounds, 'round')} looked at elements lay beyond {bounds} when the"
            f" next backward pass began: {share}, from {event.least:.4g} to {event.most:.4g}",
        ),
        fix=f"clamp behind {located(trace, step)}",
        edits=_behind(trace, clamp, step),
        count=event.broken,
        subjects=parameter_subjects(event.parameters),
    )


def _behind(trace: Trace, clamp: Site, step: Site) -> Edits:
    """The clamp, or the loop whose only statement it is, behind the step that stands in the same block."""
    if clamp.path != step.path:
        return ()
    here = Source(trace, clamp.path)
    statement, to = here.file.statement(clamp), here.file.statement(step)
    above = here.file.parent.get(id(statement))
    if isinstance(above, ast.For) and len(above.body) == 1 and not above.orelse:
        statement = above
    if statement is None or to is None or to not in here.file.siblings(statement):
        return ()
    return here.move(statement, to, after=True, lines=True)
