"""One half of a cross entropy that is written out has the other's sign turned round.

Why: `-(y * log(p) + (1 - y) * log(1 - p))` has its minus before both halves. Without the brackets,
`-y * log(p) + (1 - y) * log(1 - p)`, the second half goes into the loss as it is: it is made smaller, which makes `p`
larger for the samples whose label is 0. Both halves then pull the same way, whatever the labels are, and the loss falls
without end.

Fix: a minus before each half, or brackets; `binary_cross_entropy_with_logits` on the scores.

Measured: the loss falls with weights times the logarithm of a probability, and rises with weights times that of one
less the same probability, or the reverse.
Silent on: halves of different probabilities, such as those of real and made samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import (
    CASTS,
    CLIPS,
    JOINING,
    MULTIPLICATIONS,
    PASSING,
    REVERSED_SUBTRACTIONS,
    SUBTRACTIONS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.senses import is_negated, signed
from gradscope.analysis.words import code, located
from gradscope.events import Backward
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

FORMS = (PASSING | CASTS | CLIPS) - JOINING


def bad() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        y = (x[:, :1] > 0).float()
        p = torch.sigmoid(net(x))
        loss = (-y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()  # cause: GS435
        opt.zero_grad()
        loss.backward()  # effect: GS435
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        y = (x[:, :1] > 0).float()
        p = torch.sigmoid(net(x))
        loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class Half(NamedTuple):
    """A product of weights without a graph and the logarithm of a probability, or of one less that."""

    op: Op
    probability: Key
    rest: bool  # of one less the probability
    sign: int  # with which the loss goes with it


@rule("GS435", name="half-of-a-cross-entropy-turned", severity="warning")
def half_of_a_cross_entropy_turned(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint({"log"}):
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for event in known.backwards:
        found: dict[tuple[Key, bool], Half] = {}
        for term in signed(known, event, lambda op: op.name in MULTIPLICATIONS and len(op.inputs) == 2):
            half = _half(known, term.key, term.sign)
            if half is not None:
                found.setdefault((half.probability, half.rest), half)
        for (probability, rest), half in found.items():
            other = found.get((probability, not rest))
            if rest or other is None or half.sign == other.sign or other.op.site.user.location() in told:
                continue
            told.add(other.op.site.user.location())
            yield _finding(trace, event, *((half, other) if half.sign < 0 else (other, half)))


def _half(known: Paths, key: Key, sign: int) -> Half | None:
    op = known.maker(key)
    if op is None or op.name not in MULTIPLICATIONS or len(op.inputs) != 2:
        return None
    tracked = [(op.graph, i) for i in op.inputs if known.value((op.graph, i)).requires_grad]
    log = known.maker_behind(tracked[0], FORMS) if len(tracked) == 1 else None
    if log is None or log.name != "log":
        return None
    if is_negated(known, (op.graph, next(i for i in op.inputs if (op.graph, i) not in tracked)), FORMS):
        sign = -sign
    rest = False
    inner = (log.graph, log.inputs[0])
    for _ in range(10):  # a small number may be added, before and after the rest is taken
        inner = known.source_behind(inner, FORMS)
        maker = known.maker(inner)
        if maker is None or maker.name not in SUMS or len(maker.inputs) != 1:
            break
        reversed_ = maker.name in REVERSED_SUBTRACTIONS
        if maker.name in SUBTRACTIONS and not reversed_:
            return None
        rest ^= reversed_
        inner = (maker.graph, maker.inputs[0])
    return Half(op, known.made(inner), rest, sign)


def _finding(trace: Trace, event: Backward, right: Half, wrong: Half) -> Finding:
    place, other = wrong.op.site.user, right.op.site.user
    which = "one less the probability" if wrong.rest else "the probability"
    return Finding(
        message=f"{code(trace, place, 'one half')} goes into the loss with the sign turned round: the other half of the"
        " cross entropy has a minus, and it has none",
        cause=place,
        cause_label=f"the logarithm of {which} is made smaller",
        effect=event.site.user,
        effect_label="goes back from the sum of both",
        related=((other, "the other half, with a minus"),) if other.location() != place.location() else (),
        seen=(
            f"the loss falls with {code(trace, other, 'the other half')}, and rises with"
            f" {code(trace, place, 'this one')}; both are made of one tensor of probabilities",
        ),
        fix=f"put brackets behind the minus, so that it stands before both halves, or a minus of its own before"
        f" {located(trace, place)}",
        count=event.count,
    )
