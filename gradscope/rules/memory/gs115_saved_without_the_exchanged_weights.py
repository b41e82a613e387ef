"""A state is saved that was taken before other weights were put in its place: it holds those of before.

Why: `state_dict()` gives the tensors that a module holds at that moment. `p.data = average` gives the parameter other
memory, and the state goes on holding the old one: what is exchanged after the state was taken, to be saved, is in no
file. To write into the memory (`p.data.copy_(average)`) would change the state, too.

Fix: take the state once the other weights are in place: `checkpoint["state_dict"] = model.state_dict()` right before
the save.

Measured: where the tensors of the state and of the module lie when `torch.save` is called.
Silent on: a save that holds the other weights as well, weights that were computed with, those that stay in place
after the save, states of a module whose tensors were moved or written to in their own memory.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, user, where
from gradscope.events import StateApart
from gradscope.fixes.calls import argument_as, call_at
from gradscope.fixes.source import Edits
from gradscope.fixes.statements import line_before
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import io

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    average = [p.detach().clone() for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        for mean, p in zip(average, model.parameters(), strict=True):
            mean.lerp_(p.detach(), 0.1)
    checkpoint = {"step": 4, "weights": model.state_dict()}  # cause: GS115
    own = [p.data for p in model.parameters()]
    for mean, p in zip(average, model.parameters(), strict=True):
        p.data = mean
    torch.save(checkpoint, io.BytesIO())  # effect: GS115
    for mine, p in zip(own, model.parameters(), strict=True):
        p.data = mine


def good() -> None:
    import io

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    average = [p.detach().clone() for p in model.parameters()]
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        for mean, p in zip(average, model.parameters(), strict=True):
            mean.lerp_(p.detach(), 0.1)
    own = [p.data for p in model.parameters()]
    for mean, p in zip(average, model.parameters(), strict=True):
        p.data = mean
    checkpoint = {"step": 4, "weights": model.state_dict()}
    torch.save(checkpoint, io.BytesIO())
    for mine, p in zip(own, model.parameters(), strict=True):
        p.data = mine


@rule("GS115", name="saved-without-the-exchanged-weights", severity="warning", needs=StateApart)
def saved_without_the_exchanged_weights(trace: Trace) -> Iterator[Finding]:
    places: dict[tuple[int | None, tuple[str, int]], list[StateApart]] = {}
    for event in trace.of(StateApart):
        places.setdefault((event.made, event.site.user.location()), []).append(event)
    for events in places.values():
        yield _finding(trace, events)


def _finding(trace: Trace, events: list[StateApart]) -> Finding:
    event = events[0]
    save, made, given = event.site.user, user(trace.site(event.made)), user(trace.site(event.given))
    exchange = located(trace, given, "the exchange")
    fix, edits = _taken_anew(trace, event, made)
    return Finding(
        message=f"{code(trace, save, 'the save')} writes the weights of before: {code(trace, made, 'the state')} was"
        f" taken before {code(trace, given, 'other weights')} put others in their place",
        cause=made or save,
        cause_label="gives the tensors that the model holds here",
        effect=save if made is not None else None,
        effect_label="saves these, not what the model holds by now",
        related=((given, "gives the parameters other memory"),) if given is not None else (),
        seen=(
            f"no tensor of the saved state lay in the memory of {parameter_names(trace, event.parameters)} any more;"
            f" what {exchange} put there was taken out again after the save, and nothing was computed with it",
        ),
        fix=fix,
        edits=edits,
        count=sum(one.count for one in events),
        subjects=parameter_subjects(event.parameters),
    )


def _taken_anew(trace: Trace, event: StateApart, made: Site | None) -> tuple[str, Edits]:
    """The state once more, right before the save."""
    save = event.site.user
    call, node = call_at(trace, save), call_at(trace, made)
    saved = call.args[0] if call is not None and call.args else None
    if made is None or node is None or made.function != save.function or made.path != save.path:
        return (
            "take the state again once the other weights are in place, right before"
            f" {located(trace, save, 'the save')}",
            (),
        )
    text = ast.unparse(node)
    if event.itself:
        return f"save `{text}` itself ({where(save)})", argument_as(trace, save, "obj", 0, text)
    if event.key and isinstance(saved, ast.Name | ast.Attribute):
        line = f'{ast.unparse(saved)}["{event.key}"] = {text}'
        return f"write `{line}` right before {located(trace, save, 'the save')}", line_before(
            trace, save, line
        )
    return f"take `{text}` again right before {located(trace, save, 'the save')}, and save that", ()
