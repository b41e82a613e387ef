"""An optimizer is made anew again and again for the same parameters, before its averages have begun to count.

Why: Adam, and SGD with momentum, average the gradients of the last steps; what they have averaged is kept in the
optimizer. One that is made in each epoch begins from nothing each time: a momentum of 0.9 needs ten steps, Adam's
second average a thousand, and until then each step is as large as those at the very start of a training.

Fix: make the optimizer once, before the loop, and give it to the function that trains; set `group["lr"]` of its
`param_groups` (or use a scheduler) where the rate is to change.

Measured: optimizers of one line, with the same parameters, and with the same rates or with rates that fall little by
little.
Silent on: optimizers that average nothing (plain SGD), LBFGS; parameters that the program writes to in between
(an average over clients, a reset); optimizers that live for as many steps as their momentum averages over.
"""

import ast
from collections.abc import Iterator
from itertools import pairwise

from gradscope.analysis.loop import one_after_the_other, parameters_of
from gradscope.analysis.words import counted, located, optimizer_name
from gradscope.events import Step
from gradscope.fixes.blocks import moved_out
from gradscope.model import Finding, Optimizer
from gradscope.rules import rule
from gradscope.store import Trace

OFTEN = 4  # one after the other from one line
LITTLE_LESS = 0.7  # of the rate before
MOSTLY = 0.75  # of these changes
BETA = {
    "Adam": 0.9,
    "AdamW": 0.9,
    "NAdam": 0.9,
    "RAdam": 0.9,
    "Adamax": 0.9,
}  # where the trace has no `betas`


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    for _ in range(6):
        opt = torch.optim.Adam(model.parameters(), lr=0.01)  # cause: GS233
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()  # effect: GS233


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()


@rule("GS233", name="optimizer-made-anew", severity="warning")
def optimizer_made_anew(trace: Trace) -> Iterator[Finding]:
    alike: dict[tuple[object, ...], list[Optimizer]] = {}
    for optimizer in trace.optimizers.values():
        if optimizer.site is not None and optimizer.parameters:
            place = optimizer.site.user.location()
            key = (place, optimizer.cls, tuple(optimizer.parameters), repr(_without_rates(optimizer)))
            alike.setdefault(key, []).append(optimizer)
    for made in alike.values():
        length = _length(made[0])
        if len(made) < OFTEN or not length or max(o.steps for o in made) >= length:
            continue
        stepped = [o for o in made if o.steps]
        written = any(p.updates for p in parameters_of(trace, made[0].parameters))
        if (
            len(stepped) == len(made)
            and not written
            and _one_training(made)
            and one_after_the_other(trace, {o.id for o in made})
        ):
            yield _finding(trace, made, length)


def _without_rates(optimizer: Optimizer) -> list[dict[str, object]]:
    return [{name: value for name, value in group.items() if name != "lr"} for group in optimizer.groups]


def _rates(optimizer: Optimizer) -> list[float]:
    rates = [group.get("lr") for group in optimizer.groups]
    return [float(rate) for rate in rates if isinstance(rate, int | float)]


def _one_training(made: list[Optimizer]) -> bool:
    """Whether the rate stays, or falls little by little as a schedule's does. A search for a rate goes up, or to and
    fro; stages that are trained one after the other fall by much from each to the next."""
    pairs = [pair for one, other in pairwise(map(_rates, made)) for pair in zip(one, other, strict=False)]
    falls = all(after <= before for before, after in pairs)
    return falls and sum(after >= LITTLE_LESS * before for before, after in pairs) >= MOSTLY * len(pairs)


def _length(optimizer: Optimizer) -> float:
    """How many steps its shortest average runs over; 0 where it averages nothing, or that is not known."""
    rates = [group.get("momentum") or BETA.get(optimizer.cls, 0.0) for group in optimizer.groups]
    known = [rate for rate in rates if isinstance(rate, float) and 0 < rate < 1]
    return min(1 / (1 - rate) for rate in known) if known and len(known) == len(rates) else 0.0


def _finding(trace: Trace, made: list[Optimizer], length: float) -> Finding:
    first = made[0]
    site = first.site.user if first.site is not None else None
    step = next(event for event in trace.of(Step) if event.optimizer == first.id)
    steps = [optimizer.steps for optimizer in made]
    each = f"{min(steps)} to {max(steps)}" if min(steps) != max(steps) else f"{steps[0]}"
    name, own = optimizer_name(trace, first.id), f"`{first.cls}`"
    edits = moved_out(trace, site, ast.Assign)
    rates = [_rates(optimizer) for optimizer in made]
    falls = rates[0] != rates[-1]
    settings = "with the same settings" if not falls else "with other rates"
    return Finding(
        message=f"a new {own} is made {counted(len(made), 'time')} for the same parameters: its averages begin from"
        " nothing each time",
        cause=site,
        cause_label=f"makes {name} anew; what the last one had averaged is gone",
        effect=step.site.user,
        effect_label="its steps are those of a training's beginning, again and again",
        seen=(
            f"{counted(len(made), 'optimizer')} {settings} for the same parameters were made here one after the other;"
            f" each took {each} {'step' if each == '1' else 'steps'}, its momentum averages over"
            f" {length:.0f}, and the program wrote to no parameter in between",
        ),
        fix=f"make it once: take {located(trace, site, 'the optimizer')} out of what runs again and again, to before"
        " the loop"
        + ("" if edits else f", and hand {name} to the function that trains")
        + ('; set its rate by `group["lr"] = …` for each group of its `param_groups`' if falls else ""),
        edits=edits,
        count=len(made),
        subjects=frozenset(("optimizer", optimizer.id) for optimizer in made),
    )
