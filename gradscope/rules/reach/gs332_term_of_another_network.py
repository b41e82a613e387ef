"""A term of the loss meets nothing that its step trains: it changes the number, and teaches only what is cleared.

Why: the step of a generator trains the generator alone. A term that is computed from data and the discriminator only
(the discriminator was given the real image where the made one was meant) has no way back to the generator; what it
gives the discriminator is cleared before that one's own step.

Fix: give the other network what this step trains.

Measured: the passes of this loss gave the term's parameters gradients that no step used, and the term reaches no
parameter whose gradients from these passes a step used.
Silent on: losses in which another term goes through the same network (the two sides of a distance between
distributions), terms that were cut from what is trained (GS315), networks that no optimizer steps, values that
another loss has, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from gradscope.analysis.constants import is_cut, used_in_passes
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import ZERO_GRADIENT
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.terms import terms
from gradscope.analysis.words import located, optimizer_name, parameter_names, parameter_subjects
from gradscope.events import Backward, Step
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    maker, judge = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD(maker.parameters(), lr=0.1)
    opt_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(4):
        given, real = torch.randn(8, 4), torch.randn(8, 4)
        made = maker(given)
        fooled = (judge(real) - 1).pow(2).mean()  # cause: GS332
        loss = fooled + 10 * (made - given).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS332
        opt.step()
        opt_judge.zero_grad()
        ((judge(real) - 1).pow(2).mean() + judge(made.detach()).pow(2).mean()).backward()
        opt_judge.step()


def good() -> None:
    import torch
    from torch import nn

    maker, judge = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD(maker.parameters(), lr=0.1)
    opt_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(4):
        given, real = torch.randn(8, 4), torch.randn(8, 4)
        made = maker(given)
        fooled = (judge(made) - 1).pow(2).mean()
        loss = fooled + 10 * (made - given).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        opt_judge.zero_grad()
        ((judge(real) - 1).pow(2).mean() + judge(made.detach()).pow(2).mean()).backward()
        opt_judge.step()


class _Idle(NamedTuple):
    """A term whose gradients no step uses."""

    value: Key
    maker: Op
    loss: Backward
    parameters: frozenset[int]  # that it reaches
    trained: frozenset[int]  # that the other terms train


@rule("GS332", name="term-of-another-network", severity="warning", over=("GS605",))
def term_of_another_network(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    if not known.stepping or len(trace.optimizers) < 2:
        return
    told: dict[tuple[str, int], Finding] = {}
    spared: set[tuple[str, int]] = set()  # lines whose term trained something in another pass
    for idle in _terms(known, spared):
        place = idle.maker.site.user.location()
        if place not in told:
            told[place] = _finding(trace, idle)
            continue
        first = told[place]
        told[place] = replace(
            first,
            count=max(first.count, idle.loss.count),
            related=tuple(dict.fromkeys((*first.related, *_caller(idle)))),
            subjects=first.subjects | parameter_subjects(idle.parameters),
        )
    yield from (finding for place, finding in told.items() if place not in spared)


def _terms(known: Paths, spared: set[tuple[str, int]]) -> Iterator[_Idle]:
    used = used_in_passes(known.trace)
    stepped = {id for step in known.trace.of(Step) for id in step.states.get("fresh", ())}
    for root, events in known.roots.items():
        trained = frozenset().union(*(used.get((event.graph, event.roots), ()) for event in events))
        reach = known.reach([root], ZERO_GRADIENT)
        if not trained or not reach.complete:
            continue
        parts = {part: known.reach([part]).parameters for part in terms(known, root)}
        for part, own in parts.items():
            maker = known.sources(part)[1]
            if maker is None or not own:
                continue
            if own & trained:
                spared.add(maker.site.user.location())
                continue
            others = frozenset().union(*(found for other, found in parts.items() if other != part))
            if own & others or not others & trained or not own <= stepped or is_cut(known, part):
                continue
            if not any(part in known.flow([other]).order for other in known.roots if other != root):
                yield _Idle(part, maker, events[0], frozenset(own), others & trained)


def _finding(trace: Trace, idle: _Idle) -> Finding:
    known = paths(trace)
    number, index = idle.value
    name = names_of(trace).name(known.graph(number), index)
    place = idle.maker.site.user
    shown = f"the term `{name}`" if name else "a term"
    own, trained = (
        parameter_names(trace, sorted(idle.parameters)),
        parameter_names(trace, sorted(idle.trained)),
    )
    step = next((s for s in trace.of(Step) if idle.trained & set(s.states.get("fresh", ()))), None)
    by = f" of {optimizer_name(trace, step.optimizer)}" if step is not None else ""
    meets = _first_call(known, idle)
    return Finding(
        message=f"{shown} of the loss meets nothing that the step{by} trains: its gradients go to {own}, and no step"
        " uses them",
        cause=place,
        cause_label="computed without what this step trains",
        effect=idle.loss.site.user,
        effect_label=f"trains {trained}, by the other terms",
        related=_caller(idle),
        seen=(
            f"{passes(known.alike(idle.loss))} from this line gave {own} gradients that were cleared before any step"
            " used them",
            f"no gradient of the term reaches {trained}",
        ),
        fix=f"give {located(trace, meets, 'the network')} what this step trains, in place of what it is given there;"
        " where the term is only to be shown, leave it out of the loss",
        count=idle.loss.count,
        subjects=parameter_subjects(idle.parameters) | {("term", *place.location())},
    )


def _caller(idle: _Idle) -> tuple[tuple[Site, str], ...]:
    """The line that calls the function in which the term is computed, and hands over what that is computed of."""
    above = [frame for frame in idle.maker.site.stack if frame.kind == "user"][:-1]
    same = idle.loss.site.user.location()
    return (
        ((above[-1], "hands over what it is computed of"),) if above and above[-1].location() != same else ()
    )


def _first_call(known: Paths, idle: _Idle) -> Site:
    """The user's line that first meets the parameters of the term."""
    makers = [
        op
        for number, index in known.flow([idle.value]).order
        if (op := known.graph(number).maker(index)) is not None
        and any(
            (p := known.parameter_of((number, i))) is not None and p.id in idle.parameters for i in op.inputs
        )
    ]
    first = min(makers, key=lambda op: (op.graph, op.index), default=idle.maker)
    return first.site.entry
