"""A weight that is all zeros was frozen: what it is multiplied with adds nothing, and nothing can change that.

Why: an adapter begins with a weight of zeros, so that it adds nothing until it is trained. Where it was there already
when a loop froze everything, or was set back to zeros and taken over, it stays what it is: the model is trained, if
anything of it is, as if the adapter did not exist.

Fix: let it require a gradient again after the line that freezes, before the optimizer is made.

Measured: the weight held nothing but zeros in each step that was looked at, no optimizer holds it, and the loss is
computed with it.
Silent on: biases; weights that the program writes to, as a target network's; weights that no loss is computed with.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.stops import frozen_by
from gradscope.analysis.words import located, parameter_names, parameter_subjects
from gradscope.events import Backward, OptimizerMade, RequiresGrad, ZeroWeights
from gradscope.model import Finding, Parameter
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, base: nn.Module):
            super().__init__()
            self.base, self.down, self.up = base, nn.Linear(4, 2, bias=False), nn.Linear(2, 4, bias=False)
            nn.init.zeros_(self.up.weight)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.base(x) + self.up(self.down(x))
            return result

    model, head = Adapted(nn.Linear(4, 4)), nn.Linear(4, 1)
    for p in model.parameters():
        p.requires_grad_(False)  # cause: GS229
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(6):
        loss = head(model(torch.randn(8, 4))).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS229
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, base: nn.Module):
            super().__init__()
            self.base, self.down, self.up = base, nn.Linear(4, 2, bias=False), nn.Linear(2, 4, bias=False)
            nn.init.zeros_(self.up.weight)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.base(x) + self.up(self.down(x))
            return result

    model, head = Adapted(nn.Linear(4, 4)), nn.Linear(4, 1)
    for p in model.base.parameters():
        p.requires_grad_(False)
    trained = [p for p in [*model.parameters(), *head.parameters()] if p.requires_grad]
    opt = torch.optim.SGD(trained, lr=0.1)
    for _ in range(6):
        loss = head(model(torch.randn(8, 4))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS229", name="frozen-at-zero", severity="warning", needs=ZeroWeights)
def frozen_at_zero(trace: Trace) -> Iterator[Finding]:
    zero = {id for event in trace.of(ZeroWeights) for id in event.frozen}
    if not zero:
        return
    known = paths(trace)
    by_line: dict[tuple[str, int], list[tuple[Parameter, RequiresGrad]]] = {}
    for p in trace.parameters:
        if p.id in zero and not (p.requires_grad or p.optimizers or p.passes or p.updates) and p.registered:
            froze = frozen_by(trace, p)
            if froze is not None and _in_a_loss(known, p):
                by_line.setdefault(froze.site.user.location(), []).append((p, froze))
    for found in by_line.values():
        yield _finding(trace, found)


def _in_a_loss(known: Paths, p: Parameter) -> bool:
    """Whether a loss was computed with it, beside something that was trained."""
    return bool(known.uses(p.id))


def _finding(trace: Trace, found: list[tuple[Parameter, RequiresGrad]]) -> Finding:
    froze = found[0][1].site.user
    zero = [p for p, _ in found]
    owners = {p.module for p in zero}
    beside = [
        p for p in trace.parameters if p.module in owners and not p.requires_grad and p.module is not None
    ]
    names = parameter_names(trace, [p.id for p in zero])
    whole = parameter_names(trace, [p.id for p in (beside or zero)])
    are, them = ("is", "it") if len(zero) == 1 else ("are", "them")
    event = next(iter(trace.of(Backward)), None)
    made = next((e.site.user for e in trace.of(OptimizerMade) if trace.optimizers[e.optimizer].steps), None)
    before = f", before {located(trace, made)}" if made is not None else ""
    return Finding(
        message=f"{names} {are} all zeros and frozen: nothing is added by {them}, and nothing can train that",
        cause=froze,
        cause_label="freezes the zeros with the rest",
        effect=event.site.user if event is not None else None,
        effect_label="goes past",
        related=((made, "made without"),) if made is not None else (),
        seen=(
            f"{names} held nothing but zeros in each step that was looked at; no optimizer holds {them}, and"
            f" the loss is computed with {them}",
        ),
        fix=f"let {whole} require a gradient again after {located(trace, froze)}{before}, and give"
        f" {'it' if len(zero) == len(beside) == 1 else 'them'} to the optimizer",
        subjects=parameter_subjects(p.id for p in zero),
    )
