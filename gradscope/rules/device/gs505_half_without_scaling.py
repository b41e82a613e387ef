"""Passes go through float16 and no gradient scaler is used: small gradients become zero.

Why: the smallest number of float16 is 6e-8, and below 6e-5 it has ever fewer digits. Gradients of a mean over a batch,
or of a term with a small weight, are often smaller: they arrive as zero, or as a few steps of that size, and Adam
divides what is left by its own magnitude. `torch.amp.GradScaler` multiplies the loss before the pass and divides the
gradients before the step; bfloat16 has the range of float32 and needs none.

Fix: `scaler.scale(loss).backward()`, `scaler.step(optimizer)`, `scaler.update()`; or `dtype=torch.bfloat16`.

Measured: a pass went through float16 values back to parameters of float32 that are stepped; no gradient scaler was
called in the whole run. A note: the loss may be scaled by hand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.reach import Paths, passes, paths
from gradscope.analysis.text import entered_around
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.events import Backward, Scaler
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

HALF = "float16"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 4)
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):  # cause: GS505
            out = model(x)
        loss = 1e-4 * (out.float() - x[:, :1]).pow(2).mean()
        loss.backward()  # effect: GS505
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 4)
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(x)
        loss = 1e-4 * (out.float() - x[:, :1]).pow(2).mean()
        loss.backward()
        opt.step()


@rule("GS505", name="half-without-scaling", severity="note")
def half_without_scaling(trace: Trace) -> Iterator[Finding]:
    if any(True for _ in trace.of(Scaler)):
        return
    known = paths(trace)
    for event in known.backwards:
        if event.call != "backward" or not event.filled:
            continue
        trained = [p for id in event.filled if (p := trace.parameter(id)).steps and p.dtype == "float32"]
        through = _half(known, event) if trained else None
        if through is not None:
            yield _finding(trace, known, event, through, [p.id for p in trained])
            return


def _half(known: Paths, event: Backward) -> Op | None:
    """The first call of the pass's graph that gave float16 values with a graph."""
    graph = known.graph(event.graph)
    for op in graph.ops:
        if op.nodes and op.outputs and op.name != "to":
            made = graph.values[op.outputs[0]]
            if made.dtype == HALF and made.requires_grad and (graph.id, made.index) in known.used.order:
                return op
    return None


def _finding(trace: Trace, known: Paths, event: Backward, op: Op, ids: list[int]) -> Finding:
    site = op.site.user
    region = entered_around(
        trace, [site, *op.site.stack[::-1]], "autocast"
    )  # its own line, or one that led to it
    place = region or site
    return Finding(
        message=f"{code(trace, site, f'`{op.name}`')} works in float16, and no gradient scaler is used: gradients below"
        " 6e-8 become 0",
        cause=place,
        cause_label="float16 from here" if region is not None else "float16",
        effect=event.site.user,
        effect_label="the gradients of all that went through it are float16, too",
        seen=(
            f"{passes(known.alike(event))} of this line went through float16 back to {parameter_names(trace, ids)},"
            " which are float32; no gradient scaler was called in the run",
        ),
        fix="scale the loss: `scaler = torch.amp.GradScaler()` once, `scaler.scale(loss).backward()`,"
        f" `scaler.step(optimizer)`, `scaler.update()`; or take `dtype=torch.bfloat16` in {located(trace, place)}",
        edits=_in_bfloat16(trace, region) if region is not None else (),
        subjects=parameter_subjects(ids),
    )


def _in_bfloat16(trace: Trace, region: Site) -> Edits:
    here = Source(trace, region.path)
    call = here.file.at(region)
    given = call.keywords if isinstance(call, ast.Call) else []
    dtype = next((k.value for k in given if k.arg == "dtype"), None)
    named = isinstance(dtype, ast.Attribute) and dtype.attr in ("float16", "half")
    return here.replace(dtype, "torch.bfloat16") if named and dtype is not None else ()
