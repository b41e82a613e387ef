"""The norm that gradients are clipped by is computed in float16, and overflows: they are all multiplied by zero.

Why: float16 ends at 65504, so the square of a gradient of 256 is infinite already, and so is the sum of many smaller
ones. The norm is then infinite, `max_norm / norm` is 0, and what should have been made shorter is gone: the steps use
gradients of exactly zero, and the model stays as it is, with no error and no NaN.

Fix: convert before squaring and adding up: `g.float().pow(2).sum()`.

Measured: before every step that was looked at, a line made finite numbers of float16 infinite, a product with 0 came
after it, and all gradients were exactly zero when the step began.
Silent on: overflows that only some steps have, as with a loss scale that is being found; steps that are left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.words import code, located, parameter_subjects, plural, user
from gradscope.events import HalfOverflow
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 3  # steps


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(64, 8)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), 400 * x[:, :1]).backward()
        grads = [p.grad.half() for p in model.parameters() if p.grad is not None]
        norm = sum(g.pow(2).sum() for g in grads) ** 0.5  # cause: GS455
        for p, g in zip(model.parameters(), grads, strict=True):
            p.grad = (g * (1.0 / (norm.float() + 1e-6)).clamp(max=1.0)).float()  # effect: GS455
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(64, 8)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), 400 * x[:, :1]).backward()
        grads = [p.grad.half() for p in model.parameters() if p.grad is not None]
        norm = sum(g.float().pow(2).sum() for g in grads) ** 0.5
        for p, g in zip(model.parameters(), grads, strict=True):
            p.grad = (g * (1.0 / (norm + 1e-6)).clamp(max=1.0)).float()
        opt.step()


@rule(
    "GS455",
    name="norm-beyond-its-type",
    severity="warning",
    over=("GS240", "GS719", "GS784"),
    needs=HalfOverflow,
)
def norm_beyond_its_type(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(HalfOverflow):
        if event.calls >= ENOUGH:
            yield _finding(trace, event)


def _finding(trace: Trace, event: HalfOverflow) -> Finding:
    place = event.site.user
    product = user(trace.site(event.zeroed))
    what = code(trace, place, "a sum of squares")
    text, edits = _in_float32(trace, place)
    return Finding(
        message=f"{what} is infinite in float16, and all gradients are multiplied by 0 for it: the steps use"
        " gradients of exactly zero",
        cause=place,
        cause_label="more than 65504, the largest number of float16",
        effect=product,
        effect_label="multiplies by 0",
        seen=(
            f"in {plural(event.calls, 'step')} looked at it was given finite numbers, at most {event.largest:.4g},"
            " and made infinite ones; all gradients were exactly zero when the step began",
        ),
        fix=f"convert to float32 before squaring and adding up, in {located(trace, place)}"
        + (f": `{text}`" if text else ""),
        edits=edits,
        count=event.calls,
        subjects=parameter_subjects(event.parameters),
    )


def _in_float32(trace: Trace, site: Site) -> tuple[str, Edits]:
    """`g.float().pow(2)` for `g.pow(2)`, also within calls of torch's around it."""
    here = Source(trace, site.path)
    whole = here.file.at(site)
    node: ast.AST | None = whole
    while isinstance(node, ast.Call | ast.BinOp):
        if isinstance(node, ast.BinOp):
            node = node.left
        elif isinstance(node.func, ast.Attribute) and not here.file.is_imported(node.func):
            node = node.func.value
        else:
            node = node.args[0] if node.args and isinstance(node.func, ast.Attribute) else None
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript) or not isinstance(whole, ast.expr):
        return "", ()
    edits = here.replace(node, f"{here.file.text(node)}.float()")
    return here.text_after(whole, edits), edits
