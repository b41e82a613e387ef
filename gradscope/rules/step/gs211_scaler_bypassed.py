"""A gradient scaler is used for one half of a step only.

Why: `scaler.scale(loss)` multiplies every gradient by the scale (65536 at first);
`scaler.step(optimizer)` divides by it again and skips the step where a gradient is not finite;
`scaler.update()` makes the scaler ready for the next step. Each needs the other two.

Fix: `scaler.scale(loss).backward()`, then `scaler.step(optimizer)`, then `scaler.update()`.

Silent on: disabled scalers, gradients that `scaler.unscale_(optimizer)` has divided, steps of
optimizers whose gradients were never scaled.
"""

from collections.abc import Iterator

from gradscope.analysis.loop import in_order, norm
from gradscope.analysis.scales import Scales
from gradscope.analysis.words import code, located, optimizer_name, owner, parameter_subjects, source, where
from gradscope.events import Backward, Scaler, Step
from gradscope.fixes.calls import line_after, scaled_by, stepped_by
from gradscope.model import Finding, Site
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


class _Run:
    """The steps that use scaled gradients as they are, and the divisions of those that were never scaled."""

    def __init__(self, trace: Trace):
        self.scales = Scales(trace)
        self.dividing = {e.site.user for e in trace.of(Scaler) if e.call == "step"}
        self.found: dict[tuple[str, Site, Site], tuple[Backward, Step | Scaler, set[int], int]] = {}
        for repeat, event in in_order(trace):
            if isinstance(event, Step):
                self._step(event, repeat)
            elif isinstance(event, Scaler) and event.call == "unscale_" and not event.error:
                held = (
                    trace.optimizers[event.optimizer].parameters
                    if event.optimizer in trace.optimizers
                    else []
                )
                self._report("plain", event, self.scales.plain.keys() & held, repeat)
            self.scales.follow(event)

    def _step(self, event: Step, repeat: int) -> None:
        new, scaled, plain = event.fresh, self.scales.scaled, self.scales.plain
        if not event.by_scaler or event.site.user not in self.dividing:
            self._report("scaled", event, new & scaled.keys(), repeat)
        elif not new & scaled.keys():
            self._report("plain", event, new & plain.keys(), repeat)

    def _report(self, kind: str, event: Step | Scaler, ids: set[int], repeat: int) -> None:
        if not ids:
            return
        passed = (self.scales.scaled if kind == "scaled" else self.scales.plain)[min(ids)]
        key = (kind, passed.site.user, event.site.user)
        _, _, known, count = self.found.get(key, (passed, event, set(), 0))
        self.found[key] = (passed, event, known | ids, count + repeat)


@rule("GS211", name="scaler-bypassed", severity="error")
def scaler_bypassed(trace: Trace) -> Iterator[Finding]:
    if not trace.of(Scaler):
        return
    run = _Run(trace)
    for (kind, cause, effect), (_, event, ids, count) in run.found.items():
        yield (_scaled if kind == "scaled" else _plain)(trace, run, cause, effect, event, ids, count)
    yield from _stopped(trace, bool(run.found))


def _scaled(
    trace: Trace, run: _Run, cause: Site, effect: Site, event: Step | Scaler, ids: set[int], count: int
) -> Finding:
    number = event.optimizer
    by = f" by {run.scales.scale:g}" if run.scales.scale is not None else ""
    name = optimizer_name(trace, number).strip("`")
    scaler = _scaler_name(trace)
    arguments = name if " " not in name else "optimizer"
    return Finding(
        message=f"{code(trace, effect, 'the step')} uses gradients that are multiplied{by}:"
        " the scaler is passed by",
        cause=cause,
        cause_label="computes scaled gradients",
        effect=effect,
        effect_label="steps with them as they are",
        seen=tuple(_measured(trace, run, ids)),
        fix=f"call `{scaler}.step({arguments})` and `{scaler}.update()` in place of"
        f" {code(trace, effect, 'the step')} ({where(effect)})",
        count=count,
        edits=stepped_by(trace, cause, effect, scaler, arguments),
        subjects=parameter_subjects(ids),
    )


def _scaler_name(trace: Trace) -> str:
    """The user's name of the scaler, from the first call on it that shows one."""
    for event in trace.of(Scaler):
        name = owner(source(trace, event.site.user), event.call)
        if name:
            return name
    return "scaler"


def _measured(trace: Trace, run: _Run, ids: set[int]) -> Iterator[str]:
    first = min(ids)
    last = norm(trace, first)
    if run.scales.scale is not None and last is not None:
        name = trace.parameter(first).name
        yield (
            f"norm of the gradient of `{name}`: {last:.4g} with the scale {run.scales.scale:g},"
            f" {last / run.scales.scale:.4g} without"
        )


def _plain(
    trace: Trace, run: _Run, cause: Site, effect: Site, event: Step | Scaler, ids: set[int], count: int
) -> Finding:
    by = f" by {run.scales.scale:g}" if run.scales.scale is not None else ""
    root = code(trace, cause, "`backward()`").strip("`").removesuffix(".backward()")
    return Finding(
        message=f"{code(trace, effect, 'the step')} divides gradients{by} that were never multiplied",
        cause=cause,
        cause_label="the loss is not scaled here",
        effect=effect,
        effect_label="takes out a scale that is not there",
        seen=(f"no pass into these gradients started at a scaled loss; scale {run.scales.scale:g}",)
        if run.scales.scale is not None
        else (),
        fix=f"write `{_scaler_name(trace)}.scale({root}).backward()` ({where(cause)})",
        count=count,
        edits=scaled_by(trace, cause, effect, _scaler_name(trace)),
        subjects=parameter_subjects(ids),
    )


def _stopped(trace: Trace, told: bool) -> Iterator[Finding]:
    """Explains what the scaler itself stopped on."""
    last: dict[tuple[str, int | None], Scaler] = {}
    for _, event in in_order(trace):
        if not isinstance(event, Scaler) or event.call == "backward":
            continue
        call, text = event.call, event.error
        key = (call, event.optimizer)
        if "being called after step()" in text:
            yield _twice(trace, event, last.get(("step", key[1])) or event)
        elif "_scale is None" in text:
            yield _never_scaled(trace, event)
        elif "since the last update" in text:
            yield _twice(trace, event, last.get(key) or event)
        elif call == "update" and "No inf checks" in text and not told:
            yield _no_step(trace, event)
        last[key] = event


def _never_scaled(trace: Trace, event: Scaler) -> Finding:
    calling, scaler = code(trace, event.site.user, f"`{event.data['call']}`"), _scaler_name(trace)
    passes = trace.of(Backward)
    cause = passes[-1].site.user if passes else None
    loss = source(trace, cause).removesuffix(".backward()") or "loss"
    return Finding(
        message=f"{calling} has no scale to take out: `{scaler}.scale(loss)` was never called",
        cause=cause,
        cause_label="the loss is not scaled here",
        effect=event.site.user,
        effect_label="torch stops here",
        seen=(f"torch says: {event.data['error']}",),
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
        seen=(f"torch says: {event.data['error']}",),
        fix=f"call `{scaler}.step(optimizer)` before {calling} ({where(event.site)})",
        subjects=frozenset({("scaler", event.scaler)}),
    )


def _twice(trace: Trace, event: Scaler, before: Scaler) -> Finding:
    calling = code(trace, event.site.user, f"`{event.data['call']}`")
    scaler = _scaler_name(trace)
    number = event.optimizer
    stepped = before.site.user if before.call == "step" else None
    return Finding(
        message=f"{calling} is reached again without `{scaler}.update()` in between",
        cause=before.site.user,
        cause_label="called here, and no `update()` follows",
        effect=event.site.user,
        effect_label="called again: torch stops here",
        seen=(f"torch says: {event.data['error']}",),
        fix=f"call `{scaler}.update()` after {located(trace, stepped, f'`{scaler}.step(…)`')}, once per iteration"
        + (" and `unscale_` once before it" if event.call == "unscale_" else ""),
        edits=line_after(trace, stepped, f"{scaler}.update()"),
        subjects=frozenset({("optimizer", number)}),
    )
