"""Gradients are cleared between `backward()` and `step()`: the step sees nothing.

Why: `zero_grad()` throws away what `backward()` has just computed, so the step that
follows has no gradient to use and the parameters do not learn.

Fix: move `zero_grad()` before `backward()`, or after `step()`.

Silent on: gradients dropped at the end of training, gradients of another network (a GAN),
a rare batch that is skipped by clearing its gradients.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.model import Edit, Event, Finding, Site
from gradscope.rules import rule
from gradscope.rules._common import code, parameter_names, parameter_subjects, plural, timeline
from gradscope.rules._edits import Source, calls
from gradscope.rules._training import where
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        opt.zero_grad()  # cause: GS202
        opt.step()  # effect: GS202


def bad_by_module() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        model.zero_grad()  # cause: GS202
        opt.step()  # effect: GS202


def good_cleared_after_step() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        opt.zero_grad()


def good_another_networks() -> None:
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        opt_g.zero_grad()
        critic(generator(torch.randn(4, 2))).mean().backward()
        opt_c.zero_grad()  # drops what the generator's loss left in the critic
        opt_g.step()
        critic(torch.randn(4, 2)).mean().backward()
        opt_c.step()


def good_bad_batch_skipped() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        if i == 2:
            opt.zero_grad()
            continue
        opt.step()
    model(torch.randn(8, 3)).pow(2).mean().backward()
    opt.zero_grad()


def good_gradients_combined_by_hand() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = [torch.zeros_like(p) for p in model.parameters()]
        for sample in torch.randn(4, 3):
            opt.zero_grad()
            model(sample).pow(2).mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for summed, p in zip(total, model.parameters(), strict=True):
                summed += p.grad  # type: ignore[arg-type]
        opt.zero_grad()
        for summed, p in zip(total, model.parameters(), strict=True):
            p.grad = summed
        opt.step()


@dataclass
class _Tally:
    """Steps of one optimizer: all of them, and those whose gradients had been dropped."""

    steps: int = 0
    lost: Counter[tuple[Site, Site]] = field(default_factory=Counter)
    parameters: set[int] = field(default_factory=set)


@rule("GS202", name="gradient-zeroed-before-step", severity="error", over=("GS204",))
def gradient_zeroed_before_step(trace: Trace) -> Iterator[Finding]:
    dropped: dict[int, Event] = {}  # parameter → the call that dropped its fresh gradient
    tallies: dict[int, _Tally] = {}
    for repeat, events in timeline(trace):
        for event in events:
            if event.kind == "zero_grad":
                dropped.update(dict.fromkeys(event.data.get("dropped") or (), event))
            elif event.kind == "backward":
                for parameter in event.data.get("accumulated") or ():
                    dropped.pop(parameter, None)
            elif event.kind == "step" and not event.data.get("closure"):
                _count(trace, event, repeat, dropped, tallies)
    for number, tally in tallies.items():
        if sum(tally.lost.values()) * 2 >= tally.steps:  # a skipped bad batch is rarer
            for (cause, effect), count in tally.lost.items():
                yield _finding(trace, number, tally, cause, effect, count)


def _count(
    trace: Trace, event: Event, repeat: int, dropped: dict[int, Event], tallies: dict[int, _Tally]
) -> None:
    states = event.data.get("states") or {}
    tally = tallies.setdefault(event.data.get("optimizer", -1), _Tally())
    tally.steps += repeat
    lost = [p for state in ("none", "zero") for p in states.get(state, ()) if p in dropped]
    seen = any(states.get(state) for state in ("fresh", "stale", "used"))
    if lost and not seen and not _forward_between(trace, dropped[lost[0]], event):
        tally.lost[dropped[lost[0]].site.user, event.site.user] += repeat
        tally.parameters.update(lost)
    for ids in states.values():
        for parameter in ids:
            dropped.pop(parameter, None)


def _forward_between(trace: Trace, clear: Event, step: Event) -> bool:
    """Then the gradients were cleared in time, and it is the backward that comes too late (GS204)."""
    if step.graph < 0:
        return False
    start = clear.position + 1 if clear.segment == step.segment else 0
    return any(op.nodes for op in trace.graph(step.graph).ops[start : step.position + 1])


def _finding(trace: Trace, number: int, tally: _Tally, cause: Site, effect: Site, count: int) -> Finding:
    clear, step = code(trace, cause, "`zero_grad()`"), code(trace, effect, "the step")
    return Finding(
        message=f"gradients are cleared between backward and step: {step} sees none of them",
        cause=cause,
        cause_label="throws away the gradients that backward has just computed",
        effect=effect,
        effect_label="has no gradient to use",
        seen=(
            f"{count} of {plural(tally.steps, 'step')} had no gradient, {clear} had just dropped it",
            *_dropped(trace, cause),
        ),
        fix=f"move {clear} ({where(cause)}) before the backward, or after {step} ({where(effect)})",
        count=count,
        edits=_moved(trace, cause),
        subjects=parameter_subjects(tally.parameters) | {("optimizer", number)},
    )


def _dropped(trace: Trace, clear: Site) -> Iterator[str]:
    """What was thrown away, where it was measured."""
    for event in trace.of("zero_grad"):
        if event.site.user == clear and event.data.get("norm") and event.data.get("dropped"):
            name = parameter_names(trace, event.data["dropped"][:1])
            yield f"norm of {name}'s gradient as it was thrown away: {event.data['norm']:.4g}"
            return


def _moved(trace: Trace, clear: Site) -> tuple[Edit, ...]:
    """The clearing statement, moved before the backward where both stand in one block."""
    here = Source(trace, clear.path)
    statement = here.file.statement(clear)
    backward = here.earlier(statement, calls("backward"))
    if statement is None or backward is None:
        return ()
    before, gone = here.before(backward, here.file.text(statement)), here.remove(statement)
    return before + gone if before and gone else ()
