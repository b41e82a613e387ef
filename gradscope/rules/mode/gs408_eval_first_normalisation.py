"""Spectral norm is used in evaluation mode before it has ever run in training mode.

Why: `torch.nn.utils.spectral_norm` estimates a weight's largest singular value from a random
vector that each training forward improves. In evaluation mode the vector stays as it is: used
first, the weight is divided by a random number and is not normalised at all.

Fix: run a few forwards in training mode first, load a trained state, or use
`torch.nn.utils.parametrizations.spectral_norm`, which iterates when it is made.

Silent on: layers that were trained or loaded; the newer parametrization; weight norm, which
computes its norm in every forward.
"""

from collections.abc import Iterator

from gradscope.analysis.ops import MIXED_IN
from gradscope.analysis.reach import paths
from gradscope.analysis.words import located, numbers
from gradscope.events import Spectral
from gradscope.fixes.blocks import spectral_norm_renewed
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

OFF = 0.1  # from 1, which spectral norm is there for
BENT = 0.01  # from 1, the length of each vector of an estimate


def bad_evaluated_first() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.utils.spectral_norm(nn.Linear(16, 32)), nn.ReLU())
    model.eval()
    with torch.no_grad():
        model(torch.randn(8, 16)).mean().item()  # cause: GS408


def good_trained_first() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.utils.spectral_norm(nn.Linear(16, 32)), nn.ReLU())
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(30):
        opt.zero_grad()
        model(torch.randn(8, 16)).pow(2).mean().backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        model(torch.randn(8, 16)).mean().item()


@rule("GS408", name="eval-first-normalisation", severity="warning", needs=Spectral)
def eval_first_normalisation(trace: Trace) -> Iterator[Finding]:
    groups: dict[int, list[Spectral]] = {}
    for event in trace.of(Spectral):
        if event.norm is not None and abs(event.norm - 1) > OFF:
            groups.setdefault(event.called, []).append(event)
    for called, events in groups.items():
        event = events[0]
        site = event.site.user
        root = trace.modules[called]
        names = []
        for one in events[:3]:
            module = trace.modules[one.module]
            path = f"{module.path}.{one.name}" if module.path else one.name
            names.append(f"the largest singular value of `{path}` is {numbers(one.norm)}, not 1")
        name = root.name or root.cls
        if all(abs(one.vector - 1) > BENT for one in events):
            yield _averaged(trace, events, name, names)
            continue
        yield Finding(
            message=f"`{name}` is evaluated before spectral norm ran in training mode: its weights are not normalised",
            cause=site,
            cause_label="in evaluation mode the estimate stays as it was drawn",
            seen=tuple(names),
            fix=f"call `{name}` in training mode first, or use `torch.nn.utils.parametrizations.spectral_norm`",
            edits=tuple(edit for path in trace.sources for edit in spectral_norm_renewed(trace, path)),
        )


def _averaged(trace: Trace, events: list[Spectral], name: str, seen: list[str]) -> Finding:
    """What was drawn or iterated is a unit vector: this one was written to."""
    site = events[0].site.user
    line = _mixes_weights(trace)
    lengths = " to ".join(numbers(one(event.vector for event in events)) for one in (min, max))
    return Finding(
        message=f"`{name}` is evaluated with vectors of spectral norm that were averaged: its weights are not"
        " normalised",
        cause=line or site,
        cause_label="averages all of the state, the vectors too"
        if line
        else "divides by an estimate that is too small",
        effect=site if line else None,
        effect_label="divides by an estimate that is too small",
        seen=(
            f"the vectors of spectral norm in `{name}` are {lengths} long; one that was drawn or iterated is 1 long",
            *seen,
        ),
        why="the vectors point where the weight is largest, at each step elsewhere: their average is shorter than each"
        " of them and points nowhere, and what it gives for the largest singular value is too small",
        fix=f"average parameters only{f', in {located(trace, line)}' if line else ''}: copy the buffers (`weight_u`,"
        " `weight_v`) as they are in the trained model",
    )


def _mixes_weights(trace: Trace) -> Site | None:
    """The one line of the program's own that puts a share of a trained weight into another tensor."""
    known = paths(trace)
    found: dict[tuple[str, int], Site] = {}
    for graph in trace.graphs:
        for op in graph.writing:
            if op.name not in MIXED_IN or op.site.kind != "user":
                continue
            held = (known.parameter_of((graph.id, known.memory(graph.id, index))) for index in op.inputs[1:])
            if any(p is not None and p.steps for p in held):
                found.setdefault(op.site.user.location(), op.site.user)
    return next(iter(found.values())) if len(found) == 1 else None
