"""A learning-rate schedule is stepped several times in a row, with no step of its optimizer between.

Why: each `scheduler.step()` changes the rate once more, whether or not anything was trained since. Where the call is
asked for by a count of updates, and stands in a loop that runs on while that count does not move, the rate falls by
many turns at once.

Fix: step the schedule where the optimizer is stepped.

Silent on: the same number of turns between all steps, as where micro-batches are counted; turns before the first step
or after the last one; schedules that are stepped several times in a row once only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from gradscope.analysis.loop import timeline
from gradscope.analysis.words import code, located, optimizer_name, variable
from gradscope.events import Scheduled, SchedulerMade, Step
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import condition_within
from gradscope.model import Event, Finding, Site
from gradscope.rules import rule
from gradscope.source import LOOPS
from gradscope.store import Trace

TIMES = 2  # that it must have happened


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, 0.5)
    updates = 0
    for batch in range(40):
        model(torch.randn(8, 3)).pow(2).mean().backward()
        if batch % 4 == 3:
            opt.step()  # effect: GS226
            opt.zero_grad()
            updates += 1
        if updates > 0 and updates % 3 == 0:
            scheduler.step()  # cause: GS226


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, 0.5)
    updates = 0
    for batch in range(40):
        model(torch.randn(8, 3)).pow(2).mean().backward()
        if batch % 4 == 3:
            opt.step()
            opt.zero_grad()
            updates += 1
            if updates % 3 == 0:
                scheduler.step()


@dataclass
class _Turns:
    """The turns of one schedule between two steps of its optimizer, over the run."""

    now: list[Scheduled] = field(default_factory=list)
    gaps: int = 0  # between two steps
    empty: int = 0  # of these without a turn
    bursts: list[list[Scheduled]] = field(default_factory=list)

    def close(self, times: int) -> None:
        """A step ends the gap before it, and `times` gaps are like this one."""
        self.gaps += times
        self.empty += 0 if self.now else times
        if len(self.now) > 1:
            self.bursts.append(self.now)
        self.now = []


@rule("GS226", name="scheduled-several-times", severity="warning", over=("GS217",), needs=SchedulerMade)
def scheduled_several_times(trace: Trace) -> Iterator[Finding]:
    for made in trace.of(SchedulerMade):
        turns = _turns(trace, made)
        bursts = [burst for burst in turns.bursts if _by_itself(burst)]
        lines = {burst[0].site.user.location() for burst in bursts}
        if len(bursts) >= TIMES and len(lines) == 1 and turns.empty * 2 > turns.gaps:
            yield _finding(trace, made, bursts, turns)


def _turns(trace: Trace, made: SchedulerMade) -> _Turns:
    turns, begun = _Turns(), False
    for repeat, events in timeline(trace):
        own = [e for e in events if _is_turn(e, made) or _is_step(e, made)]
        steps = any(_is_step(event, made) for event in own)
        rounds = (
            [1, repeat - 1] if steps and repeat > 1 else [1]
        )  # the first round, and the others, which are alike
        for times in rounds:
            for event in own:
                if _is_turn(event, made):
                    turns.now += [event] * (1 if steps else repeat) if begun else []
                    continue
                if begun:
                    turns.close(times)
                begun, turns.now = True, []
    return turns


def _is_step(event: Event, made: SchedulerMade) -> bool:
    return isinstance(event, Step) and event.optimizer == made.optimizer


def _is_turn(event: Event, made: SchedulerMade) -> TypeGuard[Scheduled]:
    return isinstance(event, Scheduled) and event.scheduler == made.scheduler


def _by_itself(burst: list[Scheduled]) -> bool:
    """Whether one line made all of these turns, and more than one of them changed the rate."""
    return len({event.site.user.location() for event in burst}) == 1 and (
        sum(event.before != event.after for event in burst) > 1
    )


def _finding(trace: Trace, made: SchedulerMade, bursts: list[list[Scheduled]], turns: _Turns) -> Finding:
    place = bursts[0][0].site.user
    holder = optimizer_name(trace, made.optimizer)
    name = variable(trace, made.site) or "the schedule"
    step = _step_of(trace, made.optimizer)
    most = max(bursts, key=len)
    first, last = max(most[0].before, default=0.0), max(most[-1].after, default=0.0)
    return Finding(
        message=f"{code(trace, place, 'the schedule')} runs up to {len(most)} times between two steps of {holder}:"
        " each changes the rate",
        cause=place,
        cause_label=f"called again and again, with no step of {holder} between",
        effect=step,
        effect_label="runs once after all of these",
        seen=(
            f"{len(bursts)} times `{name}` was stepped {_range(bursts)} times in a row between two steps of"
            f" {holder}; between most steps not at all",
            f"the rate went from {first:g} to {last:g} at once",
        ),
        why="what runs here runs without a step of the optimizer, too"
        if (test := _only_if(trace, place, step))
        else "a condition on the count of updates stays true until the next update: in a loop that runs more often than"
        " the optimizer steps, the schedule is stepped in each of its rounds",
        fix=f"call {located(trace, place)} only where the optimizer steps: under `if {test}:`"
        if test
        else f"call {located(trace, place)} only where the optimizer has just stepped"
        + (f": in the same block as {located(trace, step)}, after it" if step else ""),
        edits=_under(trace, place, test) if test else _with_the_step(trace, place, step),
        count=sum(map(len, bursts)),
        subjects=frozenset({("scheduler", made.scheduler)}),
    )


def _range(bursts: list[list[Scheduled]]) -> str:
    sizes = sorted({len(burst) for burst in bursts})
    return str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"


def _step_of(trace: Trace, optimizer: int) -> Site | None:
    return next((event.site.user for event in trace.of(Step) if event.optimizer == optimizer), None)


def _only_if(trace: Trace, place: Site, step: Site | None) -> str:
    """The condition under which the optimizer steps in a loop beside the call: the function runs without it as well."""
    here = Source(trace, place.path)
    call, stepped = here.file.statement(place), here.file.statement(step) if step is not None else None
    if call is None or stepped is None or step is None or step.path != place.path:
        return ""
    loops = [one for one in here.file.siblings(call) if isinstance(one, LOOPS) and stepped in ast.walk(one)]
    return condition_within(here, stepped, loops[0]) if loops else ""


def _under(trace: Trace, place: Site, test: str) -> Edits:
    here = Source(trace, place.path)
    statement = here.file.statement(place)
    return here.under(statement, f"if {test}:") if statement is not None else ()


def _with_the_step(trace: Trace, place: Site, step: Site | None) -> Edits:
    """`if …: scheduler.step()` at the end of the block that steps the optimizer, where that is a block beside it."""
    here = Source(trace, place.path)
    call, stepped = here.file.statement(place), here.file.statement(step) if step is not None else None
    if call is None or stepped is None or step is None or step.path != place.path:
        return ()
    whole = here.file.parent.get(id(call))
    asked = isinstance(whole, ast.If) and whole.body == [call] and not whole.orelse
    moved = whole if asked and isinstance(whole, ast.stmt) else call
    block = here.file.parent.get(id(stepped))
    if not isinstance(block, ast.If) or block not in here.file.siblings(moved) or block.lineno > moved.lineno:
        return ()
    if stepped not in block.body or not here.text_of(call):
        return ()
    text, inner = here.text_of(call), ""
    if isinstance(whole, ast.If) and asked:
        text, inner = f"if {here.file.text(whole.test)}:", text
    placed, removed = here.after(block.body[-1], text, inner), here.remove(moved)
    return placed + removed if placed and removed else ()
