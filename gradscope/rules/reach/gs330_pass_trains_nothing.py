"""A backward pass trains nothing: what the next step changes was cut off from its loss.

Why: the loss is there for the parameters that are stepped after it. They are behind a `detach()`, so the pass fills
the gradients of another network alone, and those are cleared before anything uses them. The parameters may well learn
from another loss of the same step, so that nothing looks wrong.

Fix: compute the loss from the result with its graph. Where that has been gone through already, or was changed by a step
since, compute it anew.

Silent on: passes whose gradients some step or update uses; passes into what no step changes; a loss that no stepped
parameter went into.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.cuts import cut_words, nearest
from gradscope.analysis.gradients import Fill, Line, gradients
from gradscope.analysis.loop import in_order
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.since import since_segment
from gradscope.analysis.words import code, located, optimizer_name, parameter_names, parameter_subjects
from gradscope.events import Backward, Step
from gradscope.fixes.calls import receiver_in_place_of
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

MANY = 3  # passes


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    g, d = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt_g = torch.optim.SGD(g.parameters(), lr=0.01)
    opt_d = torch.optim.SGD(d.parameters(), lr=0.01)
    z = torch.randn(8, 3)
    for _ in range(5):
        d.zero_grad()
        (d(g(torch.randn(8, 3)).detach()).mean() - d(torch.randn(8, 3) + 2).mean()).backward()
        opt_d.step()
        g.zero_grad()
        fake = g(torch.randn(8, 3))
        score = d(fake.detach())  # cause: GS330
        (-score.mean()).backward()  # effect: GS330
        nn.functional.mse_loss(g(z), z).backward()
        opt_g.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    g, d = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt_g = torch.optim.SGD(g.parameters(), lr=0.01)
    opt_d = torch.optim.SGD(d.parameters(), lr=0.01)
    z = torch.randn(8, 3)
    for _ in range(5):
        d.zero_grad()
        (d(g(torch.randn(8, 3)).detach()).mean() - d(torch.randn(8, 3) + 2).mean()).backward()
        opt_d.step()
        g.zero_grad()
        fake = g(torch.randn(8, 3))
        score = d(fake)
        (-score.mean()).backward()
        nn.functional.mse_loss(g(z), z).backward()
        opt_g.step()


@rule("GS330", name="pass-trains-nothing", severity="warning", over=("GS205", "GS605"))
def pass_trains_nothing(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    lines: dict[Line, list[Fill]] = defaultdict(list)
    for fill in gradients(trace).fills:
        lines[fill.line].append(fill)
    after = _steps_after(trace)
    for line, fills in lines.items():
        dropped = sum(fill.times for fill in fills if fill.cleared)  # what the last one filled may be left
        if dropped < MANY or any(fill.used for fill in fills):
            continue
        idle = _idle(trace, known, fills, after.get(line, {}))
        if idle is not None:
            yield _finding(trace, fills, idle)


class _Idle(NamedTuple):
    cut: Op
    step: Step  # the first one after the pass
    behind: frozenset[int]  # the parameters that it changes, behind the cut


def _steps_after(trace: Trace) -> dict[Line, dict[int, Step]]:
    """The line of each pass → by optimizer, the steps that came next after it."""
    found: dict[Line, dict[int, Step]] = defaultdict(dict)
    open_lines: set[Line] = set()
    for _, event in in_order(trace):
        if isinstance(event, Backward):
            open_lines.add(event.site.user.location())
        elif isinstance(event, Step):
            for line in open_lines:
                found[line].setdefault(event.optimizer, event)
            open_lines.clear()
    return found


def _idle(trace: Trace, known: Paths, fills: list[Fill], steps: dict[int, Step]) -> _Idle | None:
    optimizers = set(steps)
    filled = {id for fill in fills for id in fill.parameters}
    if len(optimizers) != 1 or filled & {p.id for p in trace.parameters if optimizers & set(p.optimizers)}:
        return None
    if not all(
        known.stepped(trace.parameter(id)) for id in filled
    ):  # the pass may be for these: GS205, GS206
        return None
    event = next(
        (f.event for f in fills if f.event.graph >= 0 and f.event.roots and f.event.call == "backward"), None
    )
    if event is None:
        return None
    for op, key in nearest(known, (event.graph, event.roots[0]), _loses):
        behind = known.fed_by(key)
        stepped = {id for id in behind if optimizers & set(trace.parameter(id).optimizers)}
        stepped = {id for id in stepped if trace.parameter(id).passes}  # the others get none at all: GS301
        if stepped and not stepped & filled:
            return _Idle(op, next(iter(steps.values())), frozenset(stepped))
    return None


def _loses(op: Op, key: Key, tracked: list[Key]) -> bool:
    return op.cut is not None and bool(tracked)


def _finding(trace: Trace, fills: list[Fill], idle: _Idle) -> Finding:
    event, site = fills[0].event, idle.cut.site.user
    filled = sorted({id for fill in fills for id in fill.parameters})
    optimizer = optimizer_name(trace, idle.step.optimizer)
    behind, word = parameter_names(trace, sorted(idle.behind)), cut_words(idle.cut, idle.cut.cut or "")
    times = sum(fill.times for fill in fills)
    own = idle.cut.graph == event.graph  # else other passes read what was detached, and need it so
    here, loss = located(trace, site, "this line"), located(trace, event.site.user, "this loss")
    fix = f"compute {loss} from what {here} was given, with its graph, and not from its result"
    if idle.cut.cut == "detach" and own:
        fix = f"leave `.detach()` out of {here}"
    elif idle.cut.region is not None:
        fix = f"compute what goes into {loss} with its graph: {here} is under {word}"
    return Finding(
        message=f"{code(trace, event.site.user, 'this pass')} trains nothing: {word} cuts {behind} off from its loss",
        cause=site,
        cause_label="the gradient ends here",
        effect=event.site.user,
        effect_label=f"reaches {parameter_names(trace, filled)} only, whose gradients are cleared unused",
        related=((idle.step.site.user, "comes next, and uses nothing of it"),),
        seen=(
            f"{passes(times)} filled gradients of {parameter_names(trace, filled)}, and no step used one of them; each"
            f" time the next step was that of {optimizer}",
        ),
        fix=fix,
        edits=receiver_in_place_of(trace, site, "detach") if idle.cut.cut == "detach" and own else (),
        count=times,
        subjects=parameter_subjects(filled) | parameter_subjects(idle.behind),
        since=since_segment(trace, event.segment),
    )
