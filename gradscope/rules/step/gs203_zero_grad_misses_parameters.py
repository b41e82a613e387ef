"""`zero_grad()` does not cover all that the optimizer steps: old gradients are added to new ones there.

Why: `zero_grad()` clears only the parameters of the optimizer or module that it is called
on. The parameters that it misses keep the gradients of the step before, and the next
backward adds to them.

Fix: clear the gradients of what is stepped: call `zero_grad()` on every optimizer that
steps, or on a module that holds all of their parameters.

Silent on: networks whose gradients nobody uses, and two networks that are each cleared
before their own step.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.stale import lender, measured, with_clear
from gradscope.analysis.words import (
    code,
    is_known_at,
    method,
    named_at,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    user,
    where,
)
from gradscope.events import StaleUsed, ZeroGrad
from gradscope.fixes.statements import beside, line_after
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad_other_model() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, other = nn.Linear(3, 1), nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        other.zero_grad()  # cause: GS203
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        opt.step()  # effect: GS203


def good_module_covers_both() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt_trunk = torch.optim.SGD(model[0].parameters(), lr=0.1)
    opt_head = torch.optim.SGD(model[1].parameters(), lr=0.1)
    for _ in range(3):
        model.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt_trunk.step()
        opt_head.step()


@dataclass
class _Miss:
    """A `zero_grad()` that prepared a backward, and a step that then used stale gradients."""

    parameters: set[int] = field(default_factory=set)
    count: int = 0
    backward: Site | None = None
    events: list[StaleUsed] = field(default_factory=list)


@rule("GS203", name="zero-grad-misses-parameters", severity="error", over=("GS201",))
def zero_grad_misses_parameters(trace: Trace) -> Iterator[Finding]:
    ever = {p for event in trace.of(ZeroGrad) for p in event.parameters}
    found: dict[tuple[Site, Site], _Miss] = {}
    for repeat, event, prepared in with_clear(trace):
        missed = {p for p in event.parameters if p not in ever}
        if missed and prepared is not None:
            miss = found.setdefault((prepared.site.user, event.site.user), _Miss())
            miss.parameters |= missed
            miss.count += repeat
            miss.events.append(event)
            miss.backward = user(trace.site(event.backward))
    for (cause, effect), miss in found.items():
        yield _finding(trace, cause, effect, miss)


def _finding(trace: Trace, cause: Site, effect: Site, miss: _Miss) -> Finding:
    names, clear = parameter_names(trace, sorted(miss.parameters)), code(trace, cause, "`zero_grad()`")
    step = code(trace, effect, "the step")
    return Finding(
        message=f"{clear} does not cover {names}: {step} uses old gradients added to new ones",
        cause=cause,
        cause_label="clears other parameters than the ones that go stale",
        effect=effect,
        effect_label="uses their gradients, which the program has given to its own parameters"
        if lender(trace, miss.events[0])
        else "steps parameters whose gradients nothing cleared",
        related=((miss.backward, "adds to the gradients that were used already"),) if miss.backward else (),
        seen=(f"no `zero_grad()` of this run covers {names}", *measured(trace, miss.events)),
        fix=_fix(trace, miss, cause, effect, clear),
        count=miss.count,
        edits=_cleared_too(trace, miss.events[0], cause, effect),
        subjects=parameter_subjects(miss.parameters),
    )


def _fix(trace: Trace, miss: _Miss, cause: Site, effect: Site, clear: str) -> str:
    if cause.location() == effect.location():  # one call of a library's does both
        names = parameter_names(trace, sorted(miss.parameters))
        return f"make {names} part of the model whose gradients {clear} clears ({where(cause)})"
    if of := lender(trace, miss.events[0]):
        return f"call `{named_at(trace, of, cause)}.zero_grad()` too, beside {clear} ({where(cause)})"
    return f"call {method(trace, miss.events[0].optimizer, 'zero_grad', at=cause)} too, beside {clear} ({where(cause)})"


def _cleared_too(trace: Trace, event: StaleUsed, clear: Site, step: Site) -> tuple[Edit, ...]:
    """`zero_grad()` of the stepped optimizer, or of the model whose gradients it is given, after that of the other
    one."""
    name = optimizer_name(trace, event.optimizer, clear).strip("`")
    name = name if " " not in name and is_known_at(trace, name, clear) else ""
    if of := lender(trace, event):
        bare = named_at(trace, of, clear)
        name = bare if is_known_at(trace, bare, clear) else ""
    return line_after(trace, clear, f"{name}.zero_grad()") if name and beside(trace, clear, step) else ()
