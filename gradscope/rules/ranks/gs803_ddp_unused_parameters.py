"""A parameter of a `DistributedDataParallel` model gets no gradient in a pass.

Why: the wrapper averages gradients over the ranks as they come, in groups, and waits for one of every parameter that
it was given. One that the loss does not depend on keeps its whole group from being averaged: the next call of the
model ends with "Expected to have finished reduction in the prior iteration", or other ranks wait for ever.

Fix: let the loss depend on every parameter; freeze what is not trained before wrapping the model, or leave it out.
Where it differs from step to step which parameters are used, `find_unused_parameters=True` looks for them in each pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.dead_ends import dropped_at
from gradscope.analysis.lost import end_of
from gradscope.analysis.made import made_at
from gradscope.analysis.names import place
from gradscope.analysis.words import parameter_names, parameter_subjects
from gradscope.analysis.wrappers import Round, rounds, wrapped
from gradscope.events import Crashed, Wrapped
from gradscope.model import Finding, Site
from gradscope.rules import rule_across
from gradscope.store import Member, Run, Trace

_WAITED = "Expected to have finished reduction in the prior iteration"


def bad() -> None:
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 1)
            self.extra = nn.Linear(8, 1)  # cause: GS803

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.head(torch.relu(self.body(x)))
            return y

    model = DistributedDataParallel(Net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS803
        opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.head(torch.relu(self.body(x)))
            return y

    model = DistributedDataParallel(Net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


@rule_across(
    "GS803",
    name="ddp-unused-parameters",
    severity="error",
    over=("GS206", "GS208", "GS301", "GS302", "GS304", "GS305", "GS309", "GS801"),
)
def ddp_unused_parameters(run: Run) -> Iterator[tuple[Member, Finding]]:
    for group in run.alike:
        for of in wrapped(group[0].trace):
            if not of.finds_unused and not of.static and len(of.ranks) != 1:
                for finding in _unused(group[0].trace, of):
                    yield from ((member, finding) for member in group)


def _unused(trace: Trace, of: Wrapped) -> Iterator[Finding]:
    refused = _refused(trace)
    told: dict[tuple[int, ...], list[Round]] = {}
    for round_ in rounds(trace, of):
        ended = round_.closed or refused is not None
        if round_.around or not round_.synced or not round_.passes or not ended:
            continue
        missing = tuple(id for id in of.parameters if id not in round_.filled)
        if missing and len(missing) < len(of.parameters):
            told.setdefault(missing, []).append(round_)
    for missing, found in told.items():
        yield _finding(trace, of, list(missing), found, refused)


def _finding(
    trace: Trace, of: Wrapped, ids: list[int], found: list[Round], refused: Crashed | None
) -> Finding:
    names = parameter_names(trace, ids)
    it = "it" if len(ids) == 1 else "them"
    instead = _in_its_place(trace, of, ids[0])
    cause, label = (instead, "another parameter takes its place here, which the wrapper does not know")
    if instead is None:
        cause, label = _lost(trace, ids[0])
    backward = found[0].passes[-1].site.user
    seen = [
        f"{len(of.parameters):,} parameters were wrapped, {len(found[0].filled):,} got a gradient in this pass"
    ]
    if refused is not None:
        seen.append(f"torch ended the next call of the model ({place(refused.site.user)}): `{_WAITED} …`")
    wrapper = of.site.user
    related = [(wrapper, "wrapped here")] * (cause is not None)
    if refused is not None:
        related.append((refused.site.user, "torch ends the run here"))
    return Finding(
        message=f"{names} got no gradient in a pass of the `DistributedDataParallel` model, which waits for one of"
        " every parameter",
        cause=cause or wrapper,
        cause_label=label if cause is not None else "wrapped here",
        effect=backward,
        effect_label=f"no gradient reaches {it}",
        related=tuple(related),
        seen=tuple(seen),
        fix=f"replace parts of the model before it is wrapped ({place(wrapper)}): the wrapper keeps to the parameters"
        " that it was given"
        if instead is not None
        else f"let the loss depend on {names}, or freeze {it} before the model is wrapped ({place(wrapper)}); where"
        f" only some passes use {it}, wrap it with `find_unused_parameters=True`",
        count=sum(round_.times for round_ in found),
        subjects=parameter_subjects(of.parameters)  # none of their gradients is sure to be averaged
        | ({("crash", refused.segment)} if refused is not None else frozenset()),
    )


def _in_its_place(trace: Trace, of: Wrapped, id: int) -> Site | None:
    """Where a parameter was made that is trained under the name of this one, and was not there when the model was
    wrapped."""
    name = trace.parameter(id).name
    for other in trace.parameters:
        if name and other.name == name and other.id not in of.parameters and other.passes:
            return other.site.user if other.site is not None else None
    return None


def _lost(trace: Trace, id: int) -> tuple[Site | None, str]:
    """Where the way from this parameter to the loss ends, or where it was made."""
    parameter = trace.parameter(id)
    if (end := end_of(trace, parameter)) is not None:
        return end.op.site.user, "its gradient is lost here"
    if (dropped := dropped_at(trace, id)) is not None:
        return dropped, "the result goes nowhere"
    return made_at(trace, parameter), "made here and not used for the loss"


def _refused(trace: Trace) -> Crashed | None:
    return next((event for event in trace.of(Crashed) if _WAITED in event.text), None)
