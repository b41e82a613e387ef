"""The larger of a plain and a clipped error is taken: for most samples the clipped one, which has no gradient.

Why: PPO's clipped value loss compares the targets with the prediction, and with the old prediction plus a change of
`clip` at most, and takes the larger error. Where the targets are many times `clip` away each sample stops to teach as
soon as its prediction has moved that far: the clamp is saturated, and what it gives is a constant. With returns of
some tens and a clip of 0.2 that is so after a few steps of each rollout, and the values come after the returns in
steps of the clip.

Fix: take the plain error; or bring the clip to the scale of the targets, or the targets to that of the clip.

Measured: of how many samples, in the calls looked at, the error behind the clamp was the larger one and the clamp had
its input out of bounds: more than half of all.
Silent on: ratios of probabilities, which are clipped around 1; clips that hold the smaller part of the samples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.words import code, located, plural, user
from gradscope.events import HeldByClip
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 8  # calls
SHARE = 0.5


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(3):
        states = torch.randn(64, 4)
        targets = 40 + 8 * states[:, :1]
        before = value(states).detach()
        for _ in range(8):
            now = value(states)
            bounded = before + (now - before).clamp(-0.1, 0.1)  # effect: GS458
            loss = torch.max((now - targets).pow(2), (bounded - targets).pow(2)).mean()  # cause: GS458
            opt.zero_grad()
            loss.backward()
            opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(3):
        states = torch.randn(64, 4)
        targets = 0.5 * states[:, :1]
        before = value(states).detach()
        for _ in range(8):
            now = value(states)
            bounded = before + (now - before).clamp(-0.2, 0.2)
            loss = torch.max((now - targets).pow(2), (bounded - targets).pow(2)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


@rule("GS458", name="clipped-error-is-a-constant", severity="warning", needs=HeldByClip)
def clipped_error_is_a_constant(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(HeldByClip):
        if event.calls >= ENOUGH and event.held > SHARE * event.elements:
            yield _finding(trace, event)


def _finding(trace: Trace, event: HeldByClip) -> Finding:
    place, clamp = event.site.user, user(trace.site(event.clamp))
    share = f"{event.held / event.elements:.0%}"
    text, edits = _plain(trace, place, event.place)
    clip = code(trace, clamp, "the clamp") if clamp is not None else "the clamp"
    return Finding(
        message=f"for {share} of the samples {code(trace, place, 'the maximum')} takes the clipped error, which is a"
        " constant there: they give no gradient",
        cause=place,
        cause_label="the larger error is the clipped one for most samples",
        effect=clamp,
        effect_label="its input is out of bounds",
        seen=(
            f"in {plural(event.calls, 'call')} looked at the clipped error was the larger one for {event.held:,} of"
            f" {event.elements:,} samples while {clip} held its input at a bound, {event.bound:.4g} from the middle",
        ),
        fix=f"take the plain error in place of {located(trace, place)}"
        + (f", `{text}`" if text else "")
        + "; or make the bound as large as the targets' scale asks",
        edits=edits,
        count=event.calls,
    )


def _plain(trace: Trace, site: Site, clipped: int) -> tuple[str, Edits]:
    """`a` for `torch.max(a, b)`, and for `a.max(b)`."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.keywords:
        return "", ()
    sides = node.args if here.file.is_imported(node.func) else [node.func.value, *node.args]
    if len(sides) != 2:
        return "", ()
    text = here.file.operand(sides[1 - clipped])
    return text, here.replace(node, text)
