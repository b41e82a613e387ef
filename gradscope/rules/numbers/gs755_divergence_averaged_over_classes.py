"""`kl_div` divides by the classes too: beside other terms of a loss it counts for next to nothing.

Why: a Kullback-Leibler divergence is a sum over the classes. `reduction="mean"`, the default, is the mean over all
elements, so that the divergence of each sample is divided by how many classes there are, and so is its weight against
the other terms of the loss.

Fix: `reduction="batchmean"`, which divides by the samples alone. The term becomes as many times larger as there are
classes: a weight that was set for the mean has to be set anew.

A note where it is the whole loss, of which only the length of the steps changes, where there are few classes, where
the text scales it by a size, or where it is multiplied by a number at least as large as what it is divided by.

Silent on: targets that are no probabilities, and other reductions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import isclose, prod

from gradscope.analysis.intent import milder, says_scaled_by_size
from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import SCALES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.terms import terms
from gradscope.analysis.words import located, plural
from gradscope.events import Factor, Targets
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import losses, measured_targets
from gradscope.store import Trace

DIVERGENCE = {"kl_div"}
MANY = 10  # classes: a weight of the term is hardly off by more without it being seen


def bad() -> None:
    import torch
    from torch import nn

    student, teacher = nn.Linear(4, 20), nn.Linear(4, 20)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randint(20, (8,))
        soft = torch.softmax(teacher(x).detach(), dim=1)
        scores = student(x)
        divergence = nn.functional.kl_div(scores.log_softmax(1), soft)  # cause: GS755
        loss = 0.5 * divergence + 0.5 * nn.functional.cross_entropy(scores, y)
        opt.zero_grad()
        loss.backward()  # effect: GS755
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    student, teacher = nn.Linear(4, 20), nn.Linear(4, 20)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randint(20, (8,))
        soft = torch.softmax(teacher(x).detach(), dim=1)
        scores = student(x)
        divergence = nn.functional.kl_div(scores.log_softmax(1), soft, reduction="batchmean")
        loss = 0.5 * divergence + 0.5 * nn.functional.cross_entropy(scores, y)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS755", name="divergence-averaged-over-classes", severity="warning")
def divergence_averaged_over_classes(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    measured = measured_targets(trace)
    told: set[tuple[str, int]] = set()
    for key, op in losses(known, DIVERGENCE):
        event = measured.get((op.site.user.span(), op.name))
        if event is None or op.site.user.location() in told or op.extra.get("reduction") != "mean":
            continue
        shape = known.value(key).shape
        samples = _samples(event, shape)
        if samples:
            told.add(op.site.user.location())
            yield _finding(trace, known, op, shape, samples)


def _samples(event: Targets, shape: tuple[int, ...]) -> int:
    """How many distributions the target holds: what its probabilities add up to. 0 where it holds none."""
    total = event.total
    samples = round(total) if total is not None else 0
    if total is None or samples < 1 or not isclose(total, samples, rel_tol=1e-3):
        return 0
    classes = prod(shape) / samples
    return samples if classes > 1 and classes in shape else 0


def _finding(trace: Trace, known: Paths, op: Op, shape: tuple[int, ...], samples: int) -> Finding:
    own: Key = (op.graph, op.outputs[0])
    event = known.loss_of(own)
    parts = terms(known, (event.graph, event.roots[0])) if event is not None and event.roots else []
    classes = prod(shape) // samples
    site = op.site.user
    made = _made(trace, op)
    scaled = _scaled(known, own)
    weight = _weight(trace, scaled)
    counted = weight is not None and weight >= classes  # it may have been set for the mean
    finding = Finding(
        message=f"`kl_div` divides by the {classes} classes too: it is {classes} times smaller than the divergence of"
        " a sample",
        cause=site,
        cause_label=f"is the mean over all {prod(shape)} elements",
        effect=event.site.user if event is not None and event.site.user != site else None,
        effect_label=f"adds it to {plural(len(parts) - 1, 'other term')}"
        if len(parts) > 1
        else "begins there",
        seen=(
            f"its target of shape {shape} held {plural(samples, 'distribution')}: its probabilities add up to"
            f" {samples}, and `reduction='mean'` divides by {prod(shape)}",
            *((f"it is multiplied by {weight:g} before it is added",) if weight is not None else ()),
        ),
        severity="" if len(parts) > 1 and classes >= MANY and not counted else "note",
        fix=_fix(located(trace, made or site), classes, shape[0], samples, weight, alone=len(parts) < 2),
        edits=_with_reduction(trace, site, made) if shape[0] == samples and not counted else (),
    )
    return milder(finding, says_scaled_by_size(trace, scaled))


def _fix(call: str, classes: int, first: int, samples: int, weight: float | None, *, alone: bool) -> str:
    """What to write, and by how much that changes the term."""
    if first == samples:
        said = f'give `reduction="batchmean"` to {call}'
    else:
        said = f'give `reduction="sum"` to {call} and divide by the {samples} distributions'
    said += f": the {'loss' if alone else 'term'} becomes {classes} times as large"
    if weight is not None:
        return f"{said}. Set its weight anew, which is {weight:g}: with {weight / classes:.3g} the loss is as before"
    return (
        f"{said}, so set the rate anew" if alone else f"{said}, so set anew what weighs it against the others"
    )


def _weight(trace: Trace, scaled: list[Site]) -> float | None:
    """The numbers that these lines multiply it by; None where not all are known."""
    numbers = {event.site.user.span(): event.number for event in trace.of(Factor)}
    if not scaled or any(site.span() not in numbers for site in scaled):
        return None
    return prod(numbers[site.span()] for site in scaled)


def _scaled(known: Paths, key: Key) -> list[Site]:
    """Where it is multiplied or divided by plain numbers, before anything is added to it."""
    found: list[Site] = []
    while len(readers := known.used.feeds.get(key, [])) == 1:
        key, op = readers[0]
        if op is None or op.name not in SCALES or len(op.inputs) != 1:
            break
        found.append(op.site.user)
    return found


def _made(trace: Trace, op: Op) -> Site | None:
    """Where the `nn.KLDivLoss` was made that it is the call of."""
    node = trace.source_file(op.site.user.path).at(op.site.user)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Call):
        return None
    return layer_site(trace, op, alone=True)


def _with_reduction(trace: Trace, site: Site, made: Site | None) -> Edits:
    node = trace.source_file(site.path).at(site)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and not node.func.args:
        text = "reduction='batchmean'" if not node.func.keywords else ""
        return (
            Source(trace, site.path).replace(node.func, f"{ast.unparse(node.func.func)}({text})")
            if text
            else ()
        )
    if made is not None:
        return with_argument(trace, made, "reduction", '"batchmean"')
    plain = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("kl_div")
    return with_argument(trace, site, "reduction", '"batchmean"') if plain else ()
