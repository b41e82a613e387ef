"""Updates by hand leave a parameter out, whose gradients add up over the whole run.

Why: a loop that updates parameters itself changes what it reads, and nothing else. What torch computes a layer's weight
from, as `torch.nn.utils.parametrizations.orthogonal` does, is a parameter of another name: `layer.weight` gives a new
tensor each time, which has no `.grad`, and what is written into it is lost. `model.parameters()` gives all of them.

Fix: go through `model.parameters()`, or freeze what is meant to stay as it is.

Measured: the gradients that each parameter got, and what used or cleared them. Silent on: gradients that anything
reads, uses or clears; models that an optimizer steps as well; parameters of another model than those that are updated.
A note where it is a parameter like all others, which may be meant to stay as it is.
"""

from collections.abc import Iterator

from gradscope.analysis.gradients import gradients
from gradscope.analysis.loop import settled
from gradscope.analysis.words import located, parameter_names, parameter_subjects, plural
from gradscope.events import Update
from gradscope.model import Finding, Parameter
from gradscope.rules import rule
from gradscope.store import Trace

MANY = 3  # passes, updates
COMPUTES = ".parametrizations."  # in the name of what torch computes a tensor of a module from


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    x = torch.randn(64, 3)
    y = x.flip(1) + 0.5
    for _ in range(10):
        loss = (layer(x) - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (layer.weight, layer.bias):
                if p.grad is not None:
                    p -= 0.1 * p.grad  # type: ignore[assignment, operator]  # cause: GS277
                    p.grad = None


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    x = torch.randn(64, 3)
    y = x.flip(1) + 0.5
    for _ in range(10):
        loss = (layer(x) - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for p in layer.parameters():
                p -= 0.1 * p.grad  # type: ignore[misc, operator]
                p.grad = None


@rule("GS277", name="left-out-by-hand", severity="warning", over=("GS784",), needs=Update)
def left_out_by_hand(trace: Trace) -> Iterator[Finding]:
    if not settled(trace) or any(optimizer.steps for optimizer in trace.optimizers.values()):
        return
    lines = {e.parameter: e for e in trace.of(Update) if e.used}
    trained = [p for p in trace.parameters if p.updates >= MANY and p.id in lines]
    models: dict[int, list[Parameter]] = {}
    for p in trace.parameters:
        if _untouched(trace, p) and (root := _root(trace, p)) is not None:
            models.setdefault(root, []).append(p)
    for root, left in models.items():
        own = [p for p in trained if _root(trace, p) == root]
        if own:
            yield _finding(trace, left, own, lines[own[-1].id])


def _untouched(trace: Trace, p: Parameter) -> bool:
    """Whether it gets gradients again and again, and nothing of the program has looked at them."""
    used = p.steps or p.updates or p.changed or p.optimizers or p.reads or p.taken or p.handed
    if used or p.passes < MANY or not p.registered:
        return False
    return not any(p.id in fill.cleared for fill in gradients(trace).fills)


def _root(trace: Trace, p: Parameter) -> int | None:
    module = trace.modules.get(p.module) if p.module is not None else None
    return module.root if module is not None else None


def _finding(trace: Trace, left: list[Parameter], own: list[Parameter], line: Update) -> Finding:
    ids, site = [p.id for p in left], line.site.user
    computes = [p for p in left if COMPUTES in f".{p.name}"]
    names, several = parameter_names(trace, ids), len(left) > 1
    fix = f"go through `parameters()` of the model in {located(trace, site)}"
    if computes:
        whole, _, rest = f".{computes[0].name}".partition(COMPUTES)
        weight = ".".join(part for part in (whole.strip("."), rest.partition(".")[0]) if part)
        fix += (
            f": it has `{computes[0].name}`, from which torch computes `{weight}` anew each time it is read"
        )
    else:
        fix += f", or freeze {names} with `requires_grad_(False)`, where {'they are' if several else 'it is'} to stay"
    return Finding(
        message=f"the updates by hand leave out {names}, which {'get' if several else 'gets'} gradients all the time",
        cause=site,
        cause_label="changes what it is run for, and nothing else",
        seen=(
            f"{plural(max(p.passes for p in left), 'pass')} gave {'them' if several else 'it'} a gradient;"
            " nothing has read, used or cleared one",
            f"{plural(len(own), 'other parameter')} of the model {'were' if len(own) > 1 else 'was'} updated"
            f" {plural(max(p.updates for p in own), 'time')}",
        ),
        fix=fix,
        severity="" if computes else "note",
        subjects=parameter_subjects([*ids, *(p.id for p in own)]),  # what trains badly does so since
    )
