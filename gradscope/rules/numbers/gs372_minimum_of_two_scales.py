"""The smaller of a ratio's two products is taken, and the ratio weighs other numbers in one than in the other.

Why: PPO's minimum of `ratio * advantage` and `clipped * advantage` asks one thing: whether the clip makes the gain
smaller. With advantages of another scale in one of them, normalised or shifted since the first product, the minimum is
decided by the two scales. Where it takes the clipped product throughout no step moves what is out of bounds, where it
takes the other one nothing is clipped.

Fix: make the advantages once, before both products.

Measured: both products take the same ratio, one of them clipped, and two tensors without a graph, of which one is
computed from the other.
Silent on: another form of the same numbers (a view, a copy, a cast); weights that have nothing to do with each other.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import NEGATIONS
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.words import code, located
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._surrogates import FORMS, MAXIMA, MINIMA, Product, surrogate
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), 20 + 9 * torch.randn(32)
        with torch.no_grad():
            old = Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(4):
            ratio = torch.exp(Categorical(logits=policy(states)).log_prob(actions) - old)
            plain = ratio * advantage
            scaled = (advantage - advantage.mean()) / advantage.std()  # effect: GS372
            loss = -torch.min(plain, ratio.clamp(0.8, 1.2) * scaled).mean()  # cause: GS372
            opt.zero_grad()
            loss.backward()
            opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), 20 + 9 * torch.randn(32)
        advantage = (advantage - advantage.mean()) / advantage.std()
        with torch.no_grad():
            old = Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(4):
            ratio = torch.exp(Categorical(logits=policy(states)).log_prob(actions) - old)
            plain = ratio * advantage
            loss = -torch.min(plain, ratio.clamp(0.8, 1.2) * advantage).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


@rule("GS372", name="minimum-of-two-scales", severity="warning")
def minimum_of_two_scales(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls(MINIMA | MAXIMA | {"where"}):
        if op.site.user.location() in told:
            continue
        pair = surrogate(known, op)
        if pair is None:
            continue
        plain, clipped = pair
        later = next(
            (
                made
                for one, other in ((plain, clipped), (clipped, plain))
                if (made := _computed_from(known, one.weight, other.weight)) is not None
            ),
            None,
        )
        if later is not None:
            told.add(op.site.user.location())
            yield _finding(trace, known, op, key, plain, clipped, later)


def _computed_from(known: Paths, one: Key, other: Key) -> Op | None:
    """What made `one` of `other`, where that is more than another form of it."""
    one, other = _before_forms(known, one), _before_forms(known, other)
    made = known.maker(one)
    if made is None or one == other or known.value(one).shape != known.value(other).shape:
        return None
    return made if other in {known.made(key) for key in known.flow([one]).order} else None


def _before_forms(known: Paths, key: Key) -> Key:
    """The numbers that a value is another form of, or negates."""
    while (maker := known.maker(key)) is not None and maker.name in FORMS | NEGATIONS and maker.inputs:
        key = (maker.graph, maker.inputs[0])
    return known.made(key)


def _name(trace: Trace, known: Paths, weight: Key) -> str:
    """What the program calls the numbers of a product, or those that it negates for it."""
    given = (
        names_of(trace).name(known.graph(key[0]), key[1]) for key in (weight, _before_forms(known, weight))
    )
    return next((name for name in given if name), "")


def _finding(
    trace: Trace, known: Paths, op: Op, key: Key, plain: Product, clipped: Product, later: Op
) -> Finding:
    place, made = op.site.user, later.site.user
    names = [_name(trace, known, one.weight) for one in (plain, clipped)]
    first, second = (f"`{name}`" if name else "other numbers" for name in names)
    what = f"{first} and {second}" if names[0] != names[1] else f"{first} before and after they are changed"
    order = sorted((plain.op, clipped.op), key=lambda one: one.index)
    between = order[0].index < later.index
    fix = (
        f"move {located(trace, made)} before {located(trace, order[0].site.user)}, so that both products take it"
        if between
        else f"give {located(trace, plain.op.site.user)} and {located(trace, clipped.op.site.user)} the same numbers"
    )
    times = known.times_through(key[0], op.nodes) or known.graph(key[0]).count
    return Finding(
        message=f"{code(trace, place, 'the minimum')} compares two scales: one ratio weighs {what}",
        cause=place,
        cause_label="takes one of the two products, by their size",
        effect=made,
        effect_label="the numbers of one product are made of those of the other here",
        related=tuple(
            (one.op.site.user, label)
            for one, label in ((plain, "the ratio's product"), (clipped, "that of the clipped ratio"))
            if one.op.site.user.location() not in {place.location(), made.location()}
        ),
        seen=(
            f"in {passes(times)} {code(trace, plain.op.site.user, 'one product')} and"
            f" {code(trace, clipped.op.site.user, 'the other')} took the same ratio, clipped in the second, and two"
            f" tensors, of which one, {code(trace, made, 'made since')}, is computed from the other",
        ),
        fix=fix,
        count=times,
    )
