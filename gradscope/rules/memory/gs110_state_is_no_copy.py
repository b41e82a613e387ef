"""A state that was kept to be loaded again is no copy: it has changed with the model.

Why: `state_dict()` gives the model's own tensors, not copies. Training goes on writing to them, so that the state
kept of the best epoch is always that of the last one; to load it copies every tensor onto itself. The same happens
where a target network is not a copy of the online one but the network itself.

Fix: keep a copy, `{name: value.clone() for name, value in model.state_dict().items()}`.

Silent on: states that are cloned, deep-copied, written to a file, or loaded into another model.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural, user, where
from gradscope.events import Backward, StateLoaded
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    best, kept = float("inf"), model.state_dict()
    for _ in range(4):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        opt.step()
        if loss.item() < best:
            best, kept = loss.item(), model.state_dict()  # cause: GS110
        opt.zero_grad()
        model(torch.ones(8, 3)).pow(2).mean().backward()
        opt.step()
    model.load_state_dict(kept)  # effect: GS110


def good() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = copy.deepcopy(model.state_dict())
    for _ in range(4):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        opt.step()
        torch.save(model.state_dict(), "/dev/null")
    model.load_state_dict(kept)


@rule("GS110", name="state-is-no-copy", severity="error")
def state_is_no_copy(trace: Trace) -> Iterator[Finding]:
    places: dict[tuple[tuple[str, int], bool], list[StateLoaded]] = {}
    for event in trace.of(StateLoaded):
        places.setdefault((event.site.user.location(), event.moved), []).append(event)
    for (_, moved), events in places.items():
        if moved:
            yield _kept(trace, events)
        elif trace.of(Backward) and sum(event.count for event in events) > 1:
            yield _onto_itself(trace, events)


def _kept(trace: Trace, events: list[StateLoaded]) -> Finding:
    event = events[0]
    made = user(trace.site(event.made)) or event.site.user
    names = parameter_names(trace, event.parameters)
    load = code(trace, event.site.user, "the load")
    fix, edits = _copy(trace, made)
    return Finding(
        message=f"{code(trace, made, 'the state')} keeps no copy: {load} brings back what training has made of it",
        cause=made,
        cause_label="gives the model's own tensors",
        effect=event.site.user,
        effect_label="copies each of them onto itself",
        seen=(
            f"all tensors of the loaded state lie in the memory of {names}, which was written to since it was kept",
        ),
        fix=fix,
        edits=edits,
        count=sum(event.count for event in events),
        subjects=parameter_subjects(event.parameters),
    )


def _copy(trace: Trace, made: Site) -> tuple[str, tuple[Edit, ...]]:
    here = Source(trace, made.path)
    node = here.file.at(made)
    if not isinstance(node, ast.Call):
        return f"keep copies of the tensors: `value.clone()` in {located(trace, made, 'it')}", ()
    text = f"{{name: value.clone() for name, value in {here.file.text(node)}.items()}}"
    return f"keep a copy ({where(made)}): `{text}`", here.replace(node, text)


def _onto_itself(trace: Trace, events: list[StateLoaded]) -> Finding:
    event = events[0]
    count = sum(event.count for event in events)
    names = parameter_names(trace, event.parameters)
    return Finding(
        message=f"{code(trace, event.site.user, 'this load')} copies a network onto itself: there are not two of them",
        cause=event.site.user,
        cause_label="both sides are the same tensors",
        seen=(f"in {plural(count, 'load')} the state given was the memory of {names} itself",),
        fix=f"make the network that {located(trace, event.site.user, 'this line')} writes to a copy: "
        "`copy.deepcopy(…)` of the other, once",
        count=count,
        severity="warning",
        subjects=parameter_subjects(event.parameters),
    )
