"""Weights that were set to zero are moved by the next step, though their gradient is zero: the momentum is still there.

Why: pruning sets weights to zero and a mask keeps their gradient at zero. But SGD with momentum, Adam and their like
step by what they remember of earlier gradients, too, and that is not masked: all pruned weights come back.

Fix: mask the weights again after each step, or clear the optimizer's state of what was pruned.

Measured: weights that were exactly 0 before a step, with a gradient of exactly 0, were something else after it, and
their gradient was still 0 in the steps behind it.
Silent on: weights that are masked again after each step, and those that the model multiplies by their mask.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.reach import paths
from gradscope.analysis.words import (
    code,
    located,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    plural,
)
from gradscope.events import Revived, Update
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import beside
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.rules.step._masked_weights import is_masked
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    masks = {p: torch.ones_like(p) for p in model.parameters() if p.dim() > 1}

    def prune() -> None:
        for p, mask in masks.items():
            p.data = p.data * mask

    for step in range(12):
        if step == 4:
            masks = {p: (p.detach().abs() > p.detach().abs().median()).float() for p in masks}
            prune()
        x = torch.randn(16, 6)
        opt.zero_grad()
        (model(x) - x.flip(1)).pow(2).mean().backward()
        for p, mask in masks.items():
            p.grad = p.grad * mask if p.grad is not None else None
        opt.step()  # cause: GS245


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    masks = {p: torch.ones_like(p) for p in model.parameters() if p.dim() > 1}

    def prune() -> None:
        for p, mask in masks.items():
            p.data = p.data * mask

    for step in range(12):
        if step == 4:
            masks = {p: (p.detach().abs() > p.detach().abs().median()).float() for p in masks}
            prune()
        x = torch.randn(16, 6)
        opt.zero_grad()
        (model(x) - x.flip(1)).pow(2).mean().backward()
        for p, mask in masks.items():
            p.grad = p.grad * mask if p.grad is not None else None
        opt.step()
        prune()


@rule("GS245", name="pruned-weights-come-back", severity="warning", over=("GS278",), needs=Revived)
def pruned_weights_come_back(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Revived):
        known = paths(trace)
        if not any(is_masked(known, id) for id in event.parameters):
            yield _finding(trace, event)


def _finding(trace: Trace, event: Revived) -> Finding:
    step = event.site.user
    optimizer = optimizer_name(trace, event.optimizer)
    writes = [e for e in trace.of(Update) if e.parameter in event.parameters]
    zeroed = writes[-1].site if writes else None
    masked, edits = _masked_again(trace, zeroed, step) if zeroed is not None else ("", ())
    again = f"call `{masked}` again" if masked else "multiply them by their mask again"
    return Finding(
        message=f"weights that were set to zero come back: {code(trace, step, 'the step')} moves them by its momentum,"
        " though their gradient is zero",
        cause=step,
        cause_label=f"moves {event.moved} of {plural(event.zeros, 'weight')} away from zero",
        related=((zeroed.user, "has set them to zero"),) if zeroed is not None else (),
        seen=(
            f"{event.zeros} elements of {parameter_names(trace, event.parameters)} were exactly 0 before a step, with a"
            f" gradient of exactly 0; {event.moved} of them were something else after it, and their gradient was 0 in"
            f" the {plural(event.steps, 'step')} behind it, too",
        ),
        fix=f"{again} behind {located(trace, step)}, or take what {optimizer} remembers of"
        " them out of its `state`",
        edits=edits,
        subjects=parameter_subjects(event.parameters),
    )


def _masked_again(trace: Trace, zeroed: Site, step: Site) -> tuple[str, Edits]:
    """The call that set the weights to zero, once more behind the step, where it stands in the same function."""
    for frame in zeroed.stack:
        here = Source(trace, frame.path)
        statement, call = here.file.statement(frame), here.file.at(frame)
        plain = isinstance(statement, ast.Expr) and isinstance(call, ast.Call) and statement.value is call
        if (
            plain
            and isinstance(call, ast.Call)
            and beside(trace, frame, step)
            and not (call.args or call.keywords)
        ):
            text = here.file.text(call)
            return text, here.after(here.file.statement(step), text)
    return "", ()
