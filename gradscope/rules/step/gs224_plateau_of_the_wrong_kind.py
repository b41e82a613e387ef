"""A schedule that waits for a plateau takes each improvement for a step back.

Why: `ReduceLROnPlateau` cuts the learning rate when its number has not improved for a while, and by default smaller is
better. Given an accuracy, which rises, it never sees an improvement: the better the model gets, the smaller its steps
become, until nothing moves any more. With `mode="max"` the same happens to a loss, which falls.

Fix: `mode="max"` for numbers that should rise, `mode="min"` for a loss.

Measured: the numbers that it was given, the turns at which it cut the rate, and the loss of the passes meanwhile.
A number that is a share of one and the same count (17 of 300 right) and rises while the loss falls is an accuracy; of
other numbers that only rise this is a note, unless they are values of a loss function, or sums or means of them: a
validation loss may rise as well. Numbers that fall are told of only where they are such values.
Silent on: numbers that go the way that the schedule waits for; rates that were cut less than twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradscope.analysis.schedules import goes_up
from gradscope.analysis.words import code, located, plural
from gradscope.events import Backward, Plateau, SchedulerMade
from gradscope.fixes.calls import with_argument
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 6  # numbers that show which way they go
ENOUGH_LOSSES = 3  # of them that are a loss
MOST_COUNTED = 5000  # of which a share may be one
MONOTONE = 0.5  # share of pairs in one order, less that in the other


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(300, 4)
    y = (x[:, 0] + x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.03)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)  # cause: GS224
    for _ in range(16):
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
        with torch.no_grad():
            right = (model(x).argmax(1) == y).float().mean()
        plateau.step(right)  # effect: GS224


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(300, 4)
    y = (x[:, 0] + x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.03)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", patience=1)
    for _ in range(16):
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
        with torch.no_grad():
            right = (model(x).argmax(1) == y).float().mean()
        plateau.step(right)


@rule("GS224", name="plateau-of-the-wrong-kind", severity="warning", over=("GS217",), needs=Plateau)
def plateau_of_the_wrong_kind(trace: Trace) -> Iterator[Finding]:
    made = {event.scheduler: event for event in trace.of(SchedulerMade)}
    for event in trace.of(Plateau):
        maker = made.get(event.scheduler)
        if maker is None or len(event.given) < ENOUGH or len(event.cuts) < 2:
            continue
        way = _order(event.given)
        before = _order(event.given[: max(ENOUGH, event.cuts[1])])  # later on the rate may be next to nothing
        is_loss = event.losses >= ENOUGH_LOSSES
        if event.mode == "min" and way >= MONOTONE and not is_loss and _cut_beyond_the_first(event, 1):
            count = _counted(event.given)
            if (count or max(event.given) <= 1) and _loss_falls(trace, event.optimizer):
                yield _finding(trace, event, maker, count)
        elif event.mode == "max" and before <= -MONOTONE and is_loss and _cut_beyond_the_first(event, -1):
            optimizer = trace.optimizers.get(event.optimizer)
            if optimizer is not None and not goes_up(optimizer) and _loss_falls(trace, event.optimizer):
                yield _of_a_loss(trace, event, maker)


def _loss_falls(trace: Trace, optimizer: int | None) -> bool:
    """Whether the loss of the passes that this optimizer steps on is smaller in the end: another model's, in the
    same loop, says nothing of it."""
    held = set(trace.optimizers[optimizer].parameters if optimizer in trace.optimizers else ())
    sites = {event.site.id for event in trace.of(Backward) if not held.isdisjoint(event.filled)}
    losses = [loss for _, loss in trace.numbers("loss", None, sites)]
    return len(losses) >= ENOUGH and _order(_ends(losses)) < 0


def _order(numbers: Sequence[float]) -> float:
    """1 where each is above all earlier ones, -1 where each is below."""
    pairs = [(a < b) - (a > b) for i, a in enumerate(numbers) for b in numbers[i + 1 :] if a != b]
    return sum(pairs) / len(pairs) if pairs else 0.0


def _ends(numbers: Sequence[float]) -> list[float]:
    """The means of the first and the last third."""
    size = max(len(numbers) // 3, 1)
    return [sum(numbers[:size]) / size, sum(numbers[-size:]) / size]


def _cut_beyond_the_first(event: Plateau, way: int) -> bool:
    """Whether each cut came at a number above the first one (below it: -1), which had stayed the best or nearly so."""
    first = event.given[0]
    return all(way * (event.given[turn - 1] - first) > 0 for turn in event.cuts if turn <= len(event.given))


def _counted(numbers: Sequence[float]) -> int:
    """N, where each number is so many of N; 0 where there is none. Numbers that were rounded to a few digits are
    shares of a power of ten: they tell nothing."""
    between = {n for n in numbers if 0 < n < 1}
    if len(between) < 4 or min(numbers) < 0 or max(numbers) > 1:
        return 0
    if all(len(repr(n)) <= 8 for n in between):
        return 0
    for count in range(2, MOST_COUNTED + 1):
        if all(abs(n * count - round(n * count)) <= count * 2e-7 for n in between):
            return count
    return 0


def _finding(trace: Trace, event: Plateau, maker: SchedulerMade, count: int) -> Finding:
    site = maker.site.user
    first, last, low, high = event.given[0], event.given[-1], min(event.given), max(event.given)
    share = f"each of them is a share of {count:,}" if count else ""
    sure = "" if count else ". Where smaller is better, as of a validation loss, it is right as it is."
    return Finding(
        message=f"{code(trace, site, 'the schedule')} cuts the learning rate while its number rises: it waits for"
        " smaller ones",
        cause=site,
        cause_label="smaller is better",
        effect=event.site.user,
        effect_label=f"given {low:.4g} to {high:.4g}, rising",
        seen=tuple(
            filter(
                None,
                (
                    f"of {plural(len(event.given), 'number')}, from {first:.4g} to {last:.4g}, it took"
                    f" {len(event.cuts)} for a plateau and cut the rate, while the loss of the passes fell",
                    share,
                ),
            )
        ),
        fix=f'give `mode="max"` to {located(trace, site)}, or step it with the validation loss{sure}',
        edits=with_argument(trace, site, "mode", '"max"', 1),
        count=len(event.cuts),
        severity="" if count else "note",
        subjects=frozenset({("scheduler", event.scheduler)}),
    )


def _of_a_loss(trace: Trace, event: Plateau, maker: SchedulerMade) -> Finding:
    site = maker.site.user
    first, last, low, high = event.given[0], event.given[-1], min(event.given), max(event.given)
    return Finding(
        message=f"{code(trace, site, 'the schedule')} cuts the learning rate while the loss that it is given falls: it"
        " waits for larger numbers",
        cause=site,
        cause_label="larger is better",
        effect=event.site.user,
        effect_label=f"given {high:.4g} to {low:.4g}, falling",
        seen=(
            f"of {plural(len(event.given), 'number')}, from {first:.4g} to {last:.4g}, it took"
            f" {len(event.cuts)} for a plateau and cut the rate, while the loss of the passes fell",
            f"{event.losses} of them are values of a loss function, or the sum or mean of those since the one before",
        ),
        fix=f'give `mode="min"` to {located(trace, site)}',
        edits=with_argument(trace, site, "mode", '"min"', 1),
        count=len(event.cuts),
        subjects=frozenset({("scheduler", event.scheduler)}),
    )
