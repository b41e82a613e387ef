"""A step moves weights whose gradient the program has set to zero: the weight decay does, or a momentum of before.

Why: to leave a part of a weight as it is, its gradient is often multiplied by a mask of zeros and ones before the step.
But an optimizer does more than to follow the gradient: `weight_decay` makes every weight smaller, and a momentum goes
on with what it has seen before. The part that was to stay drifts away, a little in each step.

Fix: put that part back after each step, `w.copy_(torch.where(mask, w, w_before))` under `torch.no_grad()`, or give the
optimizer `weight_decay=0`; clear its state where it has a momentum of before.

Measured: elements of a weight to which a pass left a gradient, or brought one to a hook on the weight, and whose
gradient was exactly 0 before the step, the same ones in some steps in a row; and their values before the next step.
Silent on: weights that are put back after each step, those that the model multiplies by their mask, weights of zero
(GS245), masks that are drawn anew.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.reach import paths
from gradscope.analysis.words import (
    code,
    located,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    plural,
    user,
    where,
)
from gradscope.events import HeldBack
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.rules.step._masked_weights import is_masked
from gradscope.rules.step._written_gradients import writes_into
from gradscope.store import Trace

DECAYS = 0.95  # of the elements that moved came nearer to zero


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 6))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=0.01)  # cause: GS278
    masks = [(torch.rand_like(p) < 0.4).float() for p in model.parameters()]
    for _ in range(10):
        x = torch.randn(16, 6)
        opt.zero_grad()
        (model(x) - x.flip(1)).pow(2).mean().backward()
        for p, mask in zip(model.parameters(), masks, strict=True):
            p.grad = p.grad * mask if p.grad is not None else None
        opt.step()  # effect: GS278


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 6))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=0.01)
    masks = [torch.rand_like(p) < 0.4 for p in model.parameters()]
    before = [p.detach().clone() for p in model.parameters()]
    for _ in range(10):
        x = torch.randn(16, 6)
        opt.zero_grad()
        (model(x) - x.flip(1)).pow(2).mean().backward()
        for p, mask in zip(model.parameters(), masks, strict=True):
            p.grad = p.grad * mask if p.grad is not None else None
        opt.step()
        with torch.no_grad():
            for p, mask, kept in zip(model.parameters(), masks, before, strict=True):
                p.copy_(torch.where(mask, p, kept))


@rule("GS278", name="held-back-weights-move", severity="warning", needs=HeldBack)
def held_back_weights_move(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(HeldBack):
        known = paths(trace)
        if event.optimizer in trace.optimizers and not any(is_masked(known, id) for id in event.parameters):
            yield _finding(trace, event)


def _finding(trace: Trace, event: HeldBack) -> Finding:
    step, optimizer = event.site.user, trace.optimizers[event.optimizer]
    name, made = optimizer_name(trace, event.optimizer), user(optimizer.site)
    held = set(event.parameters)
    decays = {
        decay
        for group in optimizer.groups
        if held & set(group["parameters"]) and isinstance(decay := group.get("weight_decay"), int | float)
    }
    decay = max(decays, default=0) if event.shrunk >= DECAYS * event.moved else 0
    hook = user(trace.site(event.hook)) if event.hook is not None else None
    masked = hook or writes_into(trace, event.parameters)
    by = f"its `weight_decay` of {decay:g}" if decay else "what it remembers of earlier gradients"
    again = f"put them back after {located(trace, step)}, from"
    less = (
        f"or give {name} `weight_decay=0` ({where(made)})"
        if decay
        else f"or take what {name} remembers of them out of its `state`"
    )
    return Finding(
        message=f"{code(trace, step, 'the step')} moves weights whose gradient was set to zero before it, by {by}",
        cause=made if decay and made is not None else step,
        cause_label=f"takes a part of every weight away, {decay:g} times the rate" if decay else "moves them",
        effect=step if decay and made is not None else None,
        effect_label=f"moves {event.moved} of {plural(event.held, 'weight')} that were held back",
        related=((masked, "its hook sets gradients to zero" if hook else "sets their gradients to zero"),)
        if masked is not None
        else (),
        seen=(
            f"{event.held} elements of {parameter_names(trace, event.parameters)} had a gradient"
            f" {'before their hook' if hook else 'behind the pass'} and one of exactly 0 before the step, in"
            f" {plural(event.steps, 'step')} in a row; {event.moved} of them were something else before the next one,"
            f" {event.shrunk} nearer to zero",
        ),
        fix=f"{again} a copy: `w.copy_(torch.where(mask, w, w_before))` under `torch.no_grad()`; {less}",
        subjects=parameter_subjects(event.parameters),
    )
