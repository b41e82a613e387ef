"""A step uses gradients before they are reduced over the ranks.

Why: `dist.all_reduce(p.grad, async_op=True)` only begins: it gives back a handle, and the gradient holds this rank's
numbers, or some of both, until `handle.wait()` has come back. Which of them a step finds is a matter of time. In
`fully_shard`, `set_requires_gradient_sync(False)` leaves the gradients of a pass where no optimizer sees them, until a
pass with `True` reduces them with its own.

Fix: keep the handles and call `wait()` on each before `clip_grad_norm_` and `step()`. Call
`set_requires_gradient_sync(True)` before the last pass of each step.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.words import counted, located, parameter_names, parameter_subjects
from gradscope.events import Unreduced
from gradscope.model import Finding
from gradscope.rules import rule_across
from gradscope.store import Member, Run, Trace


def bad() -> None:
    import torch
    import torch.distributed as dist
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        (model(torch.randn(8, 4) + dist.get_rank()).pow(2).mean() / dist.get_world_size()).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad, async_op=True)  # cause: GS808
        opt.step()  # effect: GS808


def good() -> None:
    import torch
    import torch.distributed as dist
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        (model(torch.randn(8, 4) + dist.get_rank()).pow(2).mean() / dist.get_world_size()).backward()
        handles = [dist.all_reduce(p.grad, async_op=True) for p in model.parameters()]
        for handle in handles:
            handle.wait()
        opt.step()


@rule_across("GS808", name="step-before-the-reduction", severity="error", over=("GS801", "GS204", "GS205"))
def step_before_the_reduction(run: Run) -> Iterator[tuple[Member, Finding]]:
    for group in run.alike:
        for event in group[0].trace.of(Unreduced):
            found = (_unwaited if event.how == "async" else _unsynced)(group[0].trace, event)
            yield from ((member, found) for member in group)


def _unwaited(trace: Trace, event: Unreduced) -> Finding:
    call = trace.site(event.call)
    names = parameter_names(trace, event.parameters)
    ended = event.times - event.running
    return Finding(
        message=f"the step uses the gradients of {names} while they may still be on their way between the ranks",
        cause=call.user if call is not None else event.site.user,
        cause_label="begins, and gives back a handle that nobody waits for",
        effect=event.site.user,
        effect_label="uses them as they are by now",
        seen=(
            f"at {counted(event.times, 'step')} nobody had waited for it: at {event.running:,} it was still running, at"
            f" {ended:,} it happened to have ended",
        ),
        fix="keep what it returns, and call `wait()` on it before"
        f" {located(trace, event.site.user, 'the step')}; or leave `async_op=True` out",
        severity="" if event.running else "warning",
        subjects=parameter_subjects(event.parameters),
    )


def _unsynced(trace: Trace, event: Unreduced) -> Finding:
    call = trace.site(event.call)
    names = parameter_names(trace, event.parameters)
    step = event.site.user
    return Finding(
        message=f"the step does not use the latest gradients of {names}: they are not reduced over the ranks yet",
        cause=call.user if call is not None else step,
        cause_label="the gradients of the pass are kept for a later one"
        if call is not None
        else "does not see them",
        effect=step if call is not None else None,
        effect_label="does not see them",
        seen=(
            f"at {counted(event.times, 'step')} of those looked at, gradients of passes before it waited unreduced",
        ),
        why="with `set_requires_gradient_sync(False)` a pass adds its gradients to those that the next pass with `True`"
        " reduces; until then `.grad` does not have them",
        fix=f"call `set_requires_gradient_sync(True)` before the last pass of each step ({located(trace, step)})",
        subjects=parameter_subjects(event.parameters) | {("optimizer", event.optimizer)},
    )
