"""A warm-up of the learning rate begins anew before it has come to its end, again and again.

Why: the number that the warm-up is computed of counts the batches of an epoch, and is 0 again at the next one; or the
schedule itself is made anew in each epoch, and counts from 0. The rate climbs for one epoch, falls to next to nothing,
climbs again: it never comes to what it was to come to.

Fix: compute it of the steps of the whole run; make the schedule once, before the loop.

Measured: the optimizer's rate was larger at each of several steps in a row, and below a tenth of that at the very next
one, several times, each time while it was still rising. Silent on: restarts after a warm-up that had come to its end,
and the waves of one schedule.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from statistics import median

from gradscope.analysis.schedules import rates_written, schedule_name, schedules_of
from gradscope.analysis.text import nodes_of_functions, site_of
from gradscope.analysis.words import counted, located, optimizer_name
from gradscope.events import RateFalls, Rates, SchedulerMade
from gradscope.fixes.blocks import moved_out
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, SourceFile, names_in
from gradscope.store import Trace

MANY = 3  # times
FEW = 2  # lines that are shown


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        for step in range(10):
            opt.param_groups[0]["lr"] = 0.1 * min(1.0, (step + 0.01) / 30)  # cause: GS255
            opt.zero_grad()
            (model(torch.randn(8, 3)) - 1).pow(2).mean().backward()
            opt.step()  # effect: GS255


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(6):
        for step in range(10):
            opt.param_groups[0]["lr"] = 0.1 * min(1.0, (10 * epoch + step + 0.01) / 30)
            opt.zero_grad()
            (model(torch.randn(8, 3)) - 1).pow(2).mean().backward()
            opt.step()


@rule("GS255", name="warm-up-begins-anew", severity="warning", needs=RateFalls)
def warm_up_begins_anew(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(RateFalls):
        if len(event.tops) < MANY or event.optimizer not in trace.optimizers:
            continue
        if not any(rates.optimizer == event.optimizer for rates in trace.of(Rates)):
            yield _finding(trace, event)
        elif (made := _made_anew(trace, event)) is not None:
            yield _of_new_schedules(trace, event, made)
        # else a schedule's own waves, GS217


def _made_anew(trace: Trace, event: RateFalls) -> SchedulerMade | None:
    """The first of the schedules that one line has made for it, one at least for each rise; None where its schedules
    are of several lines, or fewer."""
    made = schedules_of(trace, event.optimizer)
    lines = {one.site.user.location() for one in made}
    return made[0] if len(lines) == 1 and sum(one.count for one in made) > len(event.tops) else None


def _of_new_schedules(trace: Trace, event: RateFalls, made: SchedulerMade) -> Finding:
    site, step = made.site.user, event.site.user
    optimizer, name = optimizer_name(trace, event.optimizer), schedule_name(trace, made)
    count = sum(one.count for one in schedules_of(trace, event.optimizer))
    edits = moved_out(trace, site, ast.Assign)
    return Finding(
        message=f"{name} is made anew {counted(count, 'time')}, and with it the warm-up of {optimizer} begins anew,"
        " before it has come to its end",
        cause=site,
        cause_label=f"makes a new `{made.cls}`, which counts from 0",
        effect=step,
        effect_label="steps at that rate",
        seen=(_measured(event),),
        fix=f"make it once: take {located(trace, site, name)} out of what runs again and again, to before the loop"
        + ("" if edits else f", and hand {name} to the function that steps it"),
        edits=edits,
    )


def _measured(event: RateFalls) -> str:
    return (
        f"{counted(len(event.tops), 'time')} the rate was rising step by step, to {median(event.tops):.3g}, and was"
        f" {event.low:.3g} at the next step; its largest in the run was {event.highest:.3g}"
    )


def _finding(trace: Trace, event: RateFalls) -> Finding:
    step = event.site.user
    writer = _writer(trace, step)
    optimizer = optimizer_name(trace, event.optimizer)
    times = counted(len(event.tops), "time")
    return Finding(
        message=f"the warm-up of the learning rate of {optimizer} begins anew {times}, before it has come to its end",
        cause=writer or step,
        cause_label="writes the rate" if writer is not None else "steps at that rate",
        effect=step if writer is not None else None,
        effect_label="steps at that rate",
        related=tuple((site, "computes a share of the way") for site in _shares(trace, writer)[:FEW]),
        seen=(_measured(event),),
        fix=f"let what {located(trace, writer, 'the rate')} is computed of count the steps of the whole run, such as"
        " `epoch * len(loader) + step`, and not those of one epoch",
    )


def _shares(trace: Trace, writer: Site | None) -> list[Site]:
    """The lines of its function, above, that divide for what it writes."""
    if writer is None:
        return []
    file = trace.source_file(writer.path)
    statement = file.statement(writer)
    names = names_in(statement, ast.Load) if statement is not None else set()
    found = []
    above = [n for n in ast.walk(file.scope(writer)) if isinstance(n, ast.Assign) and n.lineno < writer.line]
    for node in sorted(above, key=lambda node: -node.lineno):
        if any(isinstance(target, ast.Name) and target.id in names for target in node.targets):
            names |= names_in(node.value)
            if any(
                isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div) for part in ast.walk(node.value)
            ):
                found.append(site_of(writer.path, writer.function, node))
    return found[::-1]


def _writer(trace: Trace, step: Site) -> Site | None:
    """The one line that writes a rate: of the function that steps, else of the program."""
    lines = [
        (site_of(path, function, node), _outermost(trace.source_file(path), node))
        for path, function, node in rates_written(trace)
    ]
    lines += [
        (site_of(path, function, node), _outermost(trace.source_file(path), node))
        for path, function, node in nodes_of_functions(trace, ast.Call)
        if _updates(node)
    ]
    file = trace.source_file(step.path)
    statement = file.statement(step)
    around = _outermost(file, statement) if statement is not None else None
    beside = [line for line, _ in lines if (line.path, line.function) == (step.path, step.function)]
    within = [line for line, outer in lines if outer is not None and outer is around]
    found = beside or within or [line for line, _ in lines]
    return found[0] if len(found) == 1 else None


def _outermost(file: SourceFile, node: ast.AST) -> ast.AST | None:
    return next((one for one in list(file.above(node))[::-1] if isinstance(one, FUNCTIONS)), None)


def _updates(call: ast.Call) -> bool:
    """`group.update(lr=…)`, `group.update({"lr": …})`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "update":
        return False
    keys = [key for given in call.args if isinstance(given, ast.Dict) for key in given.keys]
    named = any(word.arg == "lr" for word in call.keywords)
    return named or any(isinstance(key, ast.Constant) and key.value == "lr" for key in keys)
