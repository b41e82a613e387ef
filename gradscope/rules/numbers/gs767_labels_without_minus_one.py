"""A loss whose labels are 1 and -1 is given 1 and 0: those of 0 teach nothing.

Why: these losses multiply by the label, or choose by it between two formulas. With a label of 0 the product is 0, or
neither formula is taken: the sample's loss is a constant, and its gradient zero. The network sees one class only.

Fix: `2 * y - 1`.

Measured: the labels at the first call: some are 0, some 1, none -1.
"""

from collections.abc import Iterator

from gradscope.analysis.reach import paths
from gradscope.analysis.words import located, percent
from gradscope.fixes.calls import argument_as
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.rules.numbers._losses import loss_event, of_zeros_and_ones
from gradscope.store import Trace

PLACES = {
    "soft_margin_loss": 1,
    "hinge_embedding_loss": 1,
    "cosine_embedding_loss": 2,
    "margin_ranking_loss": 2,
}  # of the labels


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x.sum(1) > 0).float()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.soft_margin_loss(model(x).squeeze(1), y)  # cause: GS767
        loss.backward()  # effect: GS767
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x.sum(1) > 0).float()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.soft_margin_loss(model(x).squeeze(1), 2 * y - 1)
        loss.backward()
        opt.step()


@rule("GS767", name="labels-without-minus-one", severity="warning")
def labels_without_minus_one(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event, op in of_zeros_and_ones(trace, known, set(PLACES)):
        site, name = op.site.user, op.name
        passed = loss_event(known, op)
        yield Finding(
            message=f"`{name}` takes labels of 1 and -1, and is given 1 and 0: those of 0 teach nothing",
            cause=site,
            cause_label="its labels are 0 and 1",
            effect=passed.site.user if passed is not None and passed.site.user != site else None,
            effect_label="no gradient comes from samples labelled 0",
            seen=(
                f"at the first call {percent(event.above_half)} of the labels were 1, the others 0, none -1",
            ),
            fix=f"give it `2 * y - 1` in place of the labels `y` in {located(trace, site, f'`{name}`')}",
            edits=argument_as(trace, site, "target", PLACES[name], "2 * {} - 1"),
            subjects=frozenset({("targets", site.location())}),
        )
