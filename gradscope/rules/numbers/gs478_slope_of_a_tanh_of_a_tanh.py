"""A probability is corrected by the slope of a tanh at the wrong place: at what the tanh has given.

Why: an action `a = tanh(u)` of a Gaussian `u` has the log-probability of `u` less `log(1 - tanh(u)**2)`, and `tanh(u)`
is `a` already. `1 - tanh(a)**2` is a number between 0.42 and 1: the correction is far too small near the limits, the
entropy comes out too large, and a temperature that is steered by it goes the wrong way.

Fix: `1 - a**2`, or `1 - tanh(u)**2` of what the tanh was taken of.

Measured: in the recorded graph 1 less the square of a tanh, whose input is the result of a tanh, its logarithm, and a
loss that is made of it. Silent on: layers between the two.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import MULTIPLICATIONS, PASSING, POWERS, SUBTRACTIONS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import unwrapped
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

LOGARITHMS = {"log", "log_"}
ADDED = {
    "add",
    "add_",
    "__radd__",
    "clamp",
    "clamp_",
    "clamp_min",
}  # to keep what a logarithm is taken of from 0
TANH = {"tanh", "tanh_"}


def bad() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    actor = nn.Linear(3, 2)
    opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    for _ in range(4):
        middle, spread = actor(torch.randn(16, 3)).chunk(2, dim=1)
        drawn = Normal(middle, spread.exp())
        u = drawn.rsample()
        action = torch.tanh(u)
        chance = drawn.log_prob(u) - torch.log(1 - torch.tanh(action).pow(2) + 1e-7)  # cause: GS478
        loss = (0.1 * chance - action).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS478
        opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    actor = nn.Linear(3, 2)
    opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    for _ in range(4):
        middle, spread = actor(torch.randn(16, 3)).chunk(2, dim=1)
        drawn = Normal(middle, spread.exp())
        u = drawn.rsample()
        action = torch.tanh(u)
        chance = drawn.log_prob(u) - torch.log(1 - action.pow(2) + 1e-7)
        loss = (0.1 * chance - action).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Slope(NamedTuple):
    """1 less the square of `outer`, a tanh of the result of `inner`."""

    outer: Op
    inner: Op


@rule("GS478", name="slope-of-a-tanh-of-a-tanh", severity="warning")
def slope_of_a_tanh_of_a_tanh(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(TANH) or trace.op_names.isdisjoint(LOGARITHMS):
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls(LOGARITHMS):
        found = _slope(known, op)
        if found is not None and found.outer.site.user.location() not in told:
            told.add(found.outer.site.user.location())
            yield _finding(trace, known, op, found)


def _slope(known: Paths, op: Op) -> _Slope | None:
    """What a logarithm is taken of, with or without a small number added."""
    rest = known.maker_behind((op.graph, op.inputs[0]), PASSING | ADDED)
    if rest is None or rest.name not in SUBTRACTIONS or len(rest.inputs) != 1:
        return None
    square = known.maker_behind((rest.graph, rest.inputs[0]), PASSING)
    twice = (
        square is not None
        and square.name in MULTIPLICATIONS
        and len(set(square.inputs)) == 1 < len(square.inputs)
    )
    if square is None or not (square.name in POWERS or twice):
        return None
    outer = known.maker_behind((square.graph, square.inputs[0]), PASSING)
    inner = known.maker_behind((outer.graph, outer.inputs[0]), PASSING) if outer is not None else None
    both = outer is not None and inner is not None and {outer.name, inner.name} <= TANH
    return _Slope(outer, inner) if both and outer is not None and inner is not None else None


def _finding(trace: Trace, known: Paths, op: Op, found: _Slope) -> Finding:
    site, before = found.outer.site.user, found.inner.site.user
    loss = known.loss_of((op.graph, op.outputs[0]))
    what = code(trace, site, "the tanh")
    return Finding(
        message=f"{what} is taken of what has been through a tanh already: the log-probability is corrected at the"
        " wrong place",
        cause=site,
        cause_label="a tanh of the result of a tanh",
        effect=loss.site.user if loss is not None else None,
        effect_label="trains by that log-probability",
        related=((before, "gives the result: it is the tanh that the slope is of"),)
        if before != site
        else (),
        seen=(
            f"the logarithm is of 1 less the square of {what}, whose input comes straight from {code(trace, before)}",
        ),
        fix=f"leave the tanh out of {located(trace, site)}: what it is given is the tanh of the drawn number already",
        edits=unwrapped(trace, site),
        subjects=frozenset({("squashed", *before.location())}),
    )
