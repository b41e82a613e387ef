"""One optimizer has the same schedule twice, and another one that steps beside it has none.

Why: each scheduler changes the learning rates of the optimizer that it was made with. Two of them on one optimizer
let its rate fall twice as fast as was meant, or write the same rate twice, and the rate of the optimizer that was left
out never falls.

Fix: make each scheduler with its own optimizer.

A note where no turn of these schedules has changed a rate yet. Silent on: schedules of different classes or settings
on one optimizer, as a warm-up and a decay, schedules that follow one another, and runs with one optimizer.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from itertools import combinations

from gradscope.analysis.loop import in_order
from gradscope.analysis.since import since_segment
from gradscope.analysis.words import listed, located, optimizer_name, plural, where
from gradscope.events import Rates, Scheduled, SchedulerMade, Step
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import names_in
from gradscope.store import Trace

LENGTHS = {"T_max", "T_0", "total_steps"}  # a schedule that has one is known by it, whatever the rate is
FROM_THE_FIRST = {
    "LambdaLR",
    "OneCycleLR",
    "CyclicLR",
    "CosineAnnealingWarmRestarts",
}  # rates of no other schedule's


def bad() -> None:
    import torch
    from torch import nn

    g, d = nn.Linear(3, 3), nn.Linear(3, 1)
    g_opt = torch.optim.SGD(g.parameters(), lr=0.1)
    d_opt = torch.optim.SGD(d.parameters(), lr=0.1)
    g_schedule = torch.optim.lr_scheduler.StepLR(g_opt, 2, 0.5)
    d_schedule = torch.optim.lr_scheduler.StepLR(g_opt, 2, 0.5)  # cause: GS239
    for _ in range(6):
        d_opt.zero_grad()
        d(g(torch.randn(8, 3)).detach()).pow(2).mean().backward()
        d_opt.step()  # effect: GS239
        g_opt.zero_grad()
        d(g(torch.randn(8, 3))).mean().backward(inputs=list(g.parameters()))
        g_opt.step()
        g_schedule.step()
        d_schedule.step()


def good() -> None:
    import torch
    from torch import nn

    g, d = nn.Linear(3, 3), nn.Linear(3, 1)
    g_opt = torch.optim.SGD(g.parameters(), lr=0.1)
    d_opt = torch.optim.SGD(d.parameters(), lr=0.1)
    g_schedule = torch.optim.lr_scheduler.StepLR(g_opt, 2, 0.5)
    d_schedule = torch.optim.lr_scheduler.StepLR(d_opt, 2, 0.5)
    for _ in range(6):
        d_opt.zero_grad()
        d(g(torch.randn(8, 3)).detach()).pow(2).mean().backward()
        d_opt.step()
        g_opt.zero_grad()
        d(g(torch.randn(8, 3))).mean().backward(inputs=list(g.parameters()))
        g_opt.step()
        g_schedule.step()
        d_schedule.step()


@rule("GS239", name="scheduled-twice", severity="warning")
def scheduled_twice(trace: Trace) -> Iterator[Finding]:
    made = {event.scheduler: event for event in trace.of(SchedulerMade)}
    if len(made) < 2 or len(trace.optimizers) < 2:
        return
    rates = {event.scheduler: event for event in trace.of(Rates) if event.scheduler in made}
    spans = _spans(trace)
    for a, b in combinations(sorted(rates), 2):
        if not _alike(made[a], made[b]) or not _same_turns(rates[a], rates[b], made[a].cls):
            continue
        if (
            spans["schedule", a][0] > spans["schedule", b][1]
            or spans["schedule", b][0] > spans["schedule", a][1]
        ):
            continue  # one follows the other
        left = [number for number in trace.optimizers if _left_out(trace, made, spans, number, a)]
        if left:
            yield _finding(trace, made, rates, a, b, left)


def _alike(a: SchedulerMade, b: SchedulerMade) -> bool:
    return a.optimizer == b.optimizer and a.cls == b.cls and not (a.drives or b.drives)


def _same_turns(a: Rates, b: Rates, cls: str) -> bool:
    """Whether two schedules were stepped as often and are one and the same. Those whose settings are not known, as
    functions are, may differ where they have done nothing yet."""
    if not a.turns == b.turns >= 2 or a.settings != b.settings:
        return False
    if cls in FROM_THE_FIRST and not a.settings:  # the second finds what it was about to write
        return bool(a.moved) and not b.moved
    if LENGTHS.intersection(a.settings):  # where the rate comes to depends on what the other one has done
        return True
    own, other = a.own or 0.0, b.own or 0.0
    known = bool(a.settings) or not math.isclose(own, 1.0, rel_tol=1e-6)
    return known and math.isclose(own, other, rel_tol=1e-6)


def _spans(trace: Trace) -> dict[tuple[str, int], tuple[int, int]]:
    """Of each schedule and each optimizer the places in the run where it was stepped first and last."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for place, (_, event) in enumerate(in_order(trace)):
        if isinstance(event, Scheduled):
            key = "schedule", event.scheduler
        elif isinstance(event, Step):
            key = "step", event.optimizer
        else:
            continue
        found[key] = found.get(key, (place, place))[0], place
    return found


def _left_out(
    trace: Trace,
    made: dict[int, SchedulerMade],
    spans: dict[tuple[str, int], tuple[int, int]],
    number: int,
    a: int,
) -> bool:
    """Whether an optimizer without a schedule steps beside the one that has two, as often at least."""
    twice = made[a].optimizer
    if number == twice or any(event.optimizer == number for event in made.values()):
        return False
    steps, other = trace.optimizers[number].steps, trace.optimizers.get(twice)
    if other is None or not 2 <= other.steps <= 2 * steps or ("step", number) not in spans:
        return False
    (begin, end), (first, last) = spans["step", number], spans["schedule", a]
    return begin < last and end > first


def _finding(
    trace: Trace, made: dict[int, SchedulerMade], rates: dict[int, Rates], a: int, b: int, left: list[int]
) -> Finding:
    twice = made[a].optimizer
    # schedules are mostly made in the order of their optimizers
    wrong, right = (made[a], made[b]) if max(left) < twice else (made[b], made[a])
    steps = next(event for event in trace.of(Step) if event.optimizer in left)
    holder, without = _called(trace, twice), listed([_called(trace, number) for number in left])
    own, last, high = rates[a].own or 1.0, rates[b].last, rates[a].high
    alike = math.isclose(own, rates[b].own or 1.0, rel_tol=1e-6)
    at_work = not alike or not math.isclose(own, 1.0, rel_tol=1e-6)
    seen = [f"{plural(rates[a].turns, 'turn')} of each of two {wrong.cls} on {holder}, none on {without}"]
    if at_work and last is not None and high is not None:
        seen.append(
            (
                f"each made the rate of {holder} {own:.3g} times as large: it"
                if alike
                else f"the rate of {holder}"
            )
            + f" went from {high:g} to {last:g}"
        )
    apart = right.site.user.location() != wrong.site.user.location()
    meant = without if len(left) == 1 else f"the one of {without} that it is meant for"
    return Finding(
        message=f"two schedules of the same kind drive {holder}, and none drives {without}",
        cause=wrong.site.user,
        cause_label=f"a second schedule on {holder}" if apart else f"makes both of them with {holder}",
        effect=steps.site.user,
        effect_label="steps with a rate that no schedule changes",
        related=((right.site.user, "the other one"),) if apart else (),
        seen=tuple(seen),
        severity="" if at_work else "note",
        fix=f"make one of them with {meant}: {located(trace, wrong.site.user)}",
        count=rates[a].turns,
        edits=_given(trace, wrong.site.user, without.strip("`")) if len(left) == 1 and apart else (),
        subjects=frozenset({("scheduler", wrong.scheduler)}),
        since=since_segment(trace, wrong.segment),
    )


def _called(trace: Trace, number: int) -> str:
    name = optimizer_name(trace, number)
    return name if name.startswith("`") else f"the optimizer of {where(trace.optimizers[number].site)}"


def _given(trace: Trace, site: Site, name: str) -> Edits:
    """The call at `site` with `name` in the place of its optimizer, where that is known in its function."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    if not isinstance(call, ast.Call) or not name.replace(".", "").isidentifier():
        return ()
    given = (
        call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "optimizer"), None)
    )
    function = here.file.function_of(call)
    scope = function or here.file.tree
    if not isinstance(given, (ast.Name, ast.Attribute)) or scope is None or isinstance(function, ast.Lambda):
        return ()
    known = names_in(scope, ast.Store) | names_in(here.before_line(call), ast.Store)
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        known |= {argument.arg for argument in [*function.args.posonlyargs, *function.args.args]}
    return here.replace(given, name) if name.partition(".")[0] in known else ()
