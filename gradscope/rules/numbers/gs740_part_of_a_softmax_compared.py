"""`kl_div` compares parts of two softmaxes: what it is given are no distributions.

Why: a softmax makes all classes sum to one. Of a part of them, cut out after it, the rest is missing: the sum is below
one and another one in each row. The divergence of such parts can be below zero, and it is lowest not where both agree,
but where the model gives the whole of its probability to the part: every step pushes the other classes down.

Fix: take the part of the scores, before the softmax.

Measured: what the target's rows sum to. Silent on: targets that sum to one (a part of the model's own classes may be
all that a target has); parts that make up the whole together; slices along another axis; a target whose missing part
is below 5 %; `topk` and `gather`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from gradscope.analysis.ops import PASSING, SOFTMAXES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import losses, measured_targets, shape_of
from gradscope.store import Trace

CUTTING = {"__getitem__", "narrow", "index_select"}
MISSING = 0.05  # of a target's sum


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Linear(4, 6), nn.Linear(4, 6)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        with torch.no_grad():
            given = torch.softmax(teacher(x), dim=1)[:, :3]  # effect: GS740
        logs = torch.log_softmax(student(x), dim=1)[:, :3]  # cause: GS740
        loss = nn.functional.kl_div(logs, given, reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Linear(4, 6), nn.Linear(4, 6)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        with torch.no_grad():
            given = torch.softmax(teacher(x)[:, :3], dim=1)
        logs = torch.log_softmax(student(x)[:, :3], dim=1)
        loss = nn.functional.kl_div(logs, given, reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()


class Part(NamedTuple):
    """A part of the places along which a softmax sums to one."""

    softmax: Op
    cut: Op
    of: int  # how many places the softmax has
    taken: int


@rule("GS740", name="part-of-a-softmax-compared", severity="warning")
def part_of_a_softmax_compared(trace: Trace) -> Iterator[Finding]:
    if "kl_div" not in trace.op_names:
        return
    known, measured = paths(trace), measured_targets(trace)
    told: set[tuple[str, int]] = set()
    for key, loss in losses(known, {"kl_div"}):
        event = measured.get((loss.site.user.span(), "kl_div"))
        if event is None or event.total is None or len(loss.inputs) < 2:
            continue
        target = (loss.graph, loss.inputs[1])
        own, given = _part(known, key), _part(known, target)
        if own is None or given is None or own.taken != given.taken or _others(known, own):
            continue
        rows = prod(shape_of(known, target)) / given.taken
        mean = event.total / rows
        if mean < 1 - MISSING and own.cut.site.user.location() not in told:
            told.add(own.cut.site.user.location())
            yield _finding(trace, own, given, loss, mean)


def _part(known: Paths, key: Key) -> Part | None:
    """What was cut out of a softmax, perhaps reshaped or cast since then; None where it is whole, or unknown."""
    cut: Op | None = None
    seen = {key}
    while True:
        sources, op = known.sources(key)
        if op is not None and op.name in SOFTMAXES:
            dims, shape = op.extra.get("dims", []), shape_of(known, key)
            if cut is None or len(dims) != 1 or not -len(shape) <= dims[0] < len(shape):
                return None
            before, after = shape, shape_of(known, (cut.graph, cut.outputs[0]))
            at = dims[0] % len(shape)
            alike = len(before) == len(after) and all(
                a == b for i, (a, b) in enumerate(zip(before, after, strict=True)) if i != at
            )
            return Part(op, cut, before[at], after[at]) if alike and 0 < after[at] < before[at] else None
        if op is not None and op.name in CUTTING and shape_of(known, sources[0]) != shape_of(known, key):
            if cut is not None:
                return None
            cut = op
        elif op is not None and (op.name not in PASSING | {"log", "exp"} or cut is not None):
            return None
        if not sources or sources[0] in seen:
            return None
        key = sources[0]
        seen.add(key)


def _others(known: Paths, part: Part) -> bool:
    """Whether other places of the same softmax are taken as well."""
    readers = known.graph(part.softmax.graph).consumers.get(part.softmax.outputs[0], [])
    return any(op.name in CUTTING and op.site.user.span() != part.cut.site.user.span() for op in readers)


def _finding(trace: Trace, own: Part, given: Part, loss: Op, mean: float) -> Finding:
    sides = list(dict.fromkeys((own.cut.site.user, given.cut.site.user)))
    edits = [_sooner(trace, site) for site in sides]
    texts = [text for text, _ in edits]
    return Finding(
        message=f"`kl_div` is given {own.taken} of {own.of} classes, cut out after their softmax: no distribution",
        cause=own.cut.site.user,
        cause_label=f"takes {own.taken} of {own.of} places that sum to one together",
        effect=given.cut.site.user,
        effect_label="the same of its target",
        related=((loss.site.user, "compares them"),),
        seen=(
            f"the rows of the target sum to {mean:.3g} on the average, not to 1",
            f"of the {given.of} places that {code(trace, given.softmax.site.user, 'the softmax')} made sum to one,"
            f" {given.taken} were taken",
        ),
        fix="take the part before the softmax: "
        + (
            "; ".join(f"`{text}`" for text in texts)
            if all(texts)
            else f"of the scores that go into {' and '.join(located(trace, s) for s in sides)}"
        ),
        edits=tuple(edit for _, own_edits in edits for edit in own_edits) if all(texts) else (),
    )


def _sooner(trace: Trace, site: Site) -> tuple[str, Edits]:
    """`torch.softmax(x[:, part], dim=1)` for `torch.softmax(x, dim=1)[:, part]` at `site`."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    call = node.value if isinstance(node, ast.Subscript) else None
    if (
        not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Attribute)
        or not isinstance(node, ast.Subscript)
    ):
        return "", ()
    part = here.file.text(node).removeprefix(here.file.text(call))
    of_torch = here.file.is_imported(call.func)
    given = call.args[0] if of_torch and call.args else call.func.value
    if call.func.attr not in SOFTMAXES or isinstance(given, ast.Starred) or (of_torch and not call.args):
        return "", ()
    text = here.file.text(given)
    before = f"{here.file.text(call.func)}(" if of_torch else ""
    rest = here.file.text(call).removeprefix(before)
    new = before + rest.replace(text, f"{here.file.operand(given)}{part}", 1)
    return " ".join(new.split()), here.replace(node, new)
