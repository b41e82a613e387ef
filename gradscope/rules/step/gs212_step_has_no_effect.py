"""The step runs with non-zero gradients, and the parameters are bit-equal afterwards.

Why: with a learning rate of 0 nothing moves. Nor does it where the update is smaller than the
parameter's number format can tell apart (half-precision weights with a small learning rate), where
a state is loaded again after each step, where the update goes to a new tensor that nothing keeps (or
to a copy, as `parameters_to_vector` gives one), or where the optimizer hands it to another one that a
loaded state has brought, with copies of its tensors.

Fix: give the optimizer a learning rate above 0; keep the weights in float32 and let autocast
compute in half precision; load a state once, before the loop; write to the parameter itself, in
place, under `torch.no_grad()`.

A note for a warm-up that stands at 0 for several steps, and for single parameters among others
that move. Silent where only the first step of a warm-up is at 0, where a schedule ends there, and
where what a step changed was read before a state was loaded (meta learning, test-time adaptation).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from functools import partial
from typing import NamedTuple

from gradscope.analysis.loop import nearest_backward, norm
from gradscope.analysis.lost_updates import Dropped, dropped_updates
from gradscope.analysis.schedules import schedule_name, schedules_of
from gradscope.analysis.text import site_of
from gradscope.analysis.undone import undone
from gradscope.analysis.words import (
    code,
    located,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    plural,
    where,
)
from gradscope.events import Backward, InnerReplaced, NoEffect, Scheduled, SchedulerMade, Step
from gradscope.fixes.blocks import moved_out, written_in_place
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import line_after
from gradscope.model import Finding, Optimizer, Site
from gradscope.rules import rule
from gradscope.source import called_name, names_in
from gradscope.store import Trace

COMPARED = 24  # steps that are compared at most while nothing changes (hooks/measures/effects.py)
WARM_UP = 3  # steps of a schedule that may pass at rate 0


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0)  # cause: GS212
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS212


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        for p in model.parameters():
            p.data.clamp_(-1, 1)


@rule("GS212", name="step-has-no-effect", severity="error", over=("GS456",))
def step_has_no_effect(trace: Trace) -> Iterator[Finding]:
    nothing, at_first = dict(_nothing_moves(trace)), dict(_nothing_moves_at_first(trace))
    yield from {**at_first, **nothing}.values()
    yield from _single_parameters_rest(trace, nothing.keys() | at_first.keys())
    yield from _every_step_undone(trace, nothing.keys())
    yield from map(partial(_update_lost, trace), dropped_updates(trace))


def _nothing_moves(trace: Trace) -> Iterator[tuple[int, Finding]]:
    """Optimizers none of whose steps moved anything, as far as they were compared."""
    for number, optimizer in trace.optimizers.items():
        still, lost = _still(trace, number)
        if lost >= 2 and lost >= min(optimizer.steps, COMPARED):
            yield number, _finding(trace, number, optimizer, still, lost, _severity(trace, number, still[0]))


def _nothing_moves_at_first(trace: Trace) -> Iterator[tuple[int, Finding]]:
    """The same of the first steps of a run: a warm-up that stands at rate 0."""
    for number, optimizer in trace.optimizers.items():
        still, lost = _still(trace, number)
        first = next((e for e in trace.of(Step) if e.optimizer == number), None)
        if lost >= 2 and first is not None and still[0].segment - first.segment <= 1:
            yield number, _finding(trace, number, optimizer, still, lost, "note")


def _still(trace: Trace, number: int) -> tuple[list[NoEffect], int]:
    """What was measured of an optimizer's steps that moved nothing at all, and how many they are."""
    still = [e for e in trace.of(NoEffect) if e.optimizer == number and not e.moved]
    return still, sum(e.count for e in still)


def _single_parameters_rest(trace: Trace, told: Set[int]) -> Iterator[Finding]:
    """Single parameters that never moved where others did: lost in rounding (rate 0 is a choice)."""
    for number, optimizer in trace.optimizers.items():
        events = [e for e in trace.of(NoEffect) if e.optimizer == number and e.moved]
        if number in told or not events:
            continue
        at_rest = {p for group in optimizer.groups if group.get("lr") == 0 for p in group["parameters"]}
        ids = [p for p in events[0].parameters if p not in at_rest]
        times = sum(e.count for e in events if set(ids) <= set(e.parameters))
        coarse = [p for p in ids if trace.parameter(p).dtype in ("float16", "bfloat16")]
        if coarse and times >= min(3, optimizer.steps) and times >= 2:
            event = next(e for e in events if set(coarse) <= set(e.parameters))
            yield _finding(trace, number, optimizer, [event], times, "note")


def _every_step_undone(trace: Trace, told: Set[int]) -> Iterator[Finding]:
    """What each step has changed is overwritten before anything reads it."""
    for found in undone(trace):
        if found.optimizer in told or found.site is None:
            continue
        load, step = code(trace, found.site, "this write"), code(trace, found.step, "the step")
        names = parameter_names(trace, sorted(found.parameters))
        yield Finding(
            message=f"{load} undoes what {step} did to {names}, every time",
            cause=found.site,
            cause_label="overwrites what the step has changed",
            effect=found.step,
            effect_label="nothing has read its result by then",
            seen=(
                f"{plural(len(found.parameters), 'parameter')} overwritten after each of "
                f"{plural(found.times, 'step')} looked at, before any call had read them",
            ),
            why="what is loaded or copied replaces every value. Nothing has used the values that the step "
            "computed, so it has cost its time for nothing",
            fix=f"take {located(trace, found.site, 'it')} out of the loop: once, before it, is enough",
            count=found.times,
            edits=moved_out(trace, found.site),
            subjects=parameter_subjects(found.parameters) | {("optimizer", found.optimizer)},
        )


def _severity(trace: Trace, number: int, event: NoEffect) -> str:
    if not event.zero_rate:
        return "" if _unwritten(trace, event) else "warning"
    made = [e for e in trace.of(SchedulerMade) if e.optimizer == number]
    turns = sum(e.count for e in trace.of(Scheduled) if e.optimizer == number)
    return "note" if made and turns < WARM_UP else ""


def _finding(
    trace: Trace, number: int, optimizer: Optimizer, events: list[NoEffect], lost: int, severity: str
) -> Finding:
    ids = list(dict.fromkeys(p for e in events for p in e.parameters))
    event = events[0]
    step = code(trace, event.site.user, "the step")
    why, label, fix = reason(trace, number, event, ids)
    begun = _begun_at_zero(trace, number, event)
    made, inner = optimizer.site.user if optimizer.site else None, _inner(trace, event)
    bound = _bound_anew(trace, optimizer.cls) if inner is None and _unwritten(trace, event) else None
    if bound is not None:
        return _lost_within(
            trace, bound, step, event, ids, tuple(measured(trace, ids, lost, optimizer, event)), lost
        )
    return Finding(
        message=f"{step} changes nothing: {why}",
        cause=inner.site.user if inner is not None else begun.site if begun is not None else made,
        cause_label=label if begun is None else begun.label,
        effect=event.site.user,
        effect_label="leaves every parameter bit-equal",
        related=((made, "keeps an optimizer in its `state`"),)
        if inner is not None and made is not None
        else ((begun.made, f"sets the rate to 0, of {begun.rate:g}"),)
        if begun is not None and begun.made != begun.site
        else (),
        seen=tuple(measured(trace, ids, lost, optimizer, event)),
        fix=fix if begun is None else begun.fix,
        edits=begun.edits if begun is not None else (),
        count=lost,
        severity=severity,
        subjects=parameter_subjects(ids) | {("optimizer", number)},
    )


def _bound_anew(trace: Trace, cls: str) -> Site | None:
    """The statement of the program's own `step` that gives the name of a loop over the parameters to a new value."""
    found = []
    for path in trace.sources:
        file = trace.source_file(path)
        for name, function in file.of(ast.FunctionDef):
            holder = file.class_of(function)
            if function.name != "step" or holder is None or holder.name != cls:
                continue
            loops = [node for node in ast.walk(function) if isinstance(node, ast.For)]
            found += [
                site_of(path, name, node)
                for loop in loops
                for node in ast.walk(loop)
                if isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and names_in(node.targets[0]) & names_in(loop.target) & names_in(node.value, ast.Load)
            ]
    return found[0] if len({site.line for site in found}) == 1 else None


def _lost_within(
    trace: Trace, at: Site, step: str, event: NoEffect, ids: list[int], seen: tuple[str, ...], lost: int
) -> Finding:
    """An update in an optimizer's own `step` that only gives a name to its result."""
    text, edits = written_in_place(trace, at)
    return Finding(
        message=f"{step} changes nothing: {code(trace, at, 'an assignment')} in it gives a name to a new tensor",
        cause=at,
        cause_label="the update is lost here",
        effect=event.site.user,
        effect_label="leaves every parameter bit-equal",
        seen=seen,
        why="an assignment to the name of a loop changes what the name stands for, and not the parameter",
        fix=f"write to the parameter in place, under `torch.no_grad()`: `{text or 'p.copy_(…)'}` ({where(at)})",
        edits=edits,
        count=lost,
        subjects=parameter_subjects(ids) | {("optimizer", event.optimizer)},
    )


class _Begun(NamedTuple):
    """A schedule that begins at rate 0, of an optimizer that was made with another one."""

    site: Site
    label: str
    made: Site
    rate: float
    fix: str
    edits: Edits


def _begun_at_zero(trace: Trace, number: int, event: NoEffect) -> _Begun | None:
    own = [made for made in schedules_of(trace, number) if made.segment <= event.segment]
    rates = [r for group in trace.optimizers[number].groups if isinstance(r := group.get("lr"), float)]
    rate = max(rates, default=0.0)
    if not event.zero_rate or len(own) != 1 or not rate > 0:
        return None
    made, schedule = own[0].site.user, schedule_name(trace, own[0])
    here, function = Source(trace, made.path), _multiplies(trace, made)
    if function is None or not function.args.args:
        fix = f"let {schedule} ({where(own[0].site)}) begin above 0, or step it before the first step"
        return _Begun(made, "begins at a rate of 0", made, rate, fix, ())
    step = function.args.args[0].arg
    reads = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == step]
    site = site_of(made.path, function.name, next(n for n in ast.walk(function) if isinstance(n, ast.Return)))
    return _Begun(
        site,
        f"is 0 where `{step}` is 0",
        made,
        rate,
        f"let it count from 1: `({step} + 1)` in place of `{step}` ({located(trace, site)})",
        tuple(edit for node in reads for edit in here.replace(node, f"{step} + 1")),
    )


def _multiplies(trace: Trace, made: Site) -> ast.FunctionDef | None:
    """The function that a `LambdaLR` multiplies the rate by, where the call that makes it has its name."""
    file = trace.source_file(made.path)
    call = file.at(made)
    given = {n.id for n in ast.walk(call) if isinstance(n, ast.Name)} if isinstance(call, ast.Call) else set()
    if called_name(call) != "LambdaLR":
        return None
    found = [node for _, node in file.of(ast.FunctionDef) if node.name in given]
    returns = any(isinstance(n, ast.Return) for n in ast.walk(found[0])) if len(found) == 1 else False
    return found[0] if returns else None


def reason(trace: Trace, number: int, event: NoEffect, ids: list[int]) -> tuple[str, str, str]:
    """Why nothing changes, what to say of the optimizer's line, and what to do."""
    holder, made = optimizer_name(trace, number), trace.optimizers[number].site
    if event.zero_rate:
        zero = "the learning rate is 0"
        return zero, zero, f"give {holder} a learning rate above 0 ({where(made)})"
    if (inner := _inner(trace, event)) is not None:
        return (
            f"the {inner.cls} in its `state` has come with the state that was loaded, and steps other tensors",
            f"replaces the {inner.cls} in its `state` by that of the state, which holds copies of the parameters",
            f"keep the {inner.cls} out of the `state` of {holder} ({where(made)}): as an attribute, whose own"
            f" `state_dict()` is saved, and loaded after {located(trace, inner.site.user, 'the load')}",
        )
    if _unwritten(trace, event):
        fix = (
            "write to the parameters in place (`p.add_(…)` under `torch.no_grad()`): binding a name anew"
            " (`p = p - …`) changes none"
        )
        return "it writes to no parameter", "its `step` gives nothing back to the parameters", fix
    kinds = ", ".join(sorted({f"`{trace.parameter(p).dtype}`" for p in ids}))
    fix = (
        f"keep the parameters of {holder} in float32 and compute under `torch.autocast`,"
        " or raise the learning rate"
    )
    return f"the update is too small for {kinds}", "made with this learning rate", fix


def _inner(trace: Trace, event: NoEffect) -> InnerReplaced | None:
    """The load that has replaced the optimizer which one that writes nothing itself keeps in its state."""
    if event.zero_rate or not _unwritten(trace, event):
        return None
    loads = [
        e for e in trace.of(InnerReplaced) if e.optimizer == event.optimizer and e.segment <= event.segment
    ]
    return loads[-1] if loads else None


def measured(trace: Trace, ids: list[int], lost: int, optimizer: Optimizer, event: NoEffect) -> Iterator[str]:
    """How many parameters stayed, and how small their update was."""
    yield (
        f"{plural(len(ids), 'parameter')} with a non-zero gradient bit-equal after"
        f" {lost} of {plural(min(optimizer.steps, max(lost, COMPARED)), 'step')} compared"
    )
    last, rates = norm(trace, ids[0]), event.rates
    if last and rates and not _unwritten(trace, event):
        name = parameter_names(trace, ids[:1])
        yield f"norm of {name}'s gradient {last:.4g}, times the learning rate {rates[0]:g}: {last * rates[0]:.4g}"


def _unwritten(trace: Trace, event: NoEffect) -> bool:
    """Whether the step wrote to none of its parameters (an update that is lost in rounding is a write)."""
    steps = [e for e in trace.of(Step) if e.optimizer == event.optimizer]
    # What a GPU has measured may come a step later.
    step = next((e for e in reversed(steps) if e.segment <= event.segment), None)
    return step is not None and set(event.parameters) <= set(step.unchanged or ())


def _update_lost(trace: Trace, lost: Dropped) -> Finding:
    """An update by hand that changes nothing."""
    ids = [p.id for p in lost.parameters]
    effect = nearest_backward(trace, set(ids)) or next(iter(trace.of(Backward)), None)
    text, edits = written_in_place(trace, lost.site)
    fix = f"write to the parameter itself, inside `with torch.no_grad():`: `{text or 'p -= lr * p.grad'}`"
    if lost.joined is not None:
        fix, edits = _written_back(trace, lost, lost.joined)
    return Finding(
        message=f"`{lost.text}` changes no parameter: its result is a new tensor that nothing keeps"
        if lost.joined is None
        else f"`{lost.text}` changes no parameter: it writes to a copy of them, which nothing writes back",
        cause=lost.site,
        cause_label="the update is lost here",
        effect=effect.site.user if effect is not None else None,
        effect_label="gives the same parameters their next gradient",
        related=((lost.joined, "puts copies of them together"),) if lost.joined is not None else (),
        seen=(
            f"{plural(len(ids), 'parameter')} got a gradient in {plural(lost.passes, 'pass')}, and nothing"
            " was written to any of them",
        ),
        fix=fix,
        count=lost.passes,
        edits=edits,
        subjects=parameter_subjects(ids) | {("write", *lost.site.location())},
    )


def _written_back(trace: Trace, lost: Dropped, joined: Site) -> tuple[str, Edits]:
    """`vector_to_parameters(theta, weights)` behind the update, where `theta = parameters_to_vector(weights)` made the
    copy."""
    here = Source(trace, joined.path)
    call, statement = here.file.at(joined), here.file.statement(joined)
    vector = "torch.nn.utils.vector_to_parameters"
    if (
        called_name(call) == "parameters_to_vector"
        and isinstance(call, ast.Call)
        and len(call.args) == 1
        and isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
    ):
        given = here.file.text(call.args[0])
        text = f"{vector}({statement.targets[0].id}, {given})"
        plain = (
            isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Call)) and "torch" in here.file.imported
        )
        return f"write it back: `{text}` after it ({where(lost.site)})", (
            line_after(trace, lost.site, text) if plain and joined.path == lost.site.path else ()
        )
    copy = located(trace, joined, "the copy")
    return (
        f"write it back, inside `with torch.no_grad():`: each parameter's part of what {copy} gave, by `p.copy_(…)`",
        (),
    )
