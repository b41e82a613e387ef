"""The inputs are far larger than the layers are made for, and the model learns nothing.

Why: layers are initialised for inputs of about 1, and so are the usual rates. Pixels up to 255, prices in thousands or
years make the first layer's sums as large, and the gradients of its weights: a sigmoid, `tanh` or a gate behind it is
flat for nearly all, and the first steps throw a ReLU so far that it never comes back. What is left is one answer.

Fix: bring the inputs to about 1, for training and evaluation alike: `(x - mean) / std` with the numbers of the training
data.

Measured: the inputs of the first layer at its first call, and the loss beside that of the best constant answer, over at
least 100 passes; or that a sigmoid or `tanh` behind that layer is flat for most of its numbers, in the first pass and
still in a late one. Silent on other layers where the loss came below that, and where both the mean and the deviation of
the inputs are below 10: layers bear a few times the usual scale, and data that are mostly noise teach nothing at any.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.constant_answers import NoBetter, no_better
from gradscope.analysis.course import courses
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, holds, located, parameter_subjects, percent, plural, where
from gradscope.events import ModuleCall, RawInput, Squashed
from gradscope.fixes.calls import argument_as
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

APART = 10  # times: of the deviations of two columns, or of all numbers and of one column
LARGE = 10.0  # inputs
MOSTLY = 0.6  # of what a sigmoid is given lies where it is flat
FALLEN = 0.75  # of the first losses: the layer learns
LOOKS = 5  # at it, the last of them not in the first steps
SPREAD = 10.0  # of the mean or the deviation: a few large numbers among small ones are no other scale

GIVEN = ("input", "target")  # to a loss


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    images = torch.randint(0, 256, (512, 1, 8, 8)).float()
    images[:, 0, :4] *= torch.rand(512, 1, 1)
    labels = (images[:, 0, :4].mean((1, 2)) > 64).long()
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(200):
        batch = torch.randint(512, (64,))
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])  # cause: GS785
        opt.zero_grad()
        loss.backward()  # effect: GS785
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    images = torch.randint(0, 256, (512, 1, 8, 8)).float()
    images[:, 0, :4] *= torch.rand(512, 1, 1)
    labels = (images[:, 0, :4].mean((1, 2)) > 64).long()
    images = (images - images.mean()) / images.std()
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(200):
        batch = torch.randint(512, (64,))
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS785", name="inputs-out-of-scale", severity="warning", over=("GS784", "GS720", "GS705"), symptom=True)
def inputs_out_of_scale(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    large = [event for event in trace.of(RawInput) if event.trains and _is_large(event)]
    told: set[int] = set()
    for found in no_better(trace):
        for event in large:
            op = _layer(known, found.op, event)
            if op is not None and found.parameters & {
                p.id for v in op.inputs if (p := known.parameter_of((op.graph, v))) is not None
            }:
                told.add(event.site.id)
                yield _finding(trace, found, event, op)
                break
    for event in large:
        flat = _flat_behind(known, event) if event.site.id not in told else None
        if flat is not None:
            yield _flattened(trace, event, *flat)


def _is_large(event: RawInput) -> bool:
    """Whether more than a few of the numbers are far from 1."""
    return max(-event.low, event.high) >= LARGE and max(abs(event.mean), event.std) >= SPREAD


def _flat_behind(known: Paths, event: RawInput) -> tuple[Op, Op, Squashed] | None:
    """The measured call and the sigmoid, or `tanh`, that reads it, where that is flat for most of it, from first to
    last."""
    measured = {one.site.id: one for one in known.trace.of(Squashed)}
    for _, op in known.used_calls({"sigmoid", "tanh"}):
        layer = known.maker((op.graph, op.inputs[0])) if op.inputs else None
        share = measured.get(op.site.id)
        if layer is None or share is None or (layer.site.id, layer.name) != (event.site.id, event.name):
            continue
        if share.calls >= LOOKS and min(share.first or 0, share.last or 0) >= MOSTLY:
            return None if _learns(known, event) else (layer, op, share)
    return None


def _learns(known: Paths, event: RawInput) -> bool:
    """Whether the losses that the layer is trained by came down, all the same; too few of them say nothing."""
    lines = {one.site.user.location() for one in known.backwards if event.parameter in one.filled}
    ends = [one.ends for one in courses(known.trace) if one.line.location() in lines]
    return not ends or any(last < FALLEN * first for first, last in ends)


def _evaluated_elsewhere(trace: Trace, event: RawInput, calls: list[Site]) -> bool:
    """Whether the layer was given such numbers without gradients, too, by a way that none of these calls begins."""
    spans = {call.span() for call in calls}
    others = [one for one in trace.of(RawInput) if one.parameter == event.parameter and not one.trains]
    return any(not spans & {frame.span() for frame in one.site.stack} for one in others)


def _flattened(trace: Trace, event: RawInput, layer: Op, squash: Op, share: Squashed) -> Finding:
    calls = _calls_given(trace, layer)
    cause = calls[0] if calls else layer.site.user
    form = _form(trace, event, layer, cause)
    first, last = percent(share.first or 0), percent(share.last or 0)
    return Finding(
        message=f"the inputs lie between {event.low:.4g} and {event.high:.4g}, where layers are made for about 1:"
        f" {code(trace, squash.site.user, f'`{squash.name}`')} is flat for {last} of what it is given",
        cause=cause,
        cause_label=f"is given numbers from {event.low:.4g} to {event.high:.4g}",
        effect=squash.site.user,
        effect_label="lets hardly any gradient back to the layer before it",
        related=_named(trace, cause),
        seen=(
            f"what `{layer.name}` is given at first: {event.low:.4g} to {event.high:.4g}, on the average"
            f" {event.mean:.4g}, with a deviation of {event.std:.4g}",
            f"`{squash.name}` has a derivative below a thousandth for {first} of its numbers in the first pass, for"
            f" {last} in the last that was looked at",
        ),
        fix=f"bring them to about 1, for training and evaluation alike: `{form.format('x')}` for what"
        f" {located(trace, cause)} is given",
        edits=()
        if _evaluated_elsewhere(trace, event, calls)
        else tuple(e for site in calls for e in argument_as(trace, site, "input", 0, form)),
        subjects=frozenset({("input", *layer.site.user.location())}),
    )


def _layer(known: Paths, loss: Op, event: RawInput) -> Op | None:
    """The call that was measured, in the graph of a loss."""
    ops = known.graph(loss.graph).ops
    return next((op for op in ops if op.site.id == event.site.id and op.name == event.name), None)


def _calls_given(trace: Trace, layer: Op) -> list[Site]:
    """The program's calls of the model that hands the one tensor it is given on to the layer, first the one that was
    looked at."""
    root = trace.modules[layer.module].root if layer.module is not None else None
    calls = [call for call in trace.of(ModuleCall) if call.site.user.kind == "user" and len(call.inputs) == 1]
    around = (c for c in calls if c.graph == layer.graph and c.module == root and c.position >= layer.index)
    ours = next(around, None)
    first = [ours.site.user] if ours is not None else []
    alike = (c.site.user for c in calls if ours is not None and c.called == ours.called)
    return list({site.span(): site for site in (*first, *alike)}.values())


def _finding(trace: Trace, found: NoBetter, event: RawInput, layer: Op) -> Finding:
    calls = _calls_given(trace, layer)
    cause = calls[0] if calls else layer.site.user
    form = _form(trace, event, layer, cause)
    targets = found.event.spread if found.event.name == "mse_loss" and found.event.spread >= LARGE else None
    edits: Edits = tuple(e for site in calls for e in argument_as(trace, site, "input", 0, form))
    if targets is not None:
        edits = _targets_too(trace, calls, form, found.op, targets)
    apart = f", and the targets with a deviation of {targets:.4g}" if targets is not None else ""
    return Finding(
        message=f"the inputs lie between {event.low:.4g} and {event.high:.4g}{apart}, where layers are made for"
        f" about 1: the loss is {found.no_lower} after {plural(found.passes, 'pass')} than for a constant answer",
        cause=cause,
        cause_label=f"is given numbers from {event.low:.4g} to {event.high:.4g}",
        effect=found.line,
        effect_label="learns nothing of the inputs",
        related=_named(trace, cause),
        seen=(
            f"what `{layer.name}` is given at first: {event.low:.4g} to {event.high:.4g}, on the average"
            f" {event.mean:.4g}, with a deviation of {event.std:.4g}",
            f"the loss over the last half of the run is {found.loss:.4g}; one and the same answer to every sample has"
            f" {found.event.best:.4g}",
        ),
        fix=f"bring them to about 1, for training and evaluation alike: `{form.format('x')}` for what"
        f" {located(trace, cause)} is given"
        + (
            f"; and the targets by their deviation: `* {targets:.4g}` behind what the model gives, `/ {targets:.4g}`"
            f" for both that the loss is given ({where(found.op.site.user)})"
            if targets is not None
            else ""
        ),
        edits=edits,
        subjects=parameter_subjects(found.parameters),
    )


def _named(trace: Trace, call: Site) -> tuple[tuple[Site, str], ...]:
    """The one line that gives the inputs the name by which the call has them."""
    file = trace.source_file(call.path)
    node = file.at(call)
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    values = file.assigned.get(given.id, []) if isinstance(given, ast.Name) else []
    if len(values) != 1 or not isinstance(given, ast.Name):
        return ()
    return ((site_of(call.path, call.function, values[0]), f"`{given.id}` has its numbers from here"),)


def _form(trace: Trace, event: RawInput, layer: Op, cause: Site) -> str:
    """With "{}" for what is given: column by column where these lie far apart, since the smallest would vanish beside
    the largest, and what one differs by beside what lies between them."""
    spread = [deviation for deviation in event.deviations if deviation > 0]
    if (
        not spread
        or max(*spread, event.std) < APART * min(spread)
        or "torch" not in trace.source_file(cause.path).imported
        or _last_axis(trace, layer, cause) != len(event.deviations)
    ):
        return f"({{}} - {event.mean:.4g}) / {event.std:.4g}"
    means, deviations = (
        ", ".join(f"{number:.4g}" for number in numbers)
        for numbers in (event.means, [deviation or 1.0 for deviation in event.deviations])
    )
    return f"({{}} - torch.tensor([{means}])) / torch.tensor([{deviations}])"


def _last_axis(trace: Trace, layer: Op, cause: Site) -> int:
    """Of what the line that is to be changed hands to the layer, or to the model around it."""
    calls = (c for c in trace.of(ModuleCall) if c.graph == layer.graph and len(c.inputs) == 1)
    given = next((c.inputs[0] for c in calls if c.site.user.span() == cause.span()), layer.inputs[0])
    shape = paths(trace).graph(layer.graph).values[given].shape
    return shape[-1] if shape else 0


def _targets_too(trace: Trace, calls: list[Site], form: str, loss: Op, deviation: float) -> Edits:
    """What the model gives, times the deviation of the targets, and the loss of both divided by it again: all that
    uses the predictions has them as the targets are."""
    made = loss.site.user
    parts = [
        argument_as(trace, made, name, place, f"{{}} / {deviation:.4g}") for place, name in enumerate(GIVEN)
    ]
    for site in calls:
        here = Source(trace, site.path)
        node = here.file.at(site)
        given = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else None
        if not isinstance(node, ast.Call) or given is None or holds(made, site):
            return ()
        text = here.text_with(node, given, form.format(here.part(given)))
        parts.append(here.replace(node, f"{text} * {deviation:.4g}"))
    return tuple(edit for part in parts for edit in part) if all(parts) else ()
