"""Layers were frozen while they held the random numbers that they were made with.

Why: the first layers of a network are frozen since they know something already: their weights were loaded. Where
nothing was loaded (`pretrained=False`, a file that was not there) they are a random projection of the input, nobody
trains them, and the layers behind them get what that leaves of it.

Fix: load the weights before the line that freezes, or let the layers be trained.

A note: random features may be meant. Measured: the run drew the weights, no op, load or step has written them since,
and what they give goes into layers that are trained. Silent on: whole models that are frozen beside another one (a
random target), weights that are made without a gradient.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.feeds import drawn_here
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.stops import frozen_by
from gradscope.analysis.words import located, parameter_names, parameter_subjects, plural
from gradscope.model import Finding, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    for name, p in net.named_parameters():
        if name.startswith("0"):
            p.requires_grad_(False)  # cause: GS267
    opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    for _ in range(6):
        x = torch.randn(16, 4)
        loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())  # effect: GS267
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    net.load_state_dict({name: value.clone() for name, value in net.state_dict().items()})
    for name, p in net.named_parameters():
        if name.startswith("0"):
            p.requires_grad_(False)
    opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    for _ in range(6):
        x = torch.randn(16, 4)
        loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS267", name="frozen-as-drawn", severity="note")
def frozen_as_drawn(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    trained = {p.module: p for p in trace.parameters if p.steps and p.passes and p.module is not None}
    roots = {trace.modules[module].root for module in trained if module in trace.modules}
    by_line: dict[object, tuple[Site, list[Parameter]]] = {}
    for p in trace.parameters:
        if p.requires_grad or p.changed or p.passes or p.updates or p.module not in trace.modules:
            continue
        if trace.modules[p.module].root in roots and len(p.shape) > 1:
            froze = frozen_by(trace, p)
            if froze is not None and froze.site.user.kind == "user" and drawn_here(trace, [p]):
                place, asked = froze.site.user, _asked(froze.site.user)
                lines = place.location(), asked.location() if asked is not None else None
                by_line.setdefault(lines, (place, []))[1].append(p)
    for place, found in by_line.values():
        behind = _trained_behind(known, found, {p.id for p in trained.values()})
        if behind is not None:
            yield _finding(trace, place, found, behind)


def _asked(froze: Site) -> Site | None:
    """The line that calls the function which freezes, where that is a helper beside the model."""
    caller = froze.parent
    return (
        caller if caller is not None and caller.kind == "user" and caller.function != froze.function else None
    )


def _trained_behind(known: Paths, frozen: list[Parameter], trained: set[int]) -> Op | None:
    """A layer that is trained and is given what was computed with one of these."""
    ids = {p.id for p in frozen}
    for parameter in sorted(trained):
        for op in known.uses(parameter)[:1]:
            before = known.flow((op.graph, index) for index in op.inputs).order
            if any(p is not None and p.id in ids for p in map(known.parameter_of, before)):
                return op
    return None


def _finding(trace: Trace, froze: Site, frozen: list[Parameter], behind: Op) -> Finding:
    names = parameter_names(trace, [p.id for p in frozen])
    one = len(frozen) == 1
    asked = _asked(froze)
    leave = f"leave {names} out of {located(trace, asked)}" if asked is not None else "leave that out"
    return Finding(
        message=f"{names} {'was' if one else 'were'} frozen with the random numbers that"
        f" {'it was' if one else 'they were'} made with",
        cause=froze,
        cause_label="freezes what nobody trained",
        effect=behind.site.user,
        effect_label="is trained on what random layers give",
        related=((asked, "in this call"),) if asked is not None else (),
        seen=(
            f"the run drew {plural(len(frozen), 'weight')} at random, and no load, step or other write has given"
            f" {'it' if one else 'them'} other values since",
        ),
        fix=f"load trained weights before {located(trace, froze)}, or {leave}, so that the layers are trained",
        subjects=parameter_subjects(p.id for p in frozen),
    )
