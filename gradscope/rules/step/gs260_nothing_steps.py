"""`backward()` is called again and again, and the run has no optimizer: nothing is ever changed.

Why: `backward()` only adds to `.grad`. What changes a parameter is the step of an optimizer, or an update by hand;
without one the loss of the same batch is the same number for ever, and of others it goes up and down with the batch.

Fix: `optimizer = torch.optim.Adam(model.parameters())`, and `zero_grad()`, `backward()`, `step()` in each turn.

Measured: passes that fill the parameters, no optimizer, no write to them after the first pass, no read of a gradient,
and the number of the loss is taken out, to be looked at. Silent on: passes that are only timed, gradients that are
read or cleared, of inputs or by hooks, too; fewer than twenty passes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.calls import calls
from gradscope.analysis.hook_bodies import gathers
from gradscope.analysis.loop import settled
from gradscope.analysis.ops import WAITS
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, numbers, parameter_subjects, plural
from gradscope.events import Backward, GradRead, Step, Update, ZeroGrad
from gradscope.fixes.source import Edits, Source, receiver
from gradscope.fixes.statements import beside
from gradscope.model import Finding, Parameter
from gradscope.rules import rule
from gradscope.store import Trace

MANY = 20  # passes


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    x = torch.randn(16, 4)
    for step in range(30):
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()  # cause: GS260
        if step % 10 == 0:
            print(step, loss.item())


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(16, 4)
    for step in range(30):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, loss.item())


@rule("GS260", name="nothing-steps", severity="warning", over=("GS201",), needs=Backward)
def nothing_steps(trace: Trace) -> Iterator[Finding]:
    used = (*trace.of(Step), *trace.of(Update), *trace.of(ZeroGrad))
    if trace.optimizers or used or not settled(trace) or trace.of(GradRead) or gathers(trace):
        return
    lines: dict[tuple[str, int], list[Backward]] = {}
    for event in trace.of(Backward):
        if event.call == "backward" and event.filled:
            lines.setdefault(event.site.user.location(), []).append(event)
    for events in lines.values():
        mine = [trace.parameter(id) for id in sorted({id for event in events for id in event.filled})]
        count = sum(event.count for event in events)
        asks = any(event.leaves for event in events)  # for the gradient of an input
        if count >= MANY and not asks and all(_is_left(p) for p in mine) and _is_looked_at(trace, events):
            yield _finding(trace, events, mine, count)


def _is_left(parameter: Parameter) -> bool:
    """Whether nothing has used its gradients, or changed it."""
    used = parameter.reads or parameter.taken or parameter.handed or parameter.updates or parameter.changed
    return parameter.registered and not used


def _is_looked_at(trace: Trace, events: list[Backward]) -> bool:
    """Whether the program takes the number of the loss out."""
    known = paths(trace)
    return any(
        op.name in WAITS or op.cut is not None
        for event in events
        if event.graph >= 0
        for root in event.roots
        for op in known.graph(event.graph).consumers.get(root, ())
    )


def _finding(trace: Trace, events: list[Backward], mine: list[Parameter], count: int) -> Finding:
    event = events[0]
    place = event.site.user
    losses = [loss for _, loss in trace.numbers("loss", sites={e.site.id for e in events})]
    seen = [
        f"{plural(count, 'backward pass')}, no optimizer in the whole run, and no write to the parameters"
    ]
    if losses:
        seen.append(f"the loss went from {numbers(losses[0])} to {numbers(losses[-1])}")
    fix, edits = _stepped(trace, event)
    return Finding(
        message=f"{code(trace, place, '`backward()`')} fills gradients {count} times, and nothing steps: there is no"
        " optimizer",
        cause=place,
        cause_label="adds to the gradients, and changes no parameter",
        seen=tuple(seen),
        fix=fix,
        edits=edits,
        count=count,
        subjects=parameter_subjects(p.id for p in mine),
    )


def _stepped(trace: Trace, event: Backward) -> tuple[str, Edits]:
    place = event.site.user
    here = Source(trace, place.path)
    entries = (c.entry for c in calls(trace).all if c.event.graph == event.graph and c.trains)
    entry = next((entry for entry in entries if beside(trace, entry, place)), None)
    model = receiver(trace, entry) if entry is not None else ""
    loop, made = here.file.outermost_loop(place), f"torch.optim.Adam({model or 'model'}.parameters())"
    text = f"make an optimizer before the loop, `optimizer = {made}`, and around {code(trace, place)} call"
    fix = f"{text} `optimizer.zero_grad()` and `optimizer.step()`"
    free = not any(isinstance(n, ast.Name) and n.id == "optimizer" for n in here.file.nodes)
    statement = here.file.statement(place)
    if not model or not free or "torch" not in here.file.imported or loop is None or loop is statement:
        return fix, ()
    parts = (
        here.before(loop, f"optimizer = {made}"),
        here.before(statement, "optimizer.zero_grad()"),
        here.after(statement, "optimizer.step()"),
    )
    return fix, tuple(edit for part in parts for edit in part) if all(parts) else ()
