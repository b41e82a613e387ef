"""PPO's minimum goes into the loss with its own sign: the steps make the gain smaller.

Why: the smaller of `ratio * advantage` and `clipped * advantage` is what a policy is to gain at the least; an
optimizer makes the loss smaller, so that the loss is that minimum with a minus before it. Without one good actions
become less likely; and the clip, which is to hold the policy near the old one, lets go where it matters: of the two
the one that falls further is taken.

Fix: `-torch.min(…).mean()`; of products with a minus of their own the larger, `torch.max(-advantage * ratio, …)`.

Measured: the way from the loss to the minimum of two products of one ratio, of which one is clipped.
Silent on: optimizers with `maximize=True`, ways that are not known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.reach import Paths, passes, paths
from gradscope.analysis.schedules import goes_down
from gradscope.analysis.senses import is_negated, signed
from gradscope.analysis.words import code, located
from gradscope.events import Backward, Step
from gradscope.fixes.calls import renamed
from gradscope.fixes.source import Edits, Source
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
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        with torch.no_grad():
            old = Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(4):
            ratio = torch.exp(Categorical(logits=policy(states)).log_prob(actions) - old)
            gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)  # cause: GS328
            loss = gain.mean()
            opt.zero_grad()
            loss.backward()  # effect: GS328
            opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        with torch.no_grad():
            old = Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(4):
            ratio = torch.exp(Categorical(logits=policy(states)).log_prob(actions) - old)
            gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
            loss = -gain.mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


@rule("GS328", name="surrogate-upside-down", severity="warning")
def surrogate_upside_down(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(MINIMA | MAXIMA) or not goes_down(trace, trace.of(Step)):
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for event in known.backwards:
        for term in signed(known, event, lambda op: op.name in MINIMA | MAXIMA):
            op = known.maker(term.key)
            if op is None or op.name not in (MINIMA if term.sign > 0 else MAXIMA):
                continue
            pair = surrogate(known, op)
            if pair is not None and op.site.user.location() not in told:
                told.add(op.site.user.location())
                yield _finding(trace, known, event, op, *pair)


def _finding(
    trace: Trace, known: Paths, event: Backward, op: Op, plain: Product, clipped: Product
) -> Finding:
    place, smaller = op.site.user, op.name in MINIMA
    sides = [(plain.weight, clipped.weight), [(op.graph, index) for index in op.inputs]]
    minus = [all(is_negated(known, key, FORMS) for key in keys) for keys in sides]
    negated = sum([*minus, plain.turned and clipped.turned]) % 2 == 1
    times = known.times_through(op.graph, op.nodes) or known.graph(op.graph).count
    which = "smaller" if smaller else "larger"
    other = op.name.replace(*("min", "max") if smaller else ("max", "min"))
    taken = located(trace, place, "the minimum")
    if smaller and not negated:
        fix, edits = f"put a minus before {taken}", _negated(trace, op)
    else:
        fix = f"take `{other}` in place of `{op.name}` in {taken}"
        edits = renamed(trace, place, op.name, other)
    return Finding(
        message=f"the loss {'rises' if smaller else 'falls'} with {code(trace, place, 'the minimum')}: each step makes"
        f" the {which} of the two {'negated ' * (smaller and negated)}products"
        f" {'smaller' if smaller else 'larger'} still, and the clip holds nothing",
        cause=place,
        cause_label=f"the {which} product of a ratio and of the clipped ratio",
        effect=event.site.user,
        effect_label=f"goes back from it with a {'plus' if smaller else 'minus'}",
        seen=(
            f"in {passes(times)} the way from the loss to it turned nothing round"
            if smaller
            else f"in {passes(times)} the way from the loss to it turned it round",
        ),
        fix=fix,
        edits=edits,
        count=times,
    )


def _negated(trace: Trace, op: Op) -> Edits:
    here = Source(trace, op.site.user.path)
    node = here.file.at(op.site.user)
    return here.replace(node, f"(-{here.file.text(node)})") if isinstance(node, ast.expr) else ()
