"""Gradients of two steps are added together: nothing cleared them in between.

Why: `backward()` adds into `.grad`. A gradient that one step has used stays there, so the
next step gets the sum of both.

Fix: call `optimizer.zero_grad()` once per step, before `backward()`.

Silent on: gradient accumulation, several losses before one step, closures, zeroing by
hand, sums that are cleared before a step uses them (a GAN's discriminator).
A note where several backward passes pile up, no step follows and nothing is ever cleared.
A warning where a critic is cleared after its step only, and the generator's pass fills it again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.analysis.gradients import Fill, gradients
from gradscope.analysis.leaks import Leak, leaks
from gradscope.analysis.loop import steps_between
from gradscope.analysis.names import names_of
from gradscope.analysis.scales import second_steps
from gradscope.analysis.since import since_segment, since_stretch
from gradscope.analysis.stacks import where_parted
from gradscope.analysis.stale import gradients_read, lender, measured, stale_uses
from gradscope.analysis.text import not_called, parentheses
from gradscope.analysis.words import (
    code,
    listed,
    located,
    method,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    plural,
    user,
    where,
)
from gradscope.events import Backward, StaleUsed, Step, Update, ZeroGrad
from gradscope.fixes.source import Source, receiver
from gradscope.fixes.statements import beside, line_before
from gradscope.model import Edit, Finding, Since, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()  # effect: GS201
        opt.step()  # cause: GS201


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


@rule("GS201", name="stale-gradient-accumulated", severity="error", over=("GS232", "GS308"))
def stale_gradient_accumulated(trace: Trace) -> Iterator[Finding]:
    used = list(_sums_used(trace))
    yield from used
    yield from _left_behind(trace)
    if not used:
        yield from _never_cleared(trace) if trace.of(Step, ZeroGrad, Update) else _never_used(trace)


def _sums_used(trace: Trace) -> Iterator[Finding]:
    """Steps, or updates by hand, that used a sum of old gradients and new ones."""
    groups: dict[tuple[object, object], list[StaleUsed]] = {}
    again = {second.again for second in second_steps(trace)}  # one step too many: GS211's
    for event in stale_uses(trace):
        if event.site.user in again:
            continue
        cause, effect = _used_and_added(trace, event)
        groups.setdefault((cause.location(), effect.location() if effect else None), []).append(event)
    meant = not_called(trace, "zero_grad") if groups else None
    for events in groups.values():
        found = _used(trace, *_used_and_added(trace, events[0]), events)
        yield _not_called(trace, found, meant) if meant is not None else found


def _used_and_added(trace: Trace, event: StaleUsed) -> tuple[Site, Site | None]:
    """The line that used the gradients, and that of the pass that added to them."""
    cause = user(trace.site(event.used_by)) or event.site.user
    return cause, user(trace.site(event.backward))


def _used(trace: Trace, cause: Site, effect: Site | None, events: list[StaleUsed]) -> Finding:
    ids = list(dict.fromkeys(p for event in events for p in event.parameters))
    names = parameter_names(trace, ids)
    uses = [event.site.user for event in events if event.site.user.location() != cause.location()]
    optimizer = events[0].optimizer
    own = own_pass(trace, events[0], effect)
    clear = effect if own is None else own
    several, of = _adds_up(trace, events[0]), lender(trace, events[0])
    when = "before the first run of" if several else "before"
    clearing = (
        f"`{of}.zero_grad()`"
        if of
        else method(trace, optimizer, "zero_grad", argument(trace, clear), at=clear)
    )
    return Finding(
        message=f"{names}: the step uses old gradients added to new ones, nothing cleared them in between",
        cause=cause,
        cause_label="used these gradients, and nothing clears them afterwards",
        effect=effect,
        effect_label="adds to the gradients that were used already",
        related=(
            *((site, "uses the sum") for site in dict.fromkeys(uses)),
            *([(own, "the first pass of this step: adds its gradient to those")] if own is not None else ()),
        ),
        seen=tuple(measured(trace, events)),
        fix=f"call {clearing} once per step, {when} {code(trace, clear, '`backward()`')} ({where(clear)})"
        if optimizer is not None
        else f"clear the gradients after {located(trace, cause, 'the update')}: {by_hand(trace, cause)}",
        count=sum(event.count for event in events),
        edits=() if of or (several and own is not None) else zeroed(trace, cause, effect, own),
        subjects=parameter_subjects(ids),
        since=_since(trace, events[0]),
    )


def _since(trace: Trace, first: StaleUsed) -> Since | None:
    """The step that used the first sum, where an earlier one than the last had found its gradients cleared."""
    before = steps_between(trace, 0, first.segment)
    earlier = {segment.index: segment.repeat for segment, step in before if step.optimizer == first.optimizer}
    return since_segment(trace, first.segment) if sum(earlier.values()) > 1 else None


def _not_called(trace: Trace, found: Finding, meant: Site) -> Finding:
    """The program has the call that is missing, but for its parentheses."""
    return replace(
        found,
        cause=meant,
        cause_label="named, but not called: nothing is cleared",
        related=((found.cause, "uses these gradients"), *found.related) if found.cause else found.related,
        fix=f"call it: `{names_of(trace).text(meant) or 'zero_grad'}()`",
        edits=parentheses(meant),
    )


def own_pass(trace: Trace, use: StaleUsed, effect: Site | None) -> Site | None:
    """The first pass of the step that used the sum, where another one is said to have added to it: cleared before
    an earlier one, made for another optimizer's step, its gradients would still be among those used; before a later
    one those of the first would be lost."""
    passes = [fill.event.site.user for fill in _own_fills(trace, use)]
    if not passes:
        ids = set(use.parameters)
        events = (event for event in trace.of(Backward) if event.segment == use.segment)
        passes = [event.site.user for event in events if ids & set(event.filled)]
        return passes[0] if passes and effect not in passes else None
    return passes[0] if passes[0] != effect else None


def _own_fills(trace: Trace, use: StaleUsed) -> list[Fill]:
    """The passes since the optimizer's last step, in order, that filled nothing but what it holds."""
    known = trace.optimizers.get(use.optimizer) if use.optimizer is not None else None
    held = set(known.parameters) if known is not None else set[int]()
    turns = (turn for turn in gradients(trace).turns if turn.step.segment == use.segment)
    turn = next((turn for turn in turns if turn.step.optimizer == use.optimizer), None)
    return [fill for fill in turn.fills if fill.parameters <= held] if turn is not None else []


def _adds_up(trace: Trace, use: StaleUsed) -> bool:
    """Whether the line of the step's first pass runs several times for one step: cleared before it, all but the last
    would be lost."""
    fills = _own_fills(trace, use)
    first = [fill for fill in fills if fill.line == fills[0].line]
    return len(first) > 1 or any(fill.times > 1 for fill in first)


def argument(trace: Trace, effect: Site | None) -> str:
    """What to tell `zero_grad()` where the program goes on adding to the gradient itself."""
    passes = {event.site.user.location() for event in trace.of(Backward)}
    return "set_to_none=False" if effect is not None and effect.location() not in passes else ""


def zeroed(trace: Trace, cause: Site | None, effect: Site | None, own: Site | None) -> tuple[Edit, ...]:
    """A `zero_grad()` after the step; before the backward where several optimizers share gradients."""
    if cause is None:
        return ()
    optimizer = _stepping(trace, cause)
    if not optimizer:
        return _zeroed_by_hand(trace, cause)
    if own is not None:
        here = Source(trace, own.path)
        if (own.path, own.function) != (cause.path, cause.function):
            return ()
        return here.before(here.file.statement(own), f"{optimizer}.zero_grad()")
    late = effect is not None and effect.path == cause.path and effect.function == cause.function
    if len({event.optimizer for event in trace.of(Step)}) > 1 and late and effect is not None:
        here = Source(trace, effect.path)
        return here.before(here.file.statement(effect), f"{optimizer}.zero_grad({argument(trace, effect)})")
    if _read_behind(trace, cause):
        return ()  # it would find none
    here = Source(trace, cause.path)
    return here.after(here.file.statement(cause), f"{optimizer}.zero_grad({argument(trace, effect)})")


def _read_behind(trace: Trace, step: Site) -> bool:
    """Whether the program may read a gradient behind the step, in its function or in another one of the file, and does
    not ask whether there is one."""
    file = trace.source_file(step.path)
    found = [n for n in file.nodes if isinstance(n, ast.Attribute) and n.attr == "grad"]
    reads = [(node, file.function_of(node)) for node in found]
    asked = [function for node, function in reads if isinstance(file.parent.get(id(node)), ast.Compare)]
    own = file.statement(step)
    mine = file.function_of(own) if own is not None else None
    return any(
        isinstance(node.ctx, ast.Load)
        and function not in asked
        and (function is not mine or node.lineno > step.end_line)
        for node, function in reads
    )


def _stepping(trace: Trace, site: Site) -> str:
    """The optimizer that steps at a line, as the program calls it: `opt` of `scaler.step(opt)` as well."""
    scaled = next(
        (e for e in trace.of(Step) if e.by_scaler and e.site.user.location() == site.location()), None
    )
    if scaled is None:
        return receiver(trace, site, "step")
    name = optimizer_name(trace, scaled.optimizer).strip("`")
    return "" if " " in name else name


def _zeroed_by_hand(trace: Trace, cause: Site) -> tuple[Edit, ...]:
    """`w.grad = None` after `w -= lr * w.grad`."""
    here = Source(trace, cause.path)
    reads = gradients_read(trace, cause)
    return here.after(here.file.statement(cause), f"{reads[0]}.grad = None") if len(reads) == 1 else ()


def by_hand(trace: Trace, cause: Site | None) -> str:
    """What clears the gradients that an update by hand has used."""
    reads = list(gradients_read(trace, cause)) if cause is not None else []
    return listed([f"`{name}.grad = None`" for name in reads]) or "`p.grad = None` for each parameter"


def _left_behind(trace: Trace) -> Iterator[Finding]:
    """Steps that use what another optimizer's pass left in their parameters."""
    for leak in leaks(trace):
        yield _of_another(trace, leak)


def _of_another(trace: Trace, leak: Leak) -> Finding:
    earlier, own = leak.earlier, leak.own
    if earlier.location() == own.location():  # one helper makes both passes
        earlier, own = where_parted(earlier, own)
    names, step = parameter_names(trace, sorted(leak.parameters)), code(trace, leak.step, "the step")
    return Finding(
        message=f"{names}: {step} also uses the gradients of a pass for another optimizer, nothing cleared them",
        cause=earlier,
        cause_label=f"leaves gradients in {names} too, after they were cleared",
        effect=own,
        effect_label="adds to the gradients that were left",
        related=((leak.step, "uses the sum"),),
        seen=(
            f"the first step of {optimizer_name(trace, leak.optimizer, leak.step)} used the gradients of its own pass,"
            f" {plural(leak.count, 'later one')} those of the other too",
        ),
        fix=f"call {method(trace, leak.optimizer, 'zero_grad', at=own)} before"
        f" {code(trace, own, '`backward()`')} ({where(own)}), not only after {step}",
        severity="warning",
        count=leak.count,
        edits=_cleared_before(trace, leak.step, own),
        subjects=parameter_subjects(leak.parameters),
        since=since_stretch(trace, leak.stretch),
    )


def _cleared_before(trace: Trace, step: Site, before: Site) -> tuple[Edit, ...]:
    """`zero_grad()` of the stepped optimizer before the pass, where one function has both."""
    name = receiver(trace, step, "step")
    return line_before(trace, before, f"{name}.zero_grad()") if name and beside(trace, step, before) else ()


def _never_used(trace: Trace) -> Iterator[Finding]:
    """Several passes pile up and nothing is ever cleared, stepped or updated."""
    begun: dict[int, int] = {}  # parameter → the stretch of its first pass
    piles: dict[Site, tuple[Backward, set[int], int]] = {}
    for fill in gradients(trace).fills:
        # passes of one stretch belong together: several losses, retain_graph
        earlier = {p for p in fill.event.filled if begun.setdefault(p, fill.stretch) < fill.stretch}
        again = set(fill.event.filled) if fill.times > 1 else earlier
        if again and fill.event.call != "grad":
            first, ids, count = piles.get(fill.event.site.user, (fill.event, set(), 0))
            piles[fill.event.site.user] = (first, ids | again, count + fill.times)
    for site, (first, ids, count) in piles.items():
        yield Finding(
            message=f"{parameter_names(trace, sorted(ids))}: gradients of several backward passes pile up",
            cause=site,
            cause_label="adds to what earlier passes left, and nothing clears it",
            seen=(
                f"gradients were added to earlier ones {plural(count, 'time')}",
                "no optimizer has made a step with them",
            ),
            fix=f"let a step of an optimizer use what {located(trace, site)} gives, and clear it after that; where only"
            " the gradients are asked for, clear them before each pass",
            severity="note",
            subjects=parameter_subjects(ids),
            count=max(count, first.count),
        )


def _never_cleared(trace: Trace) -> Iterator[Finding]:
    """A pass adds to used gradients that nothing in the whole run ever clears."""
    cleared = {p for event in trace.of(ZeroGrad) for p in event.parameters}
    for event in trace.of(Backward):
        ids = [p for p in event.stale if p not in cleared]
        if ids:
            yield Finding(
                message=f"{parameter_names(trace, ids)}: a used gradient was added to, nothing cleared it",
                effect=event.site.user,
                effect_label="adds to gradients that a step has used already",
                severity="note",
                subjects=parameter_subjects(ids),
                count=event.count,
                since=since_segment(trace, event.segment),
            )
