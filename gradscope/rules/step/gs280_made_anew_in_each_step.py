"""A layer is made anew in each step of the training loop: none of them is ever trained.

Why: `nn.Linear(…)` draws new weights each time it is called. A layer made inside the loop takes part in one pass, gets
its gradient, and is thrown away with it; the next step has another one, drawn at random. What comes after it learns
from a mixture that changes in every step.

Fix: make it once, before the loop, and give its parameters to the optimizer.

Measured: one line made three layers or more that took part in one pass each, with parameters that got a gradient there
and no step, in passes whose other parameters were stepped. A note where it works on data: a random layer may be meant
to change them.
Silent on: layers of which a pass went through twice, copies that are trained or updated by hand, layers that were
loaded or frozen; those made in `forward` are of GS214.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.feeds import drawn_here
from gradscope.analysis.loop import short_lived
from gradscope.analysis.made import within_a_call
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, parameter_subjects, plural, variable
from gradscope.events import Backward
from gradscope.model import Finding, Parameter, Site
from gradscope.rules import rule
from gradscope.store import Trace

FEW = 3  # layers


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    enc, head = nn.Linear(8, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(32, 8)
        between = nn.Linear(16, 16)  # cause: GS280
        loss = (head(torch.relu(between(enc(x)))) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS280
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    enc, between, head = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*enc.parameters(), *between.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(32, 8)
        loss = (head(torch.relu(between(enc(x)))) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS280", name="made-anew-in-each-step", severity="warning")
def made_anew_in_each_step(trace: Trace) -> Iterator[Finding]:
    lines: dict[Site, list[Parameter]] = {}
    for p in trace.parameters:
        root = trace.modules[trace.modules[p.module].root] if p.module in trace.modules else None
        if root is not None and root.site is not None and not within_a_call(root.site) and p.site is not None:
            lines.setdefault(p.site.user, []).append(p)
    for site, own in lines.items():
        if len({p.module for p in own}) >= FEW and all(map(short_lived, own)) and drawn_here(trace, own):
            effect = _beside_others(trace, {p.id for p in own})
            if effect is not None:
                yield _finding(trace, site, own, effect)


def _beside_others(trace: Trace, own: set[int]) -> Site | None:
    """The pass that fills their gradients, with those of parameters that are stepped."""
    for event in trace.of(Backward):
        if not own.isdisjoint(event.filled) and any(trace.parameter(id).steps for id in event.filled):
            return event.site.user
    return None


def _works_on_data(trace: Trace, own: set[int]) -> bool:
    """Whether what these parameters are applied to has no gradient itself."""
    known = paths(trace)
    for graph in trace.graphs:
        for op in graph.ops:
            parts = [(i, known.parameter_of((graph.id, known.memory(graph.id, i)))) for i in op.inputs]
            if op.nodes and any(p is not None and p.id in own for _, p in parts):
                if any(p is None and graph.values[i].requires_grad for i, p in parts):
                    return False
    return True


def _finding(trace: Trace, site: Site, own: list[Parameter], effect: Site) -> Finding:
    count = len({p.module for p in own})
    name = variable(trace, site)
    it = f"`{name}`" if name else "it"
    return Finding(
        message=f"{code(trace, site, 'a layer')} is made anew in each step: none of the {count} is trained",
        cause=site,
        cause_label="draws new weights each time",
        effect=effect,
        effect_label="fills gradients of what is thrown away",
        seen=(f"{plural(count, 'layer')} came from this line; each got one gradient and no step",),
        fix=f"make {it} once, before the loop ({located(trace, site)}), and give its parameters to the optimizer",
        severity="note" if _works_on_data(trace, {p.id for p in own}) else "",
        count=count,
        subjects=parameter_subjects(p.id for p in own),
    )
