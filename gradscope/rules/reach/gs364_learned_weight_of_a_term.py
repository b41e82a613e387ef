"""The weight of a term of the loss is learned with the rest: the loss is lowest where the weight is.

Why: the gradient of a factor is what it multiplies. A loss that is never below 0, times a weight that an optimizer may
change, is made smaller by making the weight smaller: it falls to 0 and on below, and from then on every step makes the
term larger.

Fix: a weight that is a plain number; or one that pays for being small, `torch.exp(-s) * term + s`.

Measured: what loss functions gave, which is never below 0, is multiplied with a trained parameter and added to what
is made smaller, and nothing else reads the parameter.
Silent on: weights that go through a function first (an exponential, a softmax), weights that another term holds up,
optimizers that make their loss larger.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.ops import (
    CASTS,
    JOINING,
    LOSS_FUNCTIONS,
    MULTIPLICATIONS,
    PASSING,
    PRODUCTS_OF_MATRICES,
    SCALES,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.schedules import goes_up
from gradscope.analysis.senses import seen_from, signed
from gradscope.analysis.words import code, located, parameter_name, parameter_subjects, plural
from gradscope.events import Backward
from gradscope.model import Finding, Op, Parameter
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, weights = nn.Linear(4, 2), nn.Parameter(torch.ones(2))
    opt = torch.optim.Adam([*model.parameters(), weights], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 4)
        given = model(x)
        first = weights[0] * nn.functional.mse_loss(given[:, 0], x[:, 0])  # cause: GS364
        loss = first + weights[1] * nn.functional.l1_loss(given[:, 1], x[:, 1])
        opt.zero_grad()
        loss.backward()  # effect: GS364
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, spread = nn.Linear(4, 2), nn.Parameter(torch.zeros(2))
    opt = torch.optim.Adam([*model.parameters(), spread], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 4)
        given = model(x)
        first = torch.exp(-spread[0]) * nn.functional.mse_loss(given[:, 0], x[:, 0])
        loss = first + torch.exp(-spread[1]) * nn.functional.l1_loss(given[:, 1], x[:, 1]) + spread.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


PRODUCTS = MULTIPLICATIONS | PRODUCTS_OF_MATRICES | {"dot", "inner", "vdot"}


@rule("GS364", name="learned-weight-of-a-term", severity="warning")
def learned_weight_of_a_term(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[int] = set()
    for event in known.backwards:
        for term in signed(known, event, _is_product):
            op = known.maker(term.key)
            if op is None or term.sign < 0 or not _is_product(op):
                continue
            weight = _weight(known, op)
            if weight is not None and weight.id not in told and _is_made_smaller(trace, weight):
                told.add(weight.id)
                yield _finding(trace, known, event, op, weight)


def _is_product(op: Op) -> bool:
    return op.name in PRODUCTS and len(op.inputs) == 2


def _weight(known: Paths, op: Op) -> Parameter | None:
    """The trained parameter that one factor is, or an entry of, where the other is a loss, and nothing else that a
    pass goes through reads it."""
    for one, other in (op.inputs, op.inputs[::-1]):
        weight = _plain(known, (op.graph, one)) if _is_loss(known, (op.graph, other)) else None
        if weight is not None:
            return weight if _only_weighs(known, weight) else None
    return None


def _plain(known: Paths, key: Key) -> Parameter | None:
    """The parameter that a value is, or an entry of, as it is."""
    for _ in range(3):
        parameter = known.parameter_of(key)
        if parameter is not None:
            return parameter
        op = known.maker(key)
        if op is None or op.name not in PASSING or not op.inputs:
            return None
        key = (op.graph, op.inputs[0])
    return None


def _only_weighs(known: Paths, weight: Parameter) -> bool:
    """Whether each call of the losses that reads it, or an entry of it, multiplies a loss."""
    todo = list(known.feeding.get(weight.id, ()))
    for key in todo:  # grows while it is walked
        for result, op in known.used.feeds.get(key, ()):
            if op is None:
                return False
            if op.name in PASSING:
                todo += [result] if result not in todo else []
            elif not _is_product(op) or not any(_is_loss(known, (op.graph, index)) for index in op.inputs):
                return False
    return bool(todo)


def _is_loss(known: Paths, key: Key) -> bool:
    """Whether a loss function gave it, but for its scale, or several did."""
    maker = known.maker_behind(key, CASTS | SCALES)
    if maker is not None and maker.name in JOINING:
        return bool(maker.inputs) and all(_is_loss(known, (maker.graph, index)) for index in maker.inputs)
    return maker is not None and maker.name in LOSS_FUNCTIONS


def _is_made_smaller(trace: Trace, weight: Parameter) -> bool:
    steps = [trace.optimizers[number] for number in weight.optimizers if number in trace.optimizers]
    return bool(weight.steps) and not any(goes_up(optimizer) for optimizer in steps)


def _finding(trace: Trace, known: Paths, event: Backward, op: Op, weight: Parameter) -> Finding:
    site = op.site.user
    name = f"`{parameter_name(trace, weight.id)}`"
    return Finding(
        message=f"{name} weighs a term of the loss and is learned with it: the loss is lowest where the weight is",
        cause=site,
        cause_label="its gradient for the weight is the term itself, which is never below 0",
        effect=event.site.user,
        effect_label="lowers the weight in each step",
        seen=(
            f"in {plural(known.alike(event), 'pass')} {code(trace, site, 'the product')} was a part of the loss, with"
            f" nothing that turns it round; {name} was stepped {plural(weight.steps, 'time')} and is read by nothing"
            " else",
        ),
        fix=f"let the weight of {located(trace, seen_from(op, site), 'the term')} be a plain number, or let it pay for"
        " being small: `torch.exp(-s) * term + s` with a parameter `s` that begins at 0",
        subjects=parameter_subjects([weight.id]) | {("weight", *site.location())},
    )
