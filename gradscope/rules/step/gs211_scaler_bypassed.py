"""A gradient scaler takes part in only half of a step: it scales and does not unscale, or the reverse.

Why: `scaler.scale(loss)` multiplies every gradient by the scale (65536 unless it is given);
`scaler.step(optimizer)` divides by it again and skips the step where a gradient is not finite;
`scaler.update()` makes the scaler ready for the next step. Each needs the other two.

Fix: `scaler.scale(loss).backward()`, then `scaler.step(optimizer)`, then `scaler.update()`.

Silent on: disabled scalers, gradients that `scaler.unscale_(optimizer)` has divided, steps of
optimizers whose gradients were never scaled.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.loop import norm
from gradscope.analysis.scales import MixedUp, Second, calls_before, mixed_up, second_steps
from gradscope.analysis.words import (
    code,
    located,
    optimizer_name,
    owner,
    parameter_names,
    parameter_subjects,
    plural,
    source,
    where,
)
from gradscope.events import Backward, Scaler
from gradscope.fixes.calls import scaled_by, stepped_by
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import beside, line_after, taken_away
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.source import LOOPS
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


@rule("GS211", name="scaler-bypassed", severity="error", needs=Scaler)
def scaler_bypassed(trace: Trace) -> Iterator[Finding]:
    found, again = mixed_up(trace), second_steps(trace)
    for second in again:
        scaled = [one for one in found if one.scaled and one.used == second.again]
        yield _again(trace, second, scaled[0] if scaled else None)
    for one in found:
        if not any(one.scaled and one.used == second.again for second in again):
            yield (_scaled if one.scaled else _plain)(trace, one)
    yield from _stopped(trace, bool(found))


def _again(trace: Trace, found: Second, scaled: MixedUp | None) -> Finding:
    """A step by the scaler, and one past it."""
    name, by_scaler = optimizer_name(trace, found.optimizer), located(trace, found.first, "the scaler's step")
    again = f"`{source(trace, found.again) or 'step()'}`"
    seen = [
        f"{plural(found.count, 'step')} with gradients that {by_scaler} had used, and nothing had cleared"
    ]
    return Finding(
        message=f"{name} steps twice: {again} steps again with what the scaler has stepped with already",
        cause=found.again,
        cause_label="the second step, past the scaler"
        + (": its gradients are still multiplied" if scaled is not None else ""),
        effect=found.first,
        effect_label="the scaler's step, with the same gradients",
        seen=(*seen, *(_measured(trace, scaled) if scaled is not None else ())),
        why="`scaler.step(optimizer)` calls the optimizer's `step()` itself, and leaves it out where a gradient"
        " is not finite; a second one moves the parameters once more, and does not leave it out",
        fix=f"take {again} ({where(found.again)}) out",
        count=found.count,
        edits=taken_away(trace, found.again),
        subjects=parameter_subjects(found.parameters),
    )


def _scaled(trace: Trace, found: MixedUp) -> Finding:
    cause, effect, ids, number = found.filled, found.used, found.parameters, found.optimizer
    by = f" by {found.scale:g}" if found.scale is not None else ""
    name = optimizer_name(trace, number).strip("`")
    scaler = _scaler_name(trace)
    arguments = name if " " not in name else "optimizer"
    stepping = code(trace, effect, "the step")
    updates = any(event.call == "update" for event in trace.of(Scaler))
    and_update = "" if updates else f" and `{scaler}.update()`"
    return Finding(
        message=f"{stepping} uses gradients that are still multiplied{by}: it does not go through the scaler",
        cause=cause,
        cause_label="computes scaled gradients",
        effect=effect,
        effect_label="steps with them as they are",
        seen=tuple(_measured(trace, found)),
        related=tuple(_refused(trace)),
        fix=f"call `{scaler}.step({arguments})`{and_update} in place of {stepping} ({where(effect)})",
        count=found.count,
        edits=stepped_by(trace, cause, effect, scaler, arguments),
        subjects=parameter_subjects(ids),
    )


def _refused(trace: Trace) -> Iterator[tuple[Site, str]]:
    """Where the scaler itself stopped, since no step went through it."""
    for event in trace.of(Scaler):
        if event.call == "update" and "No inf checks" in event.error:
            yield event.site.user, "torch stops here: no step has gone through the scaler"
            return


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
            left_out = _left_out(trace, event, same)
            yield (
                _not_in_this_round(trace, event, *left_out)
                if left_out
                else _twice(trace, event, same or event)
            )
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


def _left_out(trace: Trace, event: Scaler, before: Scaler | None) -> tuple[Scaler, ast.If] | None:
    """The call of `update()` that earlier rounds came to, and the `if` around it that the last one went by."""
    updates = [e for e in trace.of(Scaler) if e.call == "update" and e.scaler == event.scaler and not e.error]
    last = updates[-1] if updates else None
    if (
        last is None
        or before is None
        or sum(e.count for e in updates) < 2
        or not beside(trace, last.site.user, event.site.user)
    ):
        return None
    file = trace.source_file(last.site.user.path)
    own = file.statement(event.site.user)
    around = list(file.around(last.site.user))
    beyond = next((i for i, node in enumerate(around) if own in list(ast.walk(node))), None)
    branches = [node for node in around[:beyond] if isinstance(node, ast.If)]
    alone = not any(isinstance(node, LOOPS) for node in around[:beyond])
    return (last, branches[-1]) if beyond is not None and branches and alone else None


def _not_in_this_round(trace: Trace, event: Scaler, update: Scaler, branch: ast.If) -> Finding:
    """`update()` stands where not every round comes by."""
    site, scaler = update.site.user, _scaler_name(trace)
    calling, called = (
        code(trace, event.site.user, f"`{event.call}`"),
        code(trace, site, f"`{scaler}.update()`"),
    )
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    place = Site(-1, site.path, *here.file.span(branch), site.function, "user")
    ran = sum(e.count for e in trace.of(Scaler) if e.call == "update" and e.scaler == event.scaler)
    return Finding(
        message=f"{calling} is reached again without {called}: the round before left that out",
        cause=site,
        cause_label="not in every round: it stands in a branch",
        effect=event.site.user,
        effect_label="called again: torch stops here",
        seen=(
            f"torch says: {event.error}",
            f"{called} ran in {plural(ran, 'round')}, and not between the last two calls of {calling}",
        ),
        fix=f"call {called} in every round, also where no step is taken: move it out of the `if` ({where(place)})",
        edits=_out_of(here, statement, branch),
        subjects=frozenset({("optimizer", event.optimizer)}),
    )


def _out_of(here: Source, statement: ast.stmt | None, branch: ast.If) -> Edits:
    """A statement of one line behind the `if` in which it stands."""
    text = here.text_of(statement) if isinstance(statement, ast.Expr) else ""
    if statement is None or not text:
        return ()
    line, column, last, _ = here.file.span(branch)
    if statement.lineno != last:
        placed, removed = here.after(branch, text), here.remove(statement)
        return removed + placed if placed and removed else ()
    row = here.file.lines[last - 1]
    indent = here.file.lines[line - 1][: column - 1]
    if not row.strip().startswith(text) or len(here.file.siblings(statement)) == 1 or indent.strip():
        return ()
    return (Edit(here.path, last, 1, last, len(row) + 1, f"{indent}{row.strip()}"),)
