"""A sigmoid is taken of what has been through a sigmoid or a softmax already.

Why: probabilities lie between 0 and 1, and the sigmoid of such a number between 0.5 and 0.731: nothing is ever unlikely
or certain, a loss written by hand (Dice, focal, binary cross entropy) cannot come near its minimum, and each of both
shrinks the gradient. A metric that has 0.5 for its threshold counts all as found. A softmax of a softmax is nearly
uniform in the same way.

Fix: leave one of both out: most often a loss expects scores, and the model ends in a sigmoid or softmax.

Where no loss is made of it, it is told of a sigmoid whose result is compared with a threshold, as for a metric: all
are on one side of 0.5.

Silent on: what is scaled, shifted or goes through a layer in between (gates on gates, temperatures), functions of
torch's that apply one themselves (GS702); what an evaluation only ranks.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.made import softmax_site
from gradscope.analysis.ops import ALIASES, CASTS, DIVISIONS, ORDERINGS, PASSING, SIGMOIDS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, percent
from gradscope.events import Threshold
from gradscope.fixes.calls import unwrapped
from gradscope.model import Finding, Op, Site, Span
from gradscope.rules import rule
from gradscope.rules.numbers._chances import INVERTED, by_own_sum, sigmoid_of
from gradscope.rules.numbers._losses import loss_event, makers
from gradscope.source import FUNCTIONS
from gradscope.store import Trace

OF = {  # the second one → those that it must not be taken of
    "sigmoid": {"sigmoid", "sigmoid_", "softmax"},
    "sigmoid_": {"sigmoid", "sigmoid_", "softmax"},
    "softmax": {"softmax"},
}
BY_HAND = DIVISIONS | INVERTED  # `1 / (1 + exp(-x))`, exponentials divided by their sum


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
    for _, op in known.used_calls(OF.keys() | BY_HAND):
        if op.nodes and _kind(known, op):
            calls.setdefault(op.site.user.span(), []).append((op, _inner(known, op)))
    for found in calls.values():
        twice = [(op, inner) for op, inner in found if inner is not None]
        if twice:
            yield _finding(trace, known, *twice[0], always=len(twice) == len(found))
    yield from _evaluated(trace, known, set(calls))


def _evaluated(trace: Trace, known: Paths, told: set[Span]) -> Iterator[Finding]:
    """Of calls that no loss depends on: those of what a trained model gave, compared with a threshold."""
    compared = {event.site.id: event for event in trace.of(Threshold)}
    calls: dict[Span, list[tuple[Op, Op, Threshold] | None]] = {}
    for graph_id in known.graph_ids if compared else ():
        for op in known.graph(graph_id).called(SIGMOIDS & OF.keys()):
            span = op.site.user.span()
            if span not in told and op.outputs and (graph_id, op.outputs[0]) not in known.used.order:
                calls.setdefault(span, []).append(_compared(known, op, compared))
    for found in calls.values():
        twice = [one for one in found if one is not None]
        if twice:
            op, inner, event = twice[0]
            yield _finding(trace, known, op, inner, always=len(twice) == len(found), event=event)


def _compared(known: Paths, op: Op, compared: dict[int, Threshold]) -> tuple[Op, Op, Threshold] | None:
    """The call with the one that gave the probabilities, and where its result is compared with a number."""
    inner = _inner(known, op, evaluated=True)
    if inner is None or not any(
        known.stepped(known.parameters[id]) for id in known.fed_by((op.graph, op.inputs[0]))
    ):
        return None
    graph = known.graph(op.graph)
    todo = [op.outputs[0]]
    for value in todo:  # grows while it is walked
        for reader in graph.consumers.get(value, ()):
            event = compared.get(reader.site.id)
            if reader.name in ORDERINGS and event is not None:
                return op, inner, event
            if reader.name in PASSING | CASTS | ALIASES and reader.outputs and reader.outputs[0] not in todo:
                todo.append(reader.outputs[0])
    return None


def _inner(known: Paths, op: Op, *, evaluated: bool = False) -> Op | None:
    """The one call whose probabilities it is taken of, as they are."""
    given = (op.graph, op.inputs[0]) if op.name in OF and op.inputs else _by_hand(known, op)
    made = [maker for _, maker in makers(known, given)] if given is not None else []
    while evaluated and len(made) == 1 and made[0].name in ALIASES and made[0].inputs:
        made = [maker for _, maker in makers(known, (made[0].graph, made[0].inputs[0]))]
    same = {_kind(known, maker) for maker in made}
    plain = evaluated or all(maker.nodes for maker in made)
    return made[0] if made and same <= OF[_kind(known, op)] and plain else None


def _kind(known: Paths, op: Op) -> str:
    """Which of the functions a call is, or stands for where the program has put it together; "" for others."""
    if op.name in OF:
        return op.name
    if op.name not in BY_HAND:
        return ""
    return (
        "sigmoid"
        if sigmoid_of(known, op) is not None
        else "softmax"
        if by_own_sum(known, op) is not None
        else ""
    )


def _by_hand(known: Paths, op: Op) -> Key | None:
    if (scores := sigmoid_of(known, op)) is not None:
        return scores
    made = by_own_sum(known, op)
    return made.scores if made is not None else None


def _finding(
    trace: Trace, known: Paths, op: Op, inner: Op, *, always: bool, event: Threshold | None = None
) -> Finding:
    shows, kind, before_kind = event or loss_event(known, op), _kind(known, op), _kind(known, inner)
    here, before = softmax_site(trace, op), softmax_site(trace, inner)
    shape = known.graph(op.graph).values[op.inputs[0]].shape
    seen = f"its input of shape {shape} comes straight from {_named(inner, before_kind)}"
    if kind != "softmax":
        seen += ": the result lies between 0.5 and 0.731"
    related = (
        [(before, f"gives the probabilities, by {_named(inner, before_kind)}")] if before != here else []
    )
    fix = f"{located(trace, here, f'`{op.name}`')}, since its input is a probability already"
    label = "learns from numbers that are all alike"
    if event is None:
        fix = f"leave one of both out: {fix}, or {located(trace, before, f'`{inner.name}`')}"
    else:
        fix = f"leave out {fix}"
        seen += (
            f"; where it is compared with {event.number:g}, its {event.elements} numbers were between"
            f" {event.low:.3f} and {event.high:.3f}, and {percent(event.true / event.elements)} of the answers True"
        )
        label = f"compares what cannot be below 0.5 with {event.number:g}"
        handed = _handed(op, inner)
        if handed is not None:
            if handed.location() != before.location():
                related.append((handed, "hands probabilities to what takes scores"))
            fix += _asked(trace, op, inner, handed)
    return Finding(
        message=f"{code(trace, here, f'`{op.name}`')} takes a {kind.rstrip('_')} of what has been through "
        f"{_named(inner, before_kind)} already{': none is below 0.5' if event is not None else ''}",
        cause=here,
        cause_label="squashes probabilities once more",
        effect=shows.site.user if shows is not None and shows.site.user != here else None,
        effect_label=label,
        related=tuple(related),
        seen=(seen,),
        fix=fix,
        edits=unwrapped(trace, op.site.user) if always else (),
        subjects=frozenset({("squashed", *inner.site.user.location())}),
    )


def _named(op: Op, kind: str) -> str:
    return f"`{op.name}`" if op.name in OF else f"a {kind}"


def _handed(op: Op, inner: Op) -> Site | None:
    """The program's call of the function that takes the sigmoid, where the probabilities come from outside of it."""
    behind = {frame.span() for frame in inner.site.stack}
    around = [frame for frame in op.site.stack[::-1] if frame.kind == "user" and frame != op.site.user]
    return next((frame for frame in around if frame.span() not in behind), None)


def _asked(trace: Trace, op: Op, inner: Op, handed: Site) -> str:
    """What to hand over instead: scores, or another choice than the one that the function makes by itself."""
    around = trace.source_file(op.site.user.path).around(op.site.user)
    function = next((node for node in around if isinstance(node, FUNCTIONS)), None)
    if function is not None:
        plain, named = function.args, function.args.kwonlyargs
        given = [*zip(plain.args[::-1], plain.defaults[::-1], strict=False)]
        given += [
            (name, value) for name, value in zip(named, plain.kw_defaults, strict=True) if value is not None
        ]
        for argument, default in given:
            if isinstance(default, ast.Constant) and default.value == op.name.rstrip("_"):
                return f'; or give {located(trace, handed)} another `{argument.arg}=` than "{default.value}"'
    return f"; or hand {located(trace, handed)} what goes into `{inner.name}`"
