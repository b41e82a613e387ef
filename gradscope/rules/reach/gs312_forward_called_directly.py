"""`forward` of a module with hooks was called directly: the hooks did not run.

Why: `module(x)` runs the hooks around `forward`, `module.forward(x)` only `forward`. Weight norm,
spectral norm, pruning, feature extractors and wrappers work through hooks.

Fix: call the module: `model(x)`.

Silent on: modules without hooks; `super().forward(x)` inside of a module's own forward.
"""

from collections.abc import Iterator
from typing import Any

from gradscope.analysis.names import names_of
from gradscope.analysis.reach import paths
from gradscope.analysis.words import listed, parameter_subjects, source
from gradscope.events import DirectForward
from gradscope.fixes.calls import receiver_in_place_of
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad_hook_skipped() -> None:
    import torch
    from torch import nn

    kept: list[torch.Tensor] = []
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    model.register_forward_hook(lambda module, given, result: kept.append(result.detach()))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        loss = model.forward(torch.ones(2, 3)).pow(2).mean()  # cause: GS312
        loss.backward()
        opt.step()


def good_called() -> None:
    import torch
    from torch import nn

    kept: list[torch.Tensor] = []
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    model.register_forward_hook(lambda module, given, result: kept.append(result.detach()))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.ones(2, 3)).pow(2).mean().backward()
        opt.step()


@rule(
    "GS312",
    name="forward-called-directly",
    severity="warning",
    over=("GS206", "GS301", "GS302", "GS306"),
    needs=DirectForward,
)
def forward_called_directly(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(DirectForward):
        yield _finding(trace, event)


def _finding(trace: Trace, event: DirectForward) -> Finding:
    site = event.site.user
    holder = (names_of(trace).receiver(site) or "").removesuffix(".forward") or "module"
    hooks = [f"`{name}`" for name in dict.fromkeys(event.hooks)]
    count = len(event.hooks)
    text = source(trace, site)
    called = text.replace(".forward(", "(", 1) if ".forward(" in text and len(text) < 60 else f"{holder}(…)"
    return Finding(
        message=f"`{holder}.forward(…)` goes past the {'hook' if count == 1 else f'{count} hooks'} of `{holder}`",
        cause=site,
        cause_label="calls `forward` itself",
        seen=(
            f"not run in this call: the {'hook' if count == 1 else 'hooks'} {listed(hooks)} of `{holder}`",
        ),
        fix=f"call the module: `{called}`",
        count=event.count,
        edits=receiver_in_place_of(trace, site, "forward"),
        subjects=_unnormalised(trace, event) | {("taken in", site.location())},
    )


def _unnormalised(trace: Trace, event: DirectForward) -> frozenset[Any]:
    """The parameters without a gradient of the modules that are called there: hooks that did not run make their
    weights of them."""
    modules = {event.module} | {trace.parameter(id).module for id in _taken_at(trace, event.site.user)}
    return parameter_subjects(p.id for p in trace.parameters if p.module in modules and not p.passes)


def _taken_at(trace: Trace, site: Site) -> set[int]:
    """The parameters that operations under this line took, as they are or as what was made of them beforehand."""
    known, found = paths(trace), set()
    for graph in trace.graphs:
        for op in graph.ops:
            if not any(frame.span() == site.span() for frame in op.site.stack):
                continue
            begun = [value for value in op.inputs if graph.values[value].op is None]
            for key in known.flow([(graph.id, value) for value in begun]).order:
                parameter = known.value(key).parameter
                if parameter is not None:
                    found.add(parameter)
    return found
