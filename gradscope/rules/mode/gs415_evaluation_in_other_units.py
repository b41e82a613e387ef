"""An evaluation compares what the network answers with targets of another scale than those of the training.

Why: targets that are standardised for the training make a network that answers in standard deviations. Compared with
targets as they were measured its error is that of the scale, however well it has learned.

Fix: scale the answers back before they are compared, by the inverse of what the training's targets went through; or put
the targets of the evaluation through the same.

Measured: mean and spread of the targets that the loss is given in training and in evaluation, of the answers, and
their correlation. Silent on: answers that do not follow the targets, or that are not of the training's scale
themselves; few numbers.
"""

from collections.abc import Iterator

from gradscope.analysis.words import located
from gradscope.events import Units
from gradscope.model import Finding
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


@rule("GS415", name="evaluation-in-other-units", severity="warning")
def evaluation_in_other_units(trace: Trace) -> Iterator[Finding]:
    events = trace.of(Units)
    trained = [event for event in events if event.trained and event.target_spread]
    for event in events:
        if event.trained or event.correlation < FOLLOWS or not trained:
            continue
        if all(_other_units(event, learned) for learned in trained):
            yield _finding(trace, event, trained[0])


def _other_units(event: Units, learned: Units) -> bool:
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


def _finding(trace: Trace, event: Units, learned: Units) -> Finding:
    return Finding(
        message=f"the evaluation's targets are of another scale than the training's: {event.target_mean:.4g} ±"
        f" {event.target_spread:.3g}, where the network has learned to answer {learned.target_mean:.2g} ±"
        f" {learned.target_spread:.2g}",
        cause=event.site.user,
        cause_label="compares answers and targets of different scales",
        effect=learned.site.user,
        effect_label=f"is given targets of {learned.target_mean:.2g} ± {learned.target_spread:.2g}",
        seen=(
            f"of {event.numbers:,} numbers the targets were {event.target_mean:.4g} ± {event.target_spread:.3g} and the"
            f" answers {event.answer_mean:.3g} ± {event.answer_spread:.3g}; they follow each other (correlation"
            f" {event.correlation:.2f})",
        ),
        fix="scale the answers back before"
        f" {located(trace, event.site.user, 'the comparison')}: by the inverse of what made the training's targets"
        " (times their spread, plus their mean); or scale these targets as those were",
    )
