"""`.grad` was read on a tensor that does not keep one: it is always None.

Why: backward puts gradients into leaves only (parameters, tensors made with
`requires_grad=True`). A tensor that was computed passes its gradient on and forgets it,
and so does one that `.to()`, `* scale` or `.view()` made of a leaf.

Fix: call `retain_grad()` on it before `backward()`, or make the tensor that should be
trained a leaf: `torch.randn(3, device=device, requires_grad=True)`.

Silent on: leaves; tensors with `retain_grad()`; reads before any backward pass; a question before the gradient is
cleared.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import names_of
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.since import since_segment
from gradscope.analysis.words import code, located, owner, plural, source
from gradscope.events import GradRead
from gradscope.fixes.statements import beside, line_after
from gradscope.model import Edit, Event, Finding, Site
from gradscope.rules import rule
from gradscope.source import method_name
from gradscope.store import Trace


def bad_intermediate() -> None:
    import torch

    x = torch.ones(3, requires_grad=True)
    y = torch.sigmoid(x)  # cause: GS307
    (y * y).sum().backward()
    repr(y.grad)  # effect: GS307


def good_retain_grad() -> None:
    import torch

    x = torch.ones(3, requires_grad=True)
    y = torch.sigmoid(x)
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad is not None and x.grad is not None


@rule("GS307", name="non-leaf-grad-read", severity="warning", needs=GradRead)
def non_leaf_grad_read(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event in trace.of(GradRead):
        if event.is_leaf or event.retains_grad or not event.was_none:
            continue
        if event.graph < 0 or event.site.user.kind != "user" or _asks_before_clearing(trace, event.site.user):
            continue
        key = (event.graph, event.value)
        if _passed(known, key, event):
            yield _finding(trace, known, key, event)


def _asks_before_clearing(trace: Trace, read: Site) -> bool:
    """`if p.grad is not None: p.grad.zero_()`: None is as good an answer as a gradient."""
    file = trace.source_file(read.path)
    node = file.at(read)
    above = next((one for one in file.above(node) if isinstance(one, ast.If)), None) if node else None
    if node is None or above is None or node not in ast.walk(above.test):
        return False
    asked = isinstance(test := file.parent.get(id(node)), ast.Compare) and isinstance(test.ops[0], ast.IsNot)
    done = [one for statement in above.body for one in ast.walk(statement)]
    return asked and any(
        method_name(one) in ("zero_", "detach_")
        or (isinstance(one, ast.Assign) and ast.unparse(one.value) == "None")
        for one in done
    )


def _finding(trace: Trace, known: Paths, key: Key, event: Event) -> Finding:
    value = known.value(key)
    made = value.site.user if value.site is not None else None
    name = owner(source(trace, event.site.user), "grad")
    subject = f"`{name}`" if name else "this tensor"
    return Finding(
        message=f"`.grad` of {subject} is None: it is not a leaf, so backward does not keep its gradient",
        cause=made or event.site.user,
        cause_label="computed here: no leaf",
        effect=event.site.user,
        effect_label="read here: None",
        why=f"{subject} was computed ({code(trace, made, 'by an operation')}); only leaves keep their gradient",
        fix=f"call {f'`{name}.retain_grad()`' if name else '`retain_grad()`'} before `backward()`, after"
        f" {located(trace, made, 'it is made')}",
        seen=(
            f"`.grad` of {subject} was None in {plural(event.count, 'read')}, after a pass that went through it",
        ),
        count=event.count,
        edits=_retained(trace, made, event.site.user, name),
        subjects=frozenset({("value", *key)}),
        since=since_segment(trace, event.segment),
    )


def _retained(trace: Trace, made: Site | None, read: Site, name: str) -> tuple[Edit, ...]:
    """`y.retain_grad()` after the line that gives `y` its value."""
    if made is None or not beside(trace, made, read) or names_of(trace).assigned(made) != name:
        return ()
    return line_after(trace, made, f"{name}.retain_grad()")


def _passed(known: Paths, key: Key, event: Event) -> bool:
    """Whether a backward pass before this read went through the value."""
    seen = {key}
    graph = known.graph(key[0])
    if key[1] >= len(graph.values):
        return False
    origin = graph.values[key[1]].origin
    if origin is not None:
        seen.add(origin)
    for earlier in known.backwards:
        if (earlier.segment, earlier.position) > (
            event.segment,
            event.position,
        ) and earlier.segment >= event.segment:
            continue
        roots = [(earlier.graph, root) for root in earlier.roots]
        if seen & known.flow(roots).order.keys():
            return True
    return False
