"""An evaluation compares what the network answers with targets of another scale than those of the training.

Why: targets that are standardised for the training make a network that answers in standard deviations. Compared with
targets as they were measured its error is that of the scale, however well it has learned.

Fix: scale the answers back before they are compared, by the inverse of what the training's targets went through; or put
the targets of the evaluation through the same.

Measured: mean and spread of the targets that the loss is given, or that are taken from the answers by hand, in training
and in evaluation, of the answers, and their correlation. Silent on: answers that do not follow the targets, or that are
not of the training's scale themselves; few numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.analysis.ops import CASTS, LAYERS, PASSING, SUBTRACTIONS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import located
from gradscope.events import Units
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

FOLLOWS = 0.7  # correlation
WIDER = 5  # times the spread of the training's targets
FAR = 10  # of those spreads between the means
LIKE = 3  # times the spread: answers of the training's scale


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(256, 4)
    prices = 200 + 50 * x.sum(1, keepdim=True)
    mean, spread = prices[:192].mean(), prices[:192].std()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(50):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x[:192]), (prices[:192] - mean) / spread)  # effect: GS415
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        print(nn.functional.mse_loss(model(x[192:]), prices[192:]))  # cause: GS415


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(256, 4)
    prices = 200 + 50 * x.sum(1, keepdim=True)
    mean, spread = prices[:192].mean(), prices[:192].std()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(50):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x[:192]), (prices[:192] - mean) / spread)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        print(nn.functional.mse_loss(model(x[192:]) * spread + mean, prices[192:]))


@rule("GS415", name="evaluation-in-other-units", severity="warning", needs=Units)
def evaluation_in_other_units(trace: Trace) -> Iterator[Finding]:
    events = trace.of(Units)
    trained = [event for event in events if event.trained and event.target_spread]
    told = [event for event in events if not event.trained and event.correlation >= FOLLOWS]
    if not trained or not told:
        return
    known = paths(trace)
    losses = [event for event in trained if event.name not in SUBTRACTIONS] or _of_losses(known, trained)
    for event in told:
        for side in _sides(known, event):
            if losses and all(_other_units(side, _Sides.of(learned)) for learned in losses):
                yield _finding(trace, event.site.user, side, losses[0])


@dataclass(frozen=True)
class _Sides:
    """What is compared: mean and spread of both sides."""

    answer_mean: float
    answer_spread: float
    target_mean: float
    target_spread: float
    numbers: int
    correlation: float

    @classmethod
    def of(cls, event: Units, turned: bool = False) -> _Sides:
        answer, target = (event.answer_mean, event.answer_spread), (event.target_mean, event.target_spread)
        first, second = (target, answer) if turned else (answer, target)
        return cls(*first, *second, event.numbers, event.correlation)


def _of_losses(known: Paths, events: list[Units]) -> list[Units]:
    """The differences among these that a loss is made of."""
    used = {op.site.user.span() for _, op in known.used_calls(SUBTRACTIONS)}
    return [event for event in events if event.site.user.span() in used]


def _sides(known: Paths, event: Units) -> Iterator[_Sides]:
    """What an evaluation compares. Of a difference by hand the side that a network gave is the answer."""
    if event.name not in SUBTRACTIONS:
        yield _Sides.of(event)
        return
    span = event.site.user.span()
    calls = (op for number in known.graph_ids for op in known.graph(number).called({event.name}))
    op = next((op for op in calls if op.site.user.span() == span), None)
    given = [_is_answer(known, op, index) for index in op.inputs] if op is not None else []
    if len(given) == 2 and given[0] != given[1]:
        yield _Sides.of(event, turned=given[1])


def _is_answer(known: Paths, op: Op, index: int) -> bool:
    maker = known.maker_behind((op.graph, index), PASSING | CASTS)
    return maker is not None and (maker.module is not None or maker.name in LAYERS)


def _other_units(event: _Sides, learned: _Sides) -> bool:
    """Whether the answers are of the training's scale, and the targets are not."""
    mean, spread = learned.target_mean, learned.target_spread
    answered = (
        abs(event.answer_mean - mean) <= LIKE * spread
        and spread / LIKE <= event.answer_spread <= LIKE * spread
    )
    ratio = event.target_spread / spread
    return answered and (
        ratio >= WIDER or ratio <= 1 / WIDER or abs(event.target_mean - mean) >= FAR * spread
    )


def _finding(trace: Trace, place: Site, event: _Sides, learned: Units) -> Finding:
    return Finding(
        message=f"the evaluation's targets are of another scale than the training's: {event.target_mean:.4g} ±"
        f" {event.target_spread:.3g}, where the network has learned to answer {learned.target_mean:.2g} ±"
        f" {learned.target_spread:.2g}",
        cause=place,
        cause_label="compares answers and targets of different scales",
        effect=learned.site.user,
        effect_label=f"is given targets of {learned.target_mean:.2g} ± {learned.target_spread:.2g}",
        seen=(
            f"of {event.numbers:,} numbers the targets were {event.target_mean:.4g} ± {event.target_spread:.3g} and the"
            f" answers {event.answer_mean:.3g} ± {event.answer_spread:.3g}; they follow each other (correlation"
            f" {event.correlation:.2f})",
        ),
        fix="scale the answers back before"
        f" {located(trace, place, 'the comparison')}: by the inverse of what made the training's targets"
        " (times their spread, plus their mean); or scale these targets as those were",
    )
