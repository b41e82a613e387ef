"""An average of the weights was begun before the checkpoint was loaded: it holds the weights of a new network.

Why: the average starts as a copy of the parameters. A copy that is taken before `load_state_dict()` is one of random
weights, and the load does not reach it. With a decay near 1 it takes thousands of steps until nothing of that is left:
the training goes on where it was, and what is evaluated with the average is next to untrained.

Fix: take the copies behind the load, or save the average in the checkpoint and load it, too.

Measured: how much of what the load had replaced, in the largest parameter, was in the weights of a later evaluation,
after steps; the part of them is looked at that is no multiple of what was loaded.
Silent on: copies that come back as they were; loads into what had been trained; shares below a tenth.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.words import located, parameter_name, parameter_subjects, percent, user
from gradscope.events import ReplacedByLoad
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    saved: dict[str, torch.Tensor] = {}
    for run in range(2):
        model = nn.Linear(16, 8)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        average = {name: p.detach().clone() for name, p in model.named_parameters()}  # cause: GS396
        if run:
            model.load_state_dict(saved)
        for _ in range(2):
            x = torch.randn(32, 16)
            opt.zero_grad()
            (model(x) - x[:, :8] * 2).square().mean().backward()
            opt.step()
            for name, p in model.named_parameters():
                average[name] = 0.99 * average[name] + 0.01 * p.detach()
        saved = copy.deepcopy(model.state_dict())
        for name, p in model.named_parameters():
            p.data = average[name]
        with torch.no_grad():
            x = torch.randn(32, 16)
            print((model(x) - x[:, :8] * 2).square().mean())  # effect: GS396


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    saved: dict[str, torch.Tensor] = {}
    for run in range(2):
        model = nn.Linear(16, 8)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        if run:
            model.load_state_dict(saved)
        average = {name: p.detach().clone() for name, p in model.named_parameters()}
        for _ in range(2):
            x = torch.randn(32, 16)
            opt.zero_grad()
            (model(x) - x[:, :8] * 2).square().mean().backward()
            opt.step()
            for name, p in model.named_parameters():
                average[name] = 0.99 * average[name] + 0.01 * p.detach()
        saved = copy.deepcopy(model.state_dict())
        for name, p in model.named_parameters():
            p.data = average[name]
        with torch.no_grad():
            x = torch.randn(32, 16)
            print((model(x) - x[:, :8] * 2).square().mean())


@rule("GS396", name="average-begun-before-the-load", severity="warning", needs=ReplacedByLoad)
def average_begun_before_the_load(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(ReplacedByLoad):
        load = user(trace.site(event.load))
        if load is not None:
            yield _finding(trace, event, load, user(trace.site(event.copied)))


def _finding(trace: Trace, event: ReplacedByLoad, load: Site, copied: Site | None) -> Finding:
    name, share = parameter_name(trace, event.parameter), percent(event.left or 0.0)
    begun = f"the copies of {located(trace, copied)}" if copied is not None else "the copies of the average"
    return Finding(
        message=f"{share} of the weights that are evaluated are those from before the load: an average was begun with"
        " them",
        cause=copied or load,
        cause_label="copies weights that the load then replaces"
        if copied is not None
        else "replaces the weights, but not their copies in the average",
        effect=event.site.user,
        effect_label=f"is evaluated with {share} of the weights before the load",
        related=((load, "loads the parameters, and not the copies"),) if copied is not None else (),
        seen=(
            *((f"a copy was equal to `{name}` right before the load",) if copied is not None else ()),
            f"after the load and further steps {share} of what it had replaced in `{name}` was in the weights of the"
            " evaluation",
        ),
        fix=f"take {begun} after {located(trace, load)}, or save them in the checkpoint and load them beside it",
        count=1,
        subjects=parameter_subjects([event.parameter]),
    )
