"""The overlap of a prediction with a mask is made of scores: it is no share of anything.

Why: a Dice coefficient, or an intersection over the union, is `2 * sum(p * t) / (sum(p) + sum(t))` of two masks from 0
to 1. Of scores, as the last layer gives them, some are below 0: what is added up below may come to nothing, or below 0,
and the ratio is then as large as one likes. `1 - ratio` falls without end where the scores are pushed apart, and jumps
where the sum crosses 0. `BCEWithLogitsLoss` takes scores, and a loss by hand beside it does not.

Fix: `torch.sigmoid` of the scores (`softmax` over classes that leave each other out) before the overlap.

Measured: of a product in the overlap one factor had a gradient and went below 0, the other lay from 0 to 1; both are
added up below.
Silent on: overlaps with squares below (`p * p`), which no score can make zero; predictions that stayed above 0.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import DIVISIONS
from gradscope.analysis.overlaps import Overlap, overlap, sums_in
from gradscope.analysis.reach import Paths, passes, paths
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located
from gradscope.events import Backward, NoShares
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

BELOW = -0.01  # the least number that is clearly no share


def bad() -> None:
    import torch
    from torch import nn

    def dice_loss(pred: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        pred, target = pred.flatten(), target.flatten()
        inter = (pred * target).sum()  # cause: GS441
        return 1 - (2 * inter + 1) / (pred.sum() + target.sum() + 1)

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        mask = (torch.rand(4, 1, 8, 8) > 0.8).float()
        loss = dice_loss(model(mask + 0.3 * torch.randn_like(mask)), mask)
        opt.zero_grad()
        loss.backward()  # effect: GS441
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    def dice_loss(pred: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        pred, target = pred.sigmoid().flatten(), target.flatten()
        inter = (pred * target).sum()
        return 1 - (2 * inter + 1) / (pred.sum() + target.sum() + 1)

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        mask = (torch.rand(4, 1, 8, 8) > 0.8).float()
        loss = dice_loss(model(mask + 0.3 * torch.randn_like(mask)), mask)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS441", name="overlap-of-scores", severity="warning", needs=NoShares)
def overlap_of_scores(trace: Trace) -> Iterator[Finding]:
    scores = {event.site.user.span(): event for event in trace.of(NoShares) if event.low < BELOW}
    if not scores:
        return
    known, told = paths(trace), set[tuple[str, int]]()
    for _, op in known.used_calls(DIVISIONS):
        found = overlap(known, op)
        event = scores.get(found.product.site.user.span()) if found is not None else None
        if found is None or event is None or found.product.site.user.location() in told:
            continue
        loss = known.loss_of((op.graph, op.outputs[0]))
        value = next(i for i in found.product.inputs if known.value((op.graph, i)).requires_grad)
        if loss is not None and _added_up_below(known, op, value):
            told.add(found.product.site.user.location())
            yield _finding(trace, known, found, value, event, loss)


def _added_up_below(known: Paths, quotient: Op, value: int) -> bool:
    """Whether the sum of the value itself, not that of its squares, is a part of what is divided by."""
    below = sums_in(known, (quotient.graph, quotient.inputs[1]))
    given = known.made((quotient.graph, value))
    return any(known.made((total.graph, total.inputs[0])) == given for total in below)


def _finding(
    trace: Trace, known: Paths, found: Overlap, value: int, event: NoShares, loss: Backward
) -> Finding:
    site = found.product.site.user
    name = _written(trace, found.product, value) or names_of(trace).name(
        known.graph(found.product.graph), value
    )
    shown = f"`{name}`" if name else "the prediction"
    return Finding(
        message=f"{code(trace, site, 'the product')} takes {shown} for a mask from 0 to 1, and it holds scores, some"
        " below 0: the overlap made of it is no share, and has no bound",
        cause=site,
        cause_label=f"{shown} is from {event.low:.3g} to {event.high:.3g}",
        effect=loss.site.user,
        effect_label="goes back through this overlap",
        related=((found.quotient.site.user, "the overlap, divided by a sum of scores"),),
        seen=(
            f"the other factor lay from 0 to 1, {shown} from {event.low:.3g} to {event.high:.3g} in"
            f" the calls looked at; in {passes(known.alike(loss))} of this line",
        ),
        fix=f"take `torch.sigmoid` of {shown} (of classes that leave each other out, `softmax` over them) before"
        f" {located(trace, site)}",
        edits=_squashed(trace, site, name) if name else (),
    )


def _written(trace: Trace, product: Op, value: int) -> str:
    """The name that the text of the product has for one of its factors."""
    written = written_input(trace, product, product.inputs.index(value))
    return written.id if isinstance(written, ast.Name) else ""


def _squashed(trace: Trace, site: Site, name: str) -> Edits:
    """`pred = pred.sigmoid()` at the beginning of the function that is given it."""
    here = Source(trace, site.path)
    scope = here.file.scope(site)
    given = [one.arg for one in scope.args.args] if isinstance(scope, ast.FunctionDef) else []
    if not isinstance(scope, ast.FunctionDef) or name not in given:
        return ()
    first = next(s for s in scope.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)))
    return here.before(first, f"{name} = {name}.sigmoid()")
