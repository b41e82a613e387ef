"""`model.zero_grad()` where the optimizer that steps could clear its own gradients.

Why: what must be cleared is what the optimizer steps. `optimizer.zero_grad()` covers exactly
that, also after the model has been wrapped, replaced or given parameters from elsewhere;
`model.zero_grad()` covers what the model holds. Where both are the same, either is right.

Fix: call `optimizer.zero_grad()` there.

Silent on: models whose parameters several optimizers share, and gradients that no optimizer uses.
"""

from collections.abc import Iterator

from gradscope.analysis.words import code, located, plural, variable
from gradscope.events import ZeroGrad
from gradscope.fixes.calls import receiver_replaced
from gradscope.model import Finding, Optimizer
from gradscope.rules import rule
from gradscope.store import Trace


def bad_model_cleared() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.zero_grad()  # cause: GS903
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_optimizer_cleared() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


@rule("GS903", name="model-zero-grad", severity="note", default=False, needs=ZeroGrad)
def model_zero_grad(trace: Trace) -> Iterator[Finding]:
    stepping = [optimizer for optimizer in trace.optimizers.values() if optimizer.steps]
    groups: dict[tuple[str, int], list[tuple[ZeroGrad, Optimizer]]] = {}
    for event in trace.of(ZeroGrad):
        if event.by != "module" or event.site.user.kind != "user":
            continue
        covered = {p for p in event.parameters if trace.parameter(p).optimizers}
        mine = [o for o in stepping if covered & set(o.parameters)]
        if len(mine) == 1 and covered == set(mine[0].parameters):
            groups.setdefault(event.site.user.location(), []).append((event, mine[0]))
    for found in groups.values():
        event, optimizer = found[0]
        site = event.site.user
        made = optimizer.site.user if optimizer.site is not None else None
        name = variable(trace, made) or "optimizer"
        yield Finding(
            message=f"{code(trace, site, '`model.zero_grad()`')} clears what `{name}` steps",
            cause=site,
            cause_label=f"covers the same {plural(len(optimizer.parameters), 'parameter')} as `{name}.zero_grad()`",
            related=((made, "the optimizer that owns them"),) if made is not None else (),
            fix=f"call `{name}.zero_grad()` in place of {located(trace, site, '`zero_grad()`')}",
            seen=(
                f"{plural(sum(e.count for e, _ in found), 'call')} cleared what `{name}` holds, and nothing else",
            ),
            count=sum(event.count for event, _ in found),
            edits=receiver_replaced(trace, site, "zero_grad", name, made),
        )
