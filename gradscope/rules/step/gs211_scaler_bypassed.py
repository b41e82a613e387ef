"""A gradient scaler takes part in only half of a step: it scales and does not unscale, or the reverse.

Why: `scaler.scale(loss)` multiplies every gradient by the scale (65536 at first);
`scaler.step(optimizer)` divides by it again and skips the step where a gradient is not finite;
`scaler.update()` makes the scaler ready for the next step. Each needs the other two.

Fix: `scaler.scale(loss).backward()`, then `scaler.step(optimizer)`, then `scaler.update()`.

Silent on: disabled scalers, gradients that `scaler.unscale_(optimizer)` has divided, steps of
optimizers whose gradients were never scaled.
"""

from collections.abc import Iterator

from gradscope.analysis.loop import norm
from gradscope.analysis.scales import MixedUp, calls_before, mixed_up
from gradscope.analysis.words import (
    code,
    located,
    optimizer_name,
    owner,
    parameter_names,
    parameter_subjects,
    source,
    where,
)
from gradscope.events import Backward, Scaler, Step
from gradscope.fixes.calls import line_after, scaled_by, stepped_by, taken_away
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1e-6)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        scaler.scale(loss).backward()  # cause: GS211
        opt.step()  # effect: GS211


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(3):
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(torch.randn(8, 3)).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


@rule("GS211", name="scaler-bypassed", severity="error")
def scaler_bypassed(trace: Trace) -> Iterator[Finding]:
    if not trace.of(Scaler):
        return
    found = mixed_up(trace)
    for one in found:
        yield (_scaled if one.scaled else _plain)(trace, one)
    yield from _stopped(trace, bool(found))


def _scaled(trace: Trace, found: MixedUp) -> Finding:
    cause, effect, ids, number = found.filled, found.used, found.parameters, found.optimizer
    by = f" by {found.scale:g}" if found.scale is not None else ""
    name = optimizer_name(trace, number).strip("`")
    scaler = _scaler_name(trace)
    arguments = name if " " not in name else "optimizer"
    scaled = [e for e in trace.of(Step) if e.optimizer == number and e.by_scaler]
    twice = bool(scaled) and sum(e.count for e in scaled) >= found.count
    stepping = code(trace, effect, "the step")
    if twice:
        by_scaler = scaled[0].site.user
        fix = (
            f"take {stepping} ({where(effect)}) out: {located(trace, by_scaler, 'the scaler')} steps already"
        )
    else:
        fix = f"call `{scaler}.step({arguments})` and `{scaler}.update()` in place of {stepping} ({where(effect)})"
    return Finding(
        message=f"{stepping} uses gradients that are multiplied{by}: the scaler is passed by",
        cause=cause,
        cause_label="computes scaled gradients",
        effect=effect,
        effect_label="steps with them as they are",
        seen=tuple(_measured(trace, found)),
        fix=fix,
        count=found.count,
        edits=taken_away(trace, effect) if twice else stepped_by(trace, cause, effect, scaler, arguments),
        subjects=parameter_subjects(ids),
    )


def _scaler_name(trace: Trace) -> str:
    """The user's name of the scaler, from the first call on it that shows one."""
    for event in trace.of(Scaler):
        name = owner(source(trace, event.site.user), event.call)
        if name:
            return name
    return "scaler"


def _measured(trace: Trace, found: MixedUp) -> Iterator[str]:
    first = min(found.parameters)
    last = norm(trace, first)
    if found.scale is not None and last is not None:
        name = parameter_names(trace, [first])
        yield (
            f"norm of the gradient of {name}: {last:.4g} with the scale {found.scale:g},"
            f" {last / found.scale:.4g} without"
        )


def _plain(trace: Trace, found: MixedUp) -> Finding:
    cause, effect, ids = found.filled, found.used, found.parameters
    by = f" by {found.scale:g}" if found.scale is not None else ""
    root = code(trace, cause, "`backward()`").strip("`").removesuffix(".backward()")
    return Finding(
        message=f"{code(trace, effect, 'the step')} divides gradients{by} that were never multiplied",
        cause=cause,
        cause_label="the loss is not scaled here",
        effect=effect,
        effect_label="takes out a scale that is not there",
        seen=(f"no pass into these gradients started at a scaled loss; scale {found.scale:g}",)
        if found.scale is not None
        else (),
        fix=f"write `{_scaler_name(trace)}.scale({root}).backward()` ({where(cause)})",
        count=found.count,
        edits=scaled_by(trace, cause, effect, _scaler_name(trace)),
        subjects=parameter_subjects(ids),
    )


def _stopped(trace: Trace, told: bool) -> Iterator[Finding]:
    """Explains what the scaler itself stopped on."""
    for event, same, stepped in calls_before(trace):
        if "being called after step()" in event.error:
            yield _twice(trace, event, stepped or event)
        elif "_scale is None" in event.error:
            yield _never_scaled(trace, event)
        elif "since the last update" in event.error:
            yield _twice(trace, event, same or event)
        elif event.call == "update" and "No inf checks" in event.error and not told:
            yield _no_step(trace, event)


def _never_scaled(trace: Trace, event: Scaler) -> Finding:
    calling, scaler = code(trace, event.site.user, f"`{event.call}`"), _scaler_name(trace)
    passes = trace.of(Backward)
    cause = passes[-1].site.user if passes else None
    loss = source(trace, cause).removesuffix(".backward()") or "loss"
    return Finding(
        message=f"{calling} has no scale to take out: `{scaler}.scale(loss)` was never called",
        cause=cause,
        cause_label="the loss is not scaled here",
        effect=event.site.user,
        effect_label="torch stops here",
        seen=(f"torch says: {event.error}",),
        fix=f"write `{scaler}.scale({loss}).backward()` in place of {located(trace, cause, 'the pass')}",
        edits=scaled_by(trace, cause, event.site.user, scaler),
        subjects=frozenset({("scaler", event.scaler)}),
    )


def _no_step(trace: Trace, event: Scaler) -> Finding:
    calling = code(trace, event.site.user, "`update()`")
    scaler = _scaler_name(trace)
    scaled = next((e for e in trace.of(Scaler) if e.call == "scale"), None)
    return Finding(
        message=f"{calling} has nothing to go by: no optimizer stepped through `{scaler}`",
        cause=scaled.site.user if scaled is not None else None,
        cause_label="scales the loss",
        effect=event.site.user,
        effect_label="torch stops here",
        seen=(f"torch says: {event.error}",),
        fix=f"call `{scaler}.step(optimizer)` before {calling} ({where(event.site)})",
        subjects=frozenset({("scaler", event.scaler)}),
    )


def _twice(trace: Trace, event: Scaler, before: Scaler) -> Finding:
    calling = code(trace, event.site.user, f"`{event.call}`")
    scaler = _scaler_name(trace)
    number = event.optimizer
    stepped = before.site.user if before.call == "step" else None
    return Finding(
        message=f"{calling} is reached again without `{scaler}.update()` in between",
        cause=before.site.user,
        cause_label="called here, and no `update()` follows",
        effect=event.site.user,
        effect_label="called again: torch stops here",
        seen=(f"torch says: {event.error}",),
        fix=f"call `{scaler}.update()` after {located(trace, stepped, f'`{scaler}.step(…)`')}, once per iteration"
        + (" and `unscale_` once before it" if event.call == "unscale_" else ""),
        edits=line_after(trace, stepped, f"{scaler}.update()"),
        subjects=frozenset({("optimizer", number)}),
    )
