"""An average of weights takes nearly all of the newest ones, or moves away from them.

Why: an exponential average keeps the larger part of itself in each update and takes a small part of the new weights.
With the two factors exchanged it is the newest weights once more, and averages nothing. With the wrong sign its
distance grows by each update, without an end.

Fix: `average.mul_(decay).add_(weight, alpha=1 - decay)`, with a decay near 1 (`average.lerp_(weight, 1 - decay)` is
the same); of the difference `average - weight` a part is taken away.

Measured: the distance of both before and after an update, between two steps. Silent on: decays that grow from small
ones, copies, averages of a few steps' length.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.words import located, parameter_name, plural
from gradscope.events import Average
from gradscope.fixes.source import Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

AWAY = 1.0005  # part of the distance that is left: more is no rounding
TIMES = 3
LATE = 32  # step, from which on a decay has grown
STEADY = 0.01  # a decay that varies less does not grow
LITTLE = 0.2  # part that is left in an average over a step or two
HALF = 0.55


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    shadow = [p.detach().clone() for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(100):
        opt.zero_grad()
        nn.functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
        opt.step()
        with torch.no_grad():
            for average, p in zip(shadow, model.parameters(), strict=True):
                average.mul_(0.01).add_(p, alpha=0.99)  # cause: GS223


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    shadow = [p.detach().clone() for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(100):
        opt.zero_grad()
        nn.functional.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
        opt.step()
        with torch.no_grad():
            for average, p in zip(shadow, model.parameters(), strict=True):
                average.mul_(0.99).add_(p, alpha=0.01)


@rule("GS223", name="average-is-none", severity="error", needs=Average)
def average_is_none(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Average):
        away = [(step, left) for step, left in event.left if left > AWAY]
        late = [(step, left) for step, left in event.left if step >= LATE] or _steady(event)
        if len(away) >= TIMES and len(away) == len(event.left):
            yield _pushed(trace, event, away[-1])
        elif late and all(0 < left <= HALF for _, left in late):
            yield _follows(trace, event, late[-1])


def _steady(event: Average) -> list[tuple[int, float]]:
    """What was measured of an update that is always the same."""
    parts = [left for _, left in event.left]
    return list(event.left) if len(parts) >= TIMES and max(parts) - min(parts) <= STEADY else []


def _factors(trace: Trace, site: Site) -> list[tuple[Site, str]]:
    """Where the function of the update at `site` sets what the update is computed with, and what that is called."""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    read = {
        ast.unparse(node)
        for node in (ast.walk(statement) if statement is not None else ())
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)
    }
    found = []
    for node in ast.walk(here.file.scope(site)):
        targets = node.targets if isinstance(node, ast.Assign) else []
        names = [ast.unparse(target) for target in targets if ast.unparse(target) in read]
        if names and isinstance(node, ast.Assign) and node is not statement:
            found.append((Site(-1, site.path, *here.file.span(node), site.function, "user"), names[0]))
    return found


def _pushed(trace: Trace, event: Average, last: tuple[int, float]) -> Finding:
    here = located(trace, event.site.user)
    name = f"`{parameter_name(trace, event.parameter)}`"
    return Finding(
        message=f"each update moves the average of {name} away from it: the sign is wrong",
        cause=event.site.user,
        cause_label="makes the distance to the weights larger",
        seen=(
            f"in all of {len(event.left)} updates that were measured the distance became larger, in the same"
            f" direction: {last[1]:.6g} times as large by the update at step {last[0]}",
        ),
        fix=f"change the sign in {here}: a part of the difference `average - weight` has to be taken away (`sub_`),"
        " or one of `weight - average` added",
    )


def _follows(trace: Trace, event: Average, last: tuple[int, float]) -> Finding:
    here = located(trace, event.site.user)
    name, left = f"`{parameter_name(trace, event.parameter)}`", last[1]
    factors = _factors(trace, event.site.user)
    sets = ", and at " + " and ".join(located(trace, site) for site, _ in factors) if factors else ""
    return Finding(
        message=f"the average of {name} keeps {left:.2g} of itself in each update: that averages"
        f" {plural(round(1 / (1 - left)), 'step')}",
        cause=event.site.user,
        cause_label=f"takes {1 - left:.3g} of the new weights",
        related=tuple((site, f"sets `{text}`") for site, text in factors),
        seen=(
            f"after the update at step {last[0]} {left:.3g} of the distance between average and weights was left; at"
            f" first {', '.join(f'{part:.3g} (step {step})' for step, part in event.left[:3])}",
        ),
        fix=f"keep the larger part of the average in {here}, as in `average.mul_(decay).add_(weight, alpha=1 - decay)`"
        f" with a decay of 0.99 or more; print the two factors to see what they are at that step{sets}",
        severity="warning" if left <= LITTLE else "note",
    )
