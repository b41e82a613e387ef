"""A tensor made under `torch.inference_mode()` came into training: torch stops.

Why: a tensor made in inference mode never gets a version counter or a record of its views: it can be
neither saved for backward nor written in place outside of that mode. Caches, embeddings and
teacher outputs that are computed once and used in training are the usual case.

Fix: compute it under `torch.no_grad()` instead, or make a normal tensor of it with `.clone()`
outside of inference mode.

Silent on: inference tensors that never meet a graph.
"""

from collections.abc import Iterator

from gradscope.analysis.failures import (
    Failure,
    Operand,
    failure_subject,
    failures,
    opening,
    operand,
    region_of,
)
from gradscope.analysis.words import located
from gradscope.fixes.calls import without_inference
from gradscope.model import Finding, Region
from gradscope.rules import rule
from gradscope.store import Trace

_SAVED = "Inference tensors cannot be saved for backward"
_WRITTEN = "Inplace update to inference tensor outside InferenceMode"
_TRAINED = "Setting requires_grad=True on inference tensor"
_COUNTED = "Inference tensors do not track version counter"


def bad_cached_features() -> None:
    import torch
    from torch import nn

    encoder, head = nn.Linear(4, 3), nn.Linear(3, 1)
    encoder.eval()
    with torch.inference_mode():
        features = encoder(torch.randn(8, 4))  # cause: GS310
    loss = head(features).mean()  # effect: GS310
    loss.backward()


def good_no_grad() -> None:
    import torch
    from torch import nn

    encoder, head = nn.Linear(4, 3), nn.Linear(3, 1)
    encoder.eval()
    with torch.no_grad():
        features = encoder(torch.randn(8, 4))
    head(features).mean().backward()


@rule("GS310", name="inference-tensor-in-training", severity="error")
def inference_tensor_in_training(trace: Trace) -> Iterator[Finding]:
    for failure in failures(trace, _SAVED, _WRITTEN, _TRAINED, _COUNTED):
        yield _explained(trace, failure)


def _explained(trace: Trace, failure: Failure) -> Finding:
    found = next((o for o in failure.operands if o.inference), None) or _behind(trace, failure)
    region = _region(trace, found)
    shown = found.shown if found is not None else "a tensor"
    made = found.made if found is not None else None
    begins, used = "inference mode begins here", located(trace, failure.site)
    return Finding(
        message=f"{shown} was made in inference mode, and {_use(failure)}",
        cause=made or failure.site,
        cause_label="an inference tensor, for ever",
        effect=failure.site,
        effect_label="torch stops: autograd cannot work with it",
        related=((opening(trace, region.site.user), begins),) if region is not None else (),
        seen=(f"{shown}: {found.facts}, made in inference mode",) if found is not None else (failure.said,),
        fix=f"compute {shown} under `torch.no_grad()` instead of inference mode"
        + (f", or use `{found.name}.clone()` in {used}" if found is not None and found.name else ""),
        count=failure.event.count,
        subjects=frozenset({failure_subject(failure.event)}),
        edits=without_inference(trace, region.site.user) if region is not None else (),
    )


def _behind(trace: Trace, failure: Failure) -> Operand | None:
    """The tensor of inference mode that the failing call was given a view of."""
    for given in failure.operands:
        if given.value is None:
            continue
        graph = trace.graph(given.value[0])
        for index in graph.upstream(given.value[1]):
            found = operand(trace, graph, graph.values[index])
            if found.inference:
                return found
    return None


def _use(failure: Failure) -> str:
    if _SAVED in failure.text:
        return "backward would need its values"
    if _WRITTEN in failure.text:
        return "is written to in place outside of it"
    if _TRAINED in failure.text:
        return "was to require a gradient"
    return "has no version to read"


def _region(trace: Trace, found: Operand | None) -> Region | None:
    if found is None or found.value is None:
        return None
    graph = trace.graph(found.value[0])
    return region_of(trace, graph, graph.values[found.value[1]], "inference_mode")
