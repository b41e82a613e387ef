"""A sigmoid is taken of what has been through a sigmoid or a softmax already.

Why: probabilities lie between 0 and 1, and the sigmoid of such a number between 0.5 and 0.731: nothing is ever unlikely
or certain, a loss written by hand (Dice, focal, binary cross entropy) cannot come near its minimum, and each of both
shrinks the gradient. A softmax of a softmax is nearly uniform in the same way.

Fix: leave one of both out: most often a loss expects scores, and the model ends in a sigmoid or softmax.

Silent on: what is scaled, shifted or goes through a layer in between (gates on gates, temperatures), functions of
torch's that apply one themselves (GS702).
"""

from collections.abc import Iterator

from gradscope.analysis.made import softmax_site
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import unwrapped
from gradscope.model import Finding, Op, Span
from gradscope.rules import rule
from gradscope.rules.numbers._losses import loss_event, makers
from gradscope.store import Trace

OF = {  # the second one → those that it must not be taken of
    "sigmoid": {"sigmoid", "sigmoid_", "softmax"},
    "sigmoid_": {"sigmoid", "sigmoid_", "softmax"},
    "softmax": {"softmax"},
}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        target = torch.randint(0, 2, (8, 1)).float()
        p = torch.sigmoid(model(torch.randn(8, 4)))  # cause: GS761
        loss = 1 - 2 * (p * target).sum() / (p + target).sum()
        opt.zero_grad()
        loss.backward()  # effect: GS761
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        target = torch.randint(0, 2, (8, 1)).float()
        p = torch.sigmoid(model(torch.randn(8, 4)))
        loss = 1 - 2 * (p * target).sum() / (p + target).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS761", name="squashed-twice", severity="warning")
def squashed_twice(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    calls: dict[Span, list[tuple[Op, Op | None]]] = {}
    for _, op in known.used_calls(OF):
        if op.nodes:
            calls.setdefault(op.site.user.span(), []).append((op, _inner(known, op)))
    for found in calls.values():
        twice = [(op, inner) for op, inner in found if inner is not None]
        if twice:
            yield _finding(trace, known, *twice[0], always=len(twice) == len(found))


def _inner(known: Paths, op: Op) -> Op | None:
    """The one call whose probabilities it is taken of, as they are."""
    made = [maker for _, maker in makers(known, (op.graph, op.inputs[0]))] if op.inputs else []
    same = {maker.name for maker in made}
    return made[0] if made and same <= OF[op.name] and all(maker.nodes for maker in made) else None


def _finding(trace: Trace, known: Paths, op: Op, inner: Op, *, always: bool) -> Finding:
    event = loss_event(known, op)
    here, before = softmax_site(trace, op), softmax_site(trace, inner)
    low, high = ("0.5", "0.731") if op.name != "softmax" else ("", "")
    shape = known.graph(op.graph).values[op.inputs[0]].shape
    seen = f"its input of shape {shape} comes straight from `{inner.name}`"
    if low:
        seen += f": the result lies between {low} and {high}"
    return Finding(
        message=f"{code(trace, here, f'`{op.name}`')} takes a {op.name.rstrip('_')} of what has been through "
        f"`{inner.name}` already",
        cause=here,
        cause_label="squashes probabilities once more",
        effect=event.site.user if event is not None and event.site.user != here else None,
        effect_label="learns from numbers that are all alike",
        related=((before, f"gives the probabilities, by `{inner.name}`"),) if before != here else (),
        seen=(seen,),
        fix=f"leave one of both out: {located(trace, here, f'`{op.name}`')}, since its input is a probability already, "
        f"or {located(trace, before, f'`{inner.name}`')}",
        edits=unwrapped(trace, op.site.user) if always else (),
        subjects=frozenset({("squashed", *inner.site.user.location())}),
    )
