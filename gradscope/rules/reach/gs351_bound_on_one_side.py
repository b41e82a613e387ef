"""A loss is bounded for large errors of one sign only: the sign was kept where the size was to be compared.

Why: a Huber or smooth L1 loss is a square for small errors and linear for large ones, whichever sign they have. With
`x < 1` in place of `x.abs() < 1` each negative error counts as small: outliers of that sign are squared, and rule the
loss. With `x > 1` in a mask for the large ones those below -1 are in no part: they get no gradient at all.

Fix: `x.abs() < 1`, or `nn.functional.huber_loss` and `smooth_l1_loss`, which do that.

Measured: the gradients of the elements that were compared, in one pass: for all beyond the number one constant, and for
those as far on the other side of 0 one that grows with them; or zero for the latter, where it is not for smaller ones.
Silent on: comparisons with 0, activations, and losses that treat both signs apart without a bound.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import JOINING, PASSING, SUBTRACTIONS
from gradscope.analysis.reach import paths
from gradscope.analysis.words import located, plural
from gradscope.events import BoundedErrors
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(64, 4)
        error = model(x) - 4 * torch.randn(64, 2)
        small = (error < 1).float()  # cause: GS351
        loss = (small * error**2 / 2 + (1 - small) * (error.abs() - 0.5)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(64, 4)
        error = model(x) - 4 * torch.randn(64, 2)
        small = (error.abs() < 1).float()
        loss = (small * error**2 / 2 + (1 - small) * (error.abs() - 0.5)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS351", name="bound-on-one-side", severity="warning", needs=BoundedErrors)
def bound_on_one_side(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(BoundedErrors):
        if not _is_an_error(trace, event):
            continue
        here = Source(trace, event.site.user.path)
        name, instead, edits = _sized(here, here.file.at(event.site.user))
        low, high = ("above", "below") if event.bound > 0 else ("below", "above")
        number, other = f"{event.bound:.4g}", f"{-event.bound:.4g}"
        if event.grows:
            told = f"those {high} {other} are squared, up to {event.largest:.4g} in size"
            seen = (
                f"in one pass the gradient of the {plural(event.beyond, 'error')} {low} {number} is one constant, and"
                f" of the {event.across} {high} {other} it is in proportion to them, up to"
                f" {event.most / event.even:.3g} times that"
            )
        else:
            told = f"those {high} {other} get no gradient at all"
            seen = (
                f"in one pass the gradient of all {plural(event.across, 'error')} {high} {other} is zero, up to the"
                f" largest of {event.largest:.4g} in size; nearer to 0 it is not"
            )
        yield Finding(
            message=f"the errors are compared with their sign: those {low} {number} count as large, and {told}",
            cause=event.site.user,
            cause_label=f"compares {name} itself, not its size",
            seen=(seen,),
            fix=f"write {instead} in {located(trace, event.site.user, 'the comparison')}",
            edits=edits,
            subjects=frozenset({("bound", *event.site.user.location())}),
        )


def _is_an_error(trace: Trace, event: BoundedErrors) -> bool:
    """Whether what was compared is a difference from something of the same form that has no gradient."""
    known = paths(trace)
    op = next((op for op in trace.called_at(event.site.id, {event.name}) if op.inputs), None)
    made = known.maker_behind((op.graph, op.inputs[0]), PASSING - JOINING) if op is not None else None
    if made is None or made.name not in SUBTRACTIONS or len(made.inputs) != 2:
        return False
    one, other = (known.value((made.graph, index)) for index in made.inputs)
    return one.shape == other.shape and one.requires_grad != other.requires_grad


def _sized(here: Source, node: ast.AST | None) -> tuple[str, str, Edits]:
    """The compared value as it is written, the same with its size, and the edit."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return "the error", "the absolute value of the error", ()
    name = here.text_of(node.left)
    if isinstance(node.left, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        return f"`{name}`", f"`{name}.abs()`", here.append(node.left, ".abs()")
    return f"`{name}`", f"`({name}).abs()`", here.around(node.left, "(", ").abs()")
