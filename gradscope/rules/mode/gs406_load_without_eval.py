"""Loaded weights were used for inference with the model still in training mode.

Why: `load_state_dict` brings the weights, not the mode: a new module is in training mode.
Dropout stays active and batch norm uses the batch at hand (and changes the loaded
statistics), so the same input gives different results, worse than those in training.

Fix: call `model.eval()` after loading.

Silent on: loading to train on; models without such layers; dropout left on by choice; layers that
the program itself put in training mode one by one (batch statistics at test time).
"""

from collections.abc import Iterator

from gradscope.analysis.calls import Calls, calls
from gradscope.analysis.words import located, numbers
from gradscope.analysis.writes import loads_state
from gradscope.events import Mode, ModuleCall
from gradscope.fixes.source import Source, receiver
from gradscope.model import Edit, Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad_inference_after_loading() -> None:
    import torch
    from torch import nn

    saved = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5)).state_dict()
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
    model.load_state_dict(saved)  # cause: GS406
    with torch.no_grad():
        model(torch.randn(8, 4)).argmax(dim=1).tolist()  # effect: GS406


def good_eval_after_loading() -> None:
    import torch
    from torch import nn

    saved = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5)).state_dict()
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
    model.load_state_dict(saved)
    model.eval()
    with torch.no_grad():
        model(torch.randn(8, 4)).argmax(dim=1).tolist()


@rule("GS406", name="load-without-eval", severity="error")
def load_without_eval(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    loads: dict[int, Op] | None = None
    chosen = {event.module for event in trace.of(Mode) if event.training}
    told: set[tuple[tuple[str, int], int]] = set()
    for call in known.all:
        train = known.as_in_training(call.event)
        if not train or call.used or call.entry.kind != "user" or chosen.issuperset(train):
            continue
        if call.event.eval_layers and all(known.dropout(layer) for layer in train):
            continue
        mine = [p.id for p in known.parameters(call.event)]
        if known.trained & set(mine):
            continue  # GS401's
        loads = _loads(trace, known) if loads is None else loads
        theirs = [p.id for layer in train for p in known.parameters_of(layer)]  # of normalising layers
        load = next((loads[number] for number in theirs or mine if number in loads), None)
        key = (load.site.user.location(), known.called(call.event)) if load is not None else None
        if load is not None and key is not None and key not in told:
            told.add(key)
            yield _finding(trace, known, call.event, load, "" if _inference(known, call.event) else "note")


def _inference(known: Calls, event: ModuleCall) -> bool:
    return not event.grad or known.consumed(event)


def _loads(trace: Trace, known: Calls) -> dict[int, Op]:
    """Parameter → the op of `load_state_dict` that filled it."""
    found: dict[int, Op] = {}
    for graph in trace.graphs:
        for op in graph.writing:
            if loads_state(op):
                parameter = known.paths.parameter_of((graph.id, op.writes[0]))
                if parameter is not None:
                    found.setdefault(parameter.id, op)
    return found


def _finding(trace: Trace, known: Calls, event: ModuleCall, load: Op, severity: str) -> Finding:
    name = known.name(event)
    train = known.as_in_training(event)
    seen = [
        f"running statistics moved from {numbers(row['before'])} to {numbers(row['after'])}"
        for row in (event.stats or ())[:1]
    ]
    return Finding(
        message=f"{name} was loaded and used in training mode: {known.layers(train)} behaved as in training",
        cause=load.site.user,
        cause_label="loads the weights; the model stays in training mode",
        effect=event.site.user,
        effect_label="inference in training mode",
        seen=tuple(seen),
        fix=f"call `{name.strip('`')}.eval()` after {located(trace, load.site.user, 'loading')}",
        count=event.count,
        severity=severity,
        edits=_eval_after(trace, load.site.user),
        subjects=frozenset({("module", known.called(event)), ("call", event.site.user.location())}),
    )


def _eval_after(trace: Trace, load: Site) -> tuple[Edit, ...]:
    name, here = receiver(trace, load, "load_state_dict"), Source(trace, load.path)
    return here.after(here.file.statement(load), f"{name}.eval()") if name else ()
