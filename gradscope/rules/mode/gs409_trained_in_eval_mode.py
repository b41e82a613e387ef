"""A part of the model is kept in evaluation mode, and is trained all the same.

Why: `eval()` changes how dropout and batch norm behave. It stops no gradient: parameters that an optimizer
holds go on changing.

Fix: where the part is to stay as it is, `part.requires_grad_(False)`, and give the optimizer the others only;
where only its batch norm is to rest, all is well.

Silent on: normalisation layers alone, parts that are frozen or in no optimizer's hands, parts that train
in training mode at some time.
"""

from collections.abc import Iterator

from gradscope.analysis.calls import Calls, calls
from gradscope.analysis.words import dotted, parameter_names, parameter_subjects, plural, where
from gradscope.events import Mode, Step
from gradscope.model import Finding, Parameter
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU())
    model = nn.Sequential(body, nn.Dropout(0.1), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train()
    body.eval()  # cause: GS409
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # effect: GS409


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU())
    model = nn.Sequential(body, nn.Dropout(0.1), nn.Linear(4, 1))
    body.requires_grad_(False)
    opt = torch.optim.SGD(model[2].parameters(), lr=0.1)
    model.train()
    body.eval()
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


@rule("GS409", name="trained-in-eval-mode", severity="note", needs=Mode)
def trained_in_eval_mode(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    told: set[int] = set()
    for mode in trace.of(Mode):
        module = trace.modules.get(mode.module)
        if mode.training or module is None or module.id == module.root or module.id in told:
            continue
        told.add(module.id)
        trained = _trained(known, module.id)
        if trained:
            yield _finding(trace, mode, trained)


def _trained(known: Calls, part: int) -> list[Parameter]:
    """The parameters of a part that steps change, beside those of its normalisation, where each call that
    trains found its layers in evaluation mode and the rest of the model in training mode."""
    members = known.members(part)
    training = [call.event for call in known.all if call.trains and call.event.grad]
    with_part = [e for e in training if members & {*e.eval_layers, *e.train_layers}]
    if not with_part or any(members & set(e.train_layers) or not e.training for e in with_part):
        return []
    resting = {layer for e in with_part for layer in e.eval_layers} - _with_matrices(known)
    return [
        p
        for p in known.trace.parameters
        if p.module in members and p.module not in resting and p.steps and p.optimizers and p.changed
    ]


def _with_matrices(known: Calls) -> set[int]:
    """The modules that are more than a normalisation: recurrent layers and attention have a mode, too, for their own
    dropout."""
    return {p.module for p in known.trace.parameters if p.module is not None and len(p.shape) > 1}


def _finding(trace: Trace, mode: Mode, trained: list[Parameter]) -> Finding:
    module = trace.modules[mode.module]
    part = f"`{dotted(trace.modules[module.root].name, module.path)}`"
    ids = [p.id for p in trained]
    steps = max(p.steps for p in trained)
    optimizer = trace.optimizers[trained[0].optimizers[0]]
    made = optimizer.site.user if optimizer.site is not None else None
    stepping = next((e.site.user for e in trace.of(Step) if e.optimizer == optimizer.id), None)
    return Finding(
        message=f"{part} is kept in evaluation mode, and is trained all the same: `eval()` stops no gradient",
        cause=mode.site.user,
        cause_label="switches dropout and batch norm, and nothing else",
        effect=stepping,
        effect_label=f"changes {plural(len(ids), 'parameter')} of it",
        related=((made, "was given them here"),) if made is not None else (),
        seen=(f"{plural(steps, 'step')} changed {parameter_names(trace, ids)}",),
        fix=f"where {part} is to stay as it is: `requires_grad_(False)` on it, and give the optimizer"
        f" ({where(made)}) the other parameters only; where only its batch norm is to rest, nothing is to be done",
        count=mode.count,
        subjects=parameter_subjects(ids),
    )
