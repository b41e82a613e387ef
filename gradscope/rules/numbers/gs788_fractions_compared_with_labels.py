"""Fractions are compared with whole numbers: the comparison can never be true, and an accuracy made of it is 0.

Why: a network's outputs and probabilities are fractions like 0.93, labels are whole numbers. `max(dim)` gives such
values first and the places of the largest second: it is the places that are classes.

Fix: compare classes: `out.argmax(dim=1)`, the second of what `max` gives, `out > 0.5` or `out.round()`.

Silent where anything was equal, and on comparisons with a single number.
"""

from collections.abc import Iterator

from gradscope.analysis.words import code, located, numbers, percent, plural
from gradscope.events import Compared
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace

FRACTIONS = 0.9  # of one side
ENOUGH = 16  # results


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, 0] > 0).long()
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        pred, _ = model(x).max(dim=1)
        ((pred == y).float().mean().item())  # cause: GS788


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, 0] > 0).long()
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        _, pred = model(x).max(dim=1)
        ((pred == y).float().mean().item())


@rule("GS788", name="fractions-compared-with-labels", severity="warning", needs=Compared)
def fractions_compared_with_labels(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Compared):
        left, right = (*event.fractions, 0.0, 0.0)[:2]
        if event.equal or event.elements < ENOUGH or max(left, right) < FRACTIONS or min(left, right) > 0:
            continue
        here = code(trace, event.site.user, "the comparison")
        side = "left" if left > right else "right"
        yield Finding(
            message=f"{here} is never true: fractions are compared with whole numbers",
            cause=event.site.user,
            cause_label=f"the {side} side has fractions, the other has none",
            seen=(
                f"none of {event.elements:,} results in {plural(event.calls, 'looked-at call')} was true; sizes"
                f" {numbers(event.left)} and {numbers(event.right)}",
                f"{percent(max(left, right))} of the {side} side were fractions, none of the other",
            ),
            fix=f"compare classes in {located(trace, event.site.user)}: the {side} side by its `argmax(dim=1)` (or the"
            " second of what `max` gives); where it is one probability for each sample, by `> 0.5`",
        )
