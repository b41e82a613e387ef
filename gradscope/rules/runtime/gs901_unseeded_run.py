"""Random numbers are drawn without a seed: no run can be repeated.

Why: initial weights, dropout and shuffling come from a seed that the machine drew. Two runs
differ, and whether a change helped cannot be told from chance.

Fix: call `torch.manual_seed(…)` once, before the model is made (`random.seed` and
`numpy.random.seed` for what those draw).

Silent on: programs that draw nothing; what `random` and `numpy.random` draw, whose seeds are not watched.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import DRAWS
from gradscope.analysis.words import code, located
from gradscope.events import Unseeded
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad_no_seed() -> None:
    import torch
    from torch import nn

    torch.seed()  # what a new process does
    model = nn.Linear(4, 1)  # cause: GS901
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_seeded() -> None:
    import torch
    from torch import nn

    torch.manual_seed(1)
    model = nn.Linear(4, 1)
    model(torch.randn(8, 4))


@rule("GS901", name="unseeded-run", severity="note", default=False, needs=Unseeded)
def unseeded_run(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Unseeded):
        first = next((op for op in trace.ops if op.name in DRAWS), None)
        if first is None:
            continue
        site = first.site.user
        yield Finding(
            message="random numbers are drawn without a seed: this run cannot be repeated",
            cause=site,
            cause_label=f"{code(trace, site, 'this call')} draws the first ones",
            seen=(f"the machine drew the seed {event.seed}",),
            fix=f"call `torch.manual_seed(0)` before {located(trace, site, 'this line')}",
            edits=_seeded(trace, site),
        )


def _seeded(trace: Trace, site: Site) -> tuple[Edit, ...]:
    """`torch.manual_seed(0)` before the program's own outermost line that led there."""
    outer = next((frame for frame in site.stack if frame.path == site.path), site)
    here = Source(trace, outer.path)
    in_loop = any(isinstance(node, (ast.For, ast.While)) for node in here.file.around(outer))
    if "torch" not in here.file.imported or in_loop:
        return ()
    return here.before(here.file.statement(outer), "torch.manual_seed(0)")
