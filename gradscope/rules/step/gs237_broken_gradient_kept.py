"""Gradients are not finite any more, and no line clears them: all later passes add to them in vain.

Why: a program that leaves its step out where the norm of the gradients is not finite keeps those gradients, unless
it clears them there too. NaN plus any number is NaN, so that the norm is never finite again: one bad batch ends the
training, while the losses go on looking well.

Fix: call `zero_grad()` whether the step is made or left out: behind the condition, and before a `continue`.

Silent on: losses that are not finite themselves, as of parameters that have been destroyed; gradients that are
cleared later, at the next turn or the next epoch; the end of a run that is no longer than an accumulation; passes
from a line whose gradients no step uses.
"""

import ast
import math
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.gradients import Fill, Turn, gradients
from gradscope.analysis.loop import timeline
from gradscope.analysis.since import since_stretch
from gradscope.analysis.words import (
    code,
    located,
    parameter_names,
    parameter_subjects,
    plural,
)
from gradscope.events import ZeroGrad
from gradscope.fixes.source import Edits, Source
from gradscope.model import Edit, Finding, Optimizer, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, LOOPS
from gradscope.store import Trace

FEW = 4  # passes that wait for a step: the run may have ended in the middle of an accumulation


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(16):
        x = torch.randn(8, 3)
        if i == 5:
            x[0, 0] = float("inf")
        model(x).pow(2).mean().backward()  # effect: GS237
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if torch.isfinite(norm):
            opt.step()
            opt.zero_grad()  # cause: GS237


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(16):
        x = torch.randn(8, 3)
        if i == 5:
            x[0, 0] = float("inf")
        model(x).pow(2).mean().backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if torch.isfinite(norm):
            opt.step()
        opt.zero_grad()


class Kept(NamedTuple):
    """Gradients of one optimizer that are not finite and wait for ever."""

    parameters: list[int]
    sound: int  # measured passes with a finite loss that have been added since then
    first: Fill  # of the passes that wait for a step
    last: Fill
    turn: Turn


@rule(
    "GS237", name="broken-gradient-kept", severity="warning", over=("GS201", "GS209", "GS605"), needs=ZeroGrad
)
def broken_gradient_kept(trace: Trace) -> Iterator[Finding]:
    for number, optimizer in trace.optimizers.items():
        kept = _kept(trace, number, optimizer)
        clears = [e for e in trace.of(ZeroGrad) if kept and not set(kept.parameters).isdisjoint(e.parameters)]
        if kept and clears:
            yield _finding(trace, kept, clears[-1].site.user)


def _kept(trace: Trace, number: int, optimizer: Optimizer) -> Kept | None:
    run, stretches = gradients(trace), timeline(trace)
    turns = [turn for turn in run.turns if turn.step.optimizer == number and turn.fills]
    if not turns:
        return None
    window = max(sum(fill.times for fill in turn.fills) for turn in turns)
    lines = {fill.line for turn in turns for fill in turn.fills}
    found: dict[int, int] = {}
    last = first = None
    for id in optimizer.parameters:
        waiting = run.waiting.get(id, [])
        passes = sum(
            stretches[fill.stretch][0] for fill in waiting
        )  # nothing ended them: each turn added its own
        if passes <= max(FEW, 2 * window):
            continue
        if any(fill.line not in lines for fill in waiting):
            return None
        if (broken := _broken(trace, id, _sites(run.fills, id))) is not None:
            found[id], last, first = broken, waiting[-1], waiting[0]
    if first is None or last is None:
        return None
    sound = max(found.values())
    return Kept(list(found), sound, first, last, turns[-1]) if sound >= 2 else None


def _broken(trace: Trace, id: int, sites: set[int]) -> int | None:
    """How many of the passes that were measured since the norm of this gradient was finite for the last time had a
    finite loss; None where most had none."""
    norms, losses = trace.numbers("grad_norm", id, sites), trace.numbers("loss", sites=sites)
    if len(norms) != len(losses):
        return None
    sound = [place for place, (_, norm) in enumerate(norms) if math.isfinite(norm)]
    first = sound[-1] + 1 if sound else 0
    later = [loss for _, loss in losses[first + 1 :]]
    finite = sum(math.isfinite(loss) for loss in later)
    return finite if 0 < first < len(norms) and 2 * finite > len(later) else None


def _sites(fills: list[Fill], id: int) -> set[int]:
    return {fill.event.site.id for fill in fills if id in fill.event.filled}


def _finding(trace: Trace, kept: Kept, clear: Site) -> Finding:
    step = kept.turn.step.site.user
    clearing, stepping = located(trace, clear, "`zero_grad()`"), located(trace, step, "the step")
    names = parameter_names(trace, kept.parameters)
    place, edits = _cleared_anyway(trace, step, clear)
    return Finding(
        message=f"gradients of {names} are not finite and are never cleared: later passes add to them in vain",
        cause=clear,
        cause_label="is not reached where the step is left out",
        effect=kept.last.event.site.user,
        effect_label=f"adds to what stays NaN or infinite: {code(trace, step, 'the step')} never runs again",
        seen=(
            f"{plural(kept.sound, 'pass')} with a finite loss, of those measured, added to gradients that were not"
            " finite before and were not cleared",
        ),
        fix=f"call {clearing} also where {stepping} is left out{place}: what is not finite has to go",
        count=kept.sound,
        edits=edits,
        subjects=parameter_subjects(kept.parameters),
        since=since_stretch(trace, kept.first.stretch),
    )


def _cleared_anyway(trace: Trace, step: Site, clear: Site) -> tuple[str, Edits]:
    """Where the gradients have to be cleared too: before the `continue` that leaves the step out, or behind the
    condition that the step and the clearing stand in."""
    if step.path != clear.path:
        return "", ()
    here = Source(trace, step.path)
    stepping, clearing = here.file.statement(step), here.file.statement(clear)
    if not isinstance(clearing, ast.Expr) or stepping is None:
        return "", ()
    text = here.text_of(clearing)
    for above in [stepping, *here.file.above(stepping)]:
        if isinstance(above, (*LOOPS, *FUNCTIONS)):
            break
        if not isinstance(above, ast.stmt):
            continue
        earlier = [s for s in here.file.siblings(above) if s.lineno < above.lineno and isinstance(s, ast.If)]
        leaving = [s for s in earlier if isinstance(s.body[-1], ast.Continue)]
        if len(leaving) == 1 and not leaving[0].orelse:
            jump = leaving[0].body[-1]
            return f", before the `continue` in line {jump.lineno}", here.before(jump, text)
        if isinstance(above, ast.If) and clearing in [s for b in (above.body, above.orelse) for s in b]:
            counted = any(isinstance(node, ast.Mod) for node in ast.walk(above.test))
            if stepping not in here.file.siblings(clearing) or counted:
                return "", ()
            last = clearing.end_lineno == above.end_lineno and clearing is not here.file.siblings(clearing)[0]
            dedented = Edit(
                here.path, clearing.lineno, above.col_offset + 1, clearing.lineno, clearing.col_offset + 1, ""
            )
            edits = here.move(clearing, above, after=True) if not last else (dedented,) if text else ()
            return f", behind the `if` of line {above.lineno}", edits
    return "", ()
