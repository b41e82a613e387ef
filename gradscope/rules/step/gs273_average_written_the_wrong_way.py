"""The running average is written into the network that is trained: its copy never changes.

Why: an average of weights takes a little of the trained network into the copy: `ema = decay * ema + (1 - decay) *
weight`. With the two the wrong way round the copy stays what it was when it was made, and every step draws the network
back to that.

Fix: write into the copy, and read the network.

Measured: after steps the program adds to parameters that an optimizer trains a part of those of another network that
go by the same names and never change, and that network is called. Silent on: a network that is set back as a whole,
copies that something trains, loads or averages, copies that are only an anchor, and networks that two optimizers train
one after the other (the copy may hold what the first one has trained).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.own_writes import MixedIn, mixed_in
from gradscope.analysis.reach import paths
from gradscope.analysis.words import located, parameter_names, parameter_subjects, root_of
from gradscope.events import ModuleCall
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Parameter
from gradscope.rules import rule
from gradscope.store import Trace

OFTEN = 3  # segments


def bad() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    ema = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(16, 4)
        loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for p, q in zip(net.parameters(), ema.parameters(), strict=True):
                p.mul_(0.99).add_(q, alpha=0.01)  # cause: GS273
    with torch.no_grad():
        print(ema(x).mean().item())


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    ema = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(16, 4)
        loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for p, q in zip(net.parameters(), ema.parameters(), strict=True):
                q.mul_(0.99).add_(p, alpha=0.01)
    with torch.no_grad():
        print(ema(x).mean().item())


@rule("GS273", name="average-written-the-wrong-way", severity="warning")
def average_written_the_wrong_way(trace: Trace) -> Iterator[Finding]:
    known, called = paths(trace), None
    found: dict[tuple[str, int], list[MixedIn]] = {}
    for one in mixed_in(trace):
        into, other = known.parameters[one.parameter], known.parameters[one.other]
        if one.times < OFTEN or len(into.optimizers) != 1 or not into.steps or not _never_changes(other):
            continue
        if (into.name, into.shape) != (other.name, other.shape):
            continue
        if called is None:
            called = {event.module for event in trace.of(ModuleCall)}
        if root_of(trace, other) in called - {root_of(trace, into)}:
            found.setdefault(one.op.site.user.location(), []).append(one)
    for some in found.values():
        yield _finding(trace, some)


def _never_changes(p: Parameter) -> bool:
    return p.registered and not (p.steps or p.changed or p.updates or p.optimizers or p.passes)


def _finding(trace: Trace, some: list[MixedIn]) -> Finding:
    here = some[0].op.site.user
    into, kept = (
        list(dict.fromkeys(ids)) for ids in zip(*((m.parameter, m.other) for m in some), strict=True)
    )
    names, copies = parameter_names(trace, into), parameter_names(trace, kept)
    return Finding(
        message=f"the average is written into {names}, which are trained: {copies} stay what they were",
        cause=here,
        cause_label="writes into what the optimizer steps, and reads the copy",
        seen=(
            f"this line wrote to the trained parameters in {max(m.times for m in some)} steps or more that were looked"
            " at, and nothing has ever changed the others",
        ),
        fix=f"write into the copy and read the network: the two sides the other way round in {located(trace, here)}",
        edits=_turned(trace, some[0]),
        subjects=parameter_subjects(kept),
    )


def _turned(trace: Trace, one: MixedIn) -> Edits:
    """`q.mul_(d).add_(p, alpha=1 - d)` for `p.mul_(d).add_(q, alpha=1 - d)`, where both are names of a loop."""
    here = Source(trace, one.op.site.user.path)
    statement = here.file.statement(one.op.site.user)
    loop = here.file.parent.get(id(statement))
    names = loop.target.elts if isinstance(loop, ast.For) and isinstance(loop.target, ast.Tuple) else []
    if statement is None or not isinstance(loop, ast.For) or len(names) != 2 or len(loop.body) != 1:
        return ()
    first, second = (name.id if isinstance(name, ast.Name) else "" for name in names)
    if not first or not second:
        return ()
    return (*here.replace(names[0], second), *here.replace(names[1], first))
