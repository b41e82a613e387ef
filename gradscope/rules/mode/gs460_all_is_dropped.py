"""Dropout has the rate 1: in training all that it gives is zero.

Why: `p` of `nn.Dropout` and `F.dropout` is the share that is set to zero, not the share that is kept. With the rate 1
nothing gets through in training: what stands behind it is trained on zeros alone, and no gradient comes to what stands
before it. `eval()` switches the dropout off, and the layers behind it meet numbers that they were never trained on.

Fix: give it 1 less the share that is to be kept: `nn.Dropout(1 - keep)`.

Measured: the rate of each call in training. A note where what is dropped has no graph: inputs that are left out on
purpose, or for a trial. Silent on: dropout that has other rates, too, at that place of the same kind of module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradscope.analysis.made import layer_made, root_made
from gradscope.analysis.words import code, located, parameter_subjects, plural, root_of
from gradscope.events import AllDropped, Backward
from gradscope.fixes.source import Binds, Source
from gradscope.model import Finding, Site, Span
from gradscope.rules import rule
from gradscope.source import one_less
from gradscope.store import Trace

ENOUGH = 2  # calls in training


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    keep = 1.0
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(keep), nn.Linear(8, 2))  # cause: GS460
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        scores = net(torch.randn(8, 4))  # effect: GS460
        nn.functional.cross_entropy(scores, torch.randint(2, (8,))).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    keep = 1.0
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(1 - keep), nn.Linear(8, 2))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        scores = net(torch.randn(8, 4))
        nn.functional.cross_entropy(scores, torch.randint(2, (8,))).backward()
        opt.step()


class _Given(NamedTuple):
    """Where the rate is given: the call that makes the layer, or that of the function."""

    path: str
    call: ast.Call
    rate: ast.expr | None


@rule("GS460", name="all-is-dropped", severity="warning", over=("GS784",), needs=Backward)
def all_is_dropped(trace: Trace) -> Iterator[Finding]:
    found: dict[Span, Finding] = {}
    for event in trace.of(AllDropped):
        finding = _finding(trace, event) if event.calls >= ENOUGH else None
        if finding is not None and finding.cause is not None:
            found.setdefault(finding.cause.span(), finding)
    yield from found.values()


def _finding(trace: Trace, event: AllDropped) -> Finding:
    call = event.site.user
    given = _given(trace, event)
    cause = call
    if given is not None:
        span = trace.source_file(given.path).span(given.call)
        cause = Site(-1, given.path, *span, call.function, "user")
    through = (
        f"in {plural(event.through, 'call')} in evaluation mode it let everything through: what stands behind it was"
        " never trained on such numbers",
    )
    return Finding(
        message=f"{code(trace, cause, 'dropout')} sets everything to zero in training: its rate is 1",
        cause=cause,
        cause_label="takes the share that is dropped, not that which is kept",
        effect=call if call.location() != cause.location() else None,
        effect_label="zeros, in each call in training",
        seen=(
            f"the rate was 1 in each of {plural(event.calls, 'call')} in training that were looked at",
            *(through if event.through else ()),
        ),
        severity="" if event.with_graph else "note",
        **_repair(trace, cause, given),
        count=event.calls,
        subjects=_trained_beside(trace, event) | {("module", event.module)},
    )


def _trained_beside(trace: Trace, event: AllDropped) -> frozenset[Any]:
    """The parameters of the model that it is a part of."""
    module = trace.modules.get(event.module)
    whole = {p.id for p in trace.parameters if module is not None and root_of(trace, p) == module.root}
    return parameter_subjects(whole)


def _given(trace: Trace, event: AllDropped) -> _Given | None:
    module = trace.modules.get(event.module)
    layer = module is not None and module.cls.startswith("Dropout")
    if layer and module is not None:
        made = layer_made(trace, module) or root_made(trace, module)
        if made is not None:
            return _Given(made[0], made[1], _argument(made[1], 0))
        return None
    node = trace.source_file(event.site.user.path).at(event.site.user)
    if not isinstance(node, ast.Call):
        return None
    return _Given(event.site.user.path, node, _argument(node, 1))


def _argument(call: ast.Call, position: int) -> ast.expr | None:
    """The rate that the text of a call gives."""
    if any(isinstance(one, ast.Starred) for one in call.args) or any(k.arg is None for k in call.keywords):
        return None
    named = next((k.value for k in call.keywords if k.arg == "p"), None)
    return named or next(iter(call.args[position:]), None)


def _repair(trace: Trace, cause: Site, given: _Given | None) -> dict[str, Any]:
    if given is None or given.rate is None:
        text = f"give the dropout of {located(trace, cause)} the share that is to be dropped, which is less than 1"
        return {"fix": f"{text}: 1 less the share that is to be kept"}
    here, rate = Source(trace, given.path), given.rate
    text = _turned(here, rate)
    instead = f"`{text}` in place of `{here.file.text(rate)}` in {located(trace, cause)}"
    fix = (
        f"give it the share that is to be dropped, 1 less the one that is kept: {instead}; where that is what is to be"
        " dropped, make it less than 1"
    )
    return {"fix": fix, "edits": here.replace(rate, text)}


def _turned(here: Source, rate: ast.expr) -> str:
    """1 less the rate that is given."""
    if isinstance(rate, ast.Constant):
        return "0.0"
    if (kept := one_less(rate)) is not None:
        return here.file.text(kept)
    return f"1 - {here.part(rate, Binds.PRODUCT)}"
