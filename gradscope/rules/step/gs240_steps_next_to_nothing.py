"""The steps hardly move the weights: the rate, or the limit that gradients are clipped to, is too small.

Why: a step moves a weight by its gradient times the learning rate. Where that is a millionth of the weight, thousands
of steps are needed before anything can be seen. `clip_grad_norm_` or `clip_grad_value_` with a limit far below the
size of the gradients does the same to a rate that is right.

Fix: a larger rate: `1e-3` for Adam, `1e-2` to `1e-1` for SGD; a limit near the usual norm of the gradients (1 to 10).

The same where the program limits or scales the gradients by hand: measured is their norm behind a pass and before a
step.

Measured: how far the weights are from where they began, and the losses. A note where the loss neither falls nor is
clipped: training may be at its end. Silent on: fewer than 80 steps, rates that a schedule has made small (GS217),
losses that fall, gradients that are zero.
"""

import ast
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import median

from gradscope.analysis.course import Course, course_of
from gradscope.analysis.words import (
    code,
    located,
    numbers,
    one_digit,
    optimizer_name,
    parameter_subjects,
    plural,
    user,
    where,
)
from gradscope.events import Clip, Moved, Rates, Scaler
from gradscope.fixes.calls import argument_as
from gradscope.fixes.settings import with_setting
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Optimizer, Site
from gradscope.rules import rule
from gradscope.rules.step._written_gradients import writes_into
from gradscope.source import own_name
from gradscope.store import Trace

ENOUGH = 80  # steps
HARDLY = 3e-3  # of what the weights were: they are no farther from there
SMALL = 1e-2  # norm of the gradients that a step finds, which is next to nothing
ABOVE = 100  # times the limit of a clip is the norm of the gradients


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-6)  # cause: GS240
    for _ in range(150):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()  # effect: GS240
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    for _ in range(150):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        opt.step()


@rule("GS240", name="steps-next-to-nothing", severity="warning", symptom=True, over=("GS784",), needs=Moved)
def steps_next_to_nothing(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Moved):
        optimizer = trace.optimizers.get(event.optimizer)
        share = _share(event)
        if optimizer is None or event.steps < ENOUGH or not 0 < share <= HARDLY:
            continue
        if any(e.optimizer == optimizer.id and e.moved for e in trace.of(Rates)):
            continue
        course, norm = course_of(trace, optimizer), _norm(trace, optimizer.parameters)
        clip = _clip(trace, optimizer, norm)
        if course is not None and norm and (clip is not None or course.stays):
            made_small = _made_small(trace, event) if clip is None else None
            if made_small is not None:
                yield _scaled(trace, event, optimizer, share, course, *made_small)
            elif clip is None and norm < _least(optimizer):
                yield _flat(event, optimizer, share, norm, course, optimizer_name(trace, optimizer.id))
            else:
                yield _finding(trace, event, optimizer, share, norm, course, clip)


def _share(event: Moved) -> float:
    """The farthest that any weight has come, by its size at the beginning."""
    rows = zip(event.begun, event.moved, strict=False)
    return max((moved / begun for begun, moved in rows if begun), default=0.0)


def _norm(trace: Trace, ids: Iterable[int]) -> float:
    """The usual norm of all their gradients, when a pass has left them."""
    rows = [[norm for _, norm in trace.numbers("grad_norm", id)] for id in ids]
    totals = [math.hypot(*norms) for norms in zip(*filter(None, rows), strict=False)]
    return median(totals) if totals else 0.0


def _clip(trace: Trace, optimizer: Optimizer, norm: float) -> Clip | None:
    """What clips all its gradients to a limit far below their norm."""
    held = set(optimizer.parameters)
    elements = sum(math.prod(trace.parameter(id).shape) for id in held)
    for clip in trace.of(Clip):
        most = (clip.limit or 0.0) * (math.sqrt(elements) if clip.call == "value" else 1.0)
        if clip.fresh & held and 0 < most * ABOVE < norm:
            return clip
    return None


def _least(optimizer: Optimizer) -> float:
    """What the optimizer adds to the root by which it divides each gradient: below it a gradient counts for less the
    smaller it is."""
    added = [eps for group in optimizer.groups if isinstance(eps := group.get("eps"), float)]
    return min(added, default=0.0)


def _stayed(event: Moved, share: float) -> str:
    steps = plural(event.steps, "step")
    return f"after {steps} no weight was farther than {share:.2g} of its size from where it began"


def _flat(
    event: Moved, optimizer: Optimizer, share: float, norm: float, course: Course, name: str
) -> Finding:
    """Gradients so small that no rate makes steps of them."""
    first, last = course.ends
    return Finding(
        message=f"the loss hardly depends on the weights: its gradients have a norm of {norm:.2g} all together",
        cause=course.line,
        cause_label="gives next to no gradient",
        effect=user(optimizer.site),
        effect_label="has nothing to step with",
        severity="note",
        seen=(
            _stayed(event, share),
            f"the loss went from {numbers(first)} to {numbers(last)}",
            f"{name} adds {_least(optimizer):g} to the root that it divides each gradient by, more than there is",
        ),
        fix=f"look for the part of the loss of {where(course.line)} that gives the same number whatever the weights"
        " are: what is clamped, cut off at 0 or 1, or cancels out; a larger rate changes nothing of that. Where the"
        " loss itself is as small as that, multiply it",
        count=event.steps,
        subjects=parameter_subjects(optimizer.parameters),
    )


def _made_small(trace: Trace, event: Moved) -> tuple[float, float] | None:
    """The norm of the gradients that a pass leaves and of those that a step finds, where something makes them next to
    nothing in between. What a `GradScaler` or an Adam divides by comes to the same."""
    optimizer = trace.optimizers[event.optimizer]
    if any("eps" in group for group in optimizer.groups) or any(True for _ in trace.of(Scaler)):
        return None
    left, used = _norm(trace, event.parameters), median(event.used) if event.used else 0.0
    return (left, used) if 0 < used * ABOVE < left and used < SMALL else None


def _scaled(
    trace: Trace,
    event: Moved,
    optimizer: Optimizer,
    share: float,
    course: Course,
    left: float,
    used: float,
) -> Finding:
    """Gradients that the program itself makes small between the pass and the step."""
    found = _finding(trace, event, optimizer, share, left, course, None)
    site = writes_into(trace, event.parameters)
    place = (
        f"in {located(trace, site)}"
        if site is not None
        else f"between the pass and the step of {where(course.line)}"
    )
    return replace(
        found,
        cause=site or found.cause,
        cause_label=f"makes gradients of a norm of {left:.3g} one of {used:.2g}"
        if site
        else found.cause_label,
        seen=(
            *found.seen,
            f"a pass left gradients of a norm of {left:.3g}, and the steps found one of {used:.2g}",
        ),
        fix=f"let the gradients keep their size {place}: a limit of their norm near {one_digit(max(1.0, left))}, or"
        f" none, in place of {used:.2g}",
        edits=(),
        severity="",
    )


def _finding(
    trace: Trace,
    event: Moved,
    optimizer: Optimizer,
    share: float,
    norm: float,
    course: Course,
    clip: Clip | None,
) -> Finding:
    made = user(optimizer.site)
    first, last = course.ends
    name = optimizer_name(trace, optimizer.id)
    seen = [
        _stayed(event, share),
        f"the loss went from {numbers(first)} to {numbers(last)}; the norm of the gradients was {numbers(norm)}",
    ]
    cause, label = made, "its steps are too short"
    if clip is not None:
        each = clip.call == "value"
        cause, label = clip.site.user, f"makes gradients of a norm of {norm:.3g} one of {clip.limit:g}"
        if each:
            label = f"cuts each element of gradients of a norm of {norm:.3g} at {clip.limit:g}"
        limit = "1.0" if (clip.limit or 0) < 1 else one_digit(norm)
        fix = f"a limit near the usual norm of the gradients in {located(trace, cause)}: {limit} in place of"
        fix += f" {clip.limit:g}"
        edits = argument_as(trace, cause, "clip_value" if each else "max_norm", 1, limit)
    else:
        fix, edits = _faster(trace, optimizer, made, share)
    return Finding(
        message=f"the steps of {name} hardly move anything, though the gradients are not zero",
        cause=cause,
        cause_label=label,
        effect=course.line,
        effect_label="gives gradients that move nothing",
        severity="" if clip is not None or course.creeps else "note",
        seen=tuple(seen),
        fix=fix,
        edits=edits,
        count=event.steps,
        subjects=parameter_subjects(optimizer.parameters),
    )


def _faster(trace: Trace, optimizer: Optimizer, made: Site | None, share: float) -> tuple[str, Edits]:
    rate = optimizer.rate
    if rate is None or not rate > 0:
        return f"a larger learning rate ({where(made)})", ()
    most = 1e-3 if any("eps" in group for group in optimizer.groups) else 1e-2
    if made is not None and (other := _another_setting(trace, optimizer, made)) is not None:
        here, name = Source(trace, made.path), own_name(other)
        given = f"lr={most:g}, {name}={here.file.text(other)}"
        return (
            f"the second argument of {located(trace, made)} is the rate, and it is given `{name}`, {rate:g}: `{given}`",
            here.replace(other, given),
        )
    larger = min(most, rate * 10.0 ** math.ceil(-math.log10(share) - 1)) if rate < most else rate * 10
    text = one_digit(larger)
    return (
        f"a larger rate in {code(trace, made, 'the optimizer')} ({where(made)}): {text} in place of {rate:g}",
        with_setting(trace, made, "lr", text, 1),
    )


def _another_setting(trace: Trace, optimizer: Optimizer, made: Site) -> ast.expr | None:
    """What the optimizer is given in the place of its rate, where that goes by the name of another of its settings."""
    call = trace.source_file(made.path).at(made)
    given = call.args[1] if isinstance(call, ast.Call) and len(call.args) == 2 else None
    names = {name for group in optimizer.groups for name in group} - {"lr"}
    return given if given is not None and own_name(given) in names else None
