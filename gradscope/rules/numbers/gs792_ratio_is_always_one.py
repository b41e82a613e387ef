"""The ratio that PPO clips is 1 in every step: the old log-probabilities are made anew of the same weights.

Why: the ratio compares the policy of now with the one that acted, and the clip keeps the steps on one batch from
going too far. Where both are computed of the same weights it is 1 whatever the policy has become since, the clip
never binds, and several steps on one batch move the policy as far as they like.

Fix: compute the old log-probabilities once, when the batch is collected, before the first step on it.

Measured: the ratio was 1 in all calls looked at, and some of these took advantages that had come in an earlier step.
Silent on: batches that are used for one step alone, whose ratio is 1 as it should be; advantages that are scaled anew
in each step.
"""

from collections.abc import Iterator

from gradscope.analysis.ops import ALIASES, EXPONENTIALS, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located, plural
from gradscope.events import RatioOfOne
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import makers
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        for _ in range(4):
            with torch.no_grad():
                old = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)  # cause: GS792
            new = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
            ratio = torch.exp(new - old)
            clipped = ratio.clamp(0.8, 1.2)  # effect: GS792
            loss = -torch.min(ratio * advantage, clipped * advantage).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        with torch.no_grad():
            old = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(4):
            new = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
            ratio = torch.exp(new - old)
            clipped = ratio.clamp(0.8, 1.2)
            loss = -torch.min(ratio * advantage, clipped * advantage).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


@rule("GS792", name="ratio-is-always-one", severity="warning", needs=RatioOfOne)
def ratio_is_always_one(trace: Trace) -> Iterator[Finding]:
    events = {event.site.user.span(): event for event in trace.of(RatioOfOne)}
    if not events:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls({"clamp", "clip"}):
        event = events.get(op.site.user.span())
        if event is None or op.site.user.location() in told:
            continue
        old = _old(known, (op.graph, op.inputs[0]))
        if old is not None:
            told.add(op.site.user.location())
            yield _finding(trace, op, old, event)


def _old(known: Paths, ratio: Key) -> Op | None:
    """What made the old log-probabilities: `exp(new - old)` is the ratio."""
    exponentials = [op for _, op in makers(known, ratio)]
    if len(exponentials) != 1 or exponentials[0].name not in EXPONENTIALS:
        return None
    found = makers(known, (exponentials[0].graph, exponentials[0].inputs[0]))
    if len(found) == 1 and found[0][1].name == "sum":  # over the parts of an action
        found = makers(known, (found[0][1].graph, found[0][1].inputs[0]))
    if len(found) != 1 or found[0][1].name not in SUBTRACTIONS or len(found[0][1].inputs) != 2:
        return None
    difference = found[0][1]
    values = known.graph(difference.graph).values
    fixed = [value for value in difference.inputs if not values[value].requires_grad]
    if len(fixed) != 1 or not known.fed_by((difference.graph, fixed[0])):
        return None
    old = known.maker((difference.graph, fixed[0]))
    trained = known.made((difference.graph, next(value for value in difference.inputs if value != fixed[0])))
    if old is not None and old.name in ALIASES and known.made((old.graph, old.inputs[0])) == trained:
        return old  # `new - new.detach()`
    return known.maker_behind((difference.graph, fixed[0]), ALIASES)


def _finding(trace: Trace, clamp: Op, old: Op, event: RatioOfOne) -> Finding:
    cause: Site = old.site.user
    itself = old.name in ALIASES
    fix = (
        f"compute {located(trace, cause)} once, before the first step on a batch, and keep it for all of them"
    )
    if itself:
        fix = (
            "keep the log-probabilities that a batch was collected with, computed once before the first step on it, and"
            f" take them in place of {located(trace, cause)}"
        )
    return Finding(
        message="the ratio of the new to the old probabilities is 1 in every step: both are computed of the same"
        " weights, and the clip never does anything",
        cause=cause,
        cause_label="the new ones themselves"
        if itself
        else "the old log-probabilities, made anew in each step",
        effect=clamp.site.user,
        effect_label="clips a ratio of 1",
        seen=(
            f"in all {plural(event.calls, 'call')} looked at the ratio was 1, to the sixth decimal, also in the"
            f" {event.again} whose advantages had come before an earlier step",
        ),
        fix=fix,
        count=event.again,
    )
