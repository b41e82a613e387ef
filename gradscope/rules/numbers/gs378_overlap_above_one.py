"""A loss that is 1 less an overlap comes below 0: the overlap is more than all.

Why: a Dice coefficient, or an intersection over the union, is a share from 0 to 1, and `1 - share` is never negative.
The sum of those of a batch goes up to its size: loss and gradient grow with the batch. And with a mask of 0 and 255
what both have in common counts 255 times: the ratio has no meaning, and it is highest for another prediction than the
mask.

Fix: the mean over the samples, `1 - dice.mean()`; a mask from 0 to 1, `mask / 255`.

Measured: what `1 - x` came to; `x` is the sum of a product by sums of both its factors, or a part by what it is a part
of, `hit / (hit + missed)`; either several of them were added up, or one factor went beyond 1 and the other did not.
Silent on: losses that stayed above 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import ADDITIONS, CASTS, DIVISIONS, REDUCTIONS, STACKS, SUBTRACTIONS
from gradscope.analysis.overlaps import Overlap, is_share, overlap
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, numbers
from gradscope.events import BeyondOne, OneLess
from gradscope.fixes.calls import renamed
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

BETWEEN = (
    CASTS | REDUCTIONS | {"squeeze", "view", "reshape", "flatten"}
)  # from the ratio to what 1 is less by
NEAR = 6  # calls
MOST = 1000  # numbers that are added up one by one
ROUNDING = 1e-3


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        y = (torch.rand(6, 64) < 0.6).float()
        p = model(y.view(6, 1, 8, 8)).flatten(1)
        dice = 2 * (p * y).sum(1) / (p.sum(1) + y.sum(1))
        loss = 1 - dice.sum()  # cause: GS378
        opt.zero_grad()
        loss.backward()  # effect: GS378
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        y = (torch.rand(6, 64) < 0.6).float()
        p = model(y.view(6, 1, 8, 8)).flatten(1)
        dice = 2 * (p * y).sum(1) / (p.sum(1) + y.sum(1))
        loss = 1 - dice.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS378", name="overlap-above-one", severity="warning", needs=OneLess)
def overlap_above_one(trace: Trace) -> Iterator[Finding]:
    events = {event.site.user.span(): event for event in trace.of(OneLess)}
    if not events:
        return
    known = paths(trace)
    beyond = {event.site.user.span(): event for event in trace.of(BeyondOne)}
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls(SUBTRACTIONS):
        event = events.get(op.site.user.span())
        if event is None or op.site.user.location() in told:
            continue
        quotient, summed, several = _behind(known, op)
        if quotient is None:
            continue
        found = overlap(known, quotient)
        factor = beyond.get(found.product.site.user.span()) if found is not None else None
        if found is not None and factor is not None:
            told.add(op.site.user.location())
            yield _too_large(trace, known, op, event, found, factor)
        elif summed is None or event.lowest < 1 - several - ROUNDING:
            continue
        elif found is not None or (event.lowest < -ROUNDING and is_share(known, quotient)):
            told.add(op.site.user.location())
            yield _added_up(trace, known, op, event, summed, several)


def _behind(known: Paths, difference: Op) -> tuple[Op | None, Op | None, int]:
    """The quotient that 1 is less by, the sum of several of them, and of how many."""
    key, summed, several = (difference.graph, difference.inputs[0]), None, 1
    for _ in range(NEAR):
        op = known.maker(key)
        if op is not None and op.name in DIVISIONS:
            return op, summed, several
        joined = summed is not None and op is not None and op.name in STACKS
        terms = _of_one_line(known, key) if joined or (op is not None and op.name in ADDITIONS) else []
        if op is not None and len(terms) > 1:
            return terms[0], summed if joined else op, several if joined else several * len(terms)
        if op is None or op.name not in BETWEEN:
            break
        key = (op.graph, op.inputs[0])
        if op.name == "sum" and _several(known, op) > 1:
            summed, several = op, several * _several(known, op)
    return None, None, 1


def _of_one_line(known: Paths, key: Key) -> list[Op]:
    """The quotients that are added up one by one, or put side by side, where one line gives all of them and nothing
    else is among them: those of a loop over the samples."""
    found: list[Op] = []
    todo = [key]
    for current in todo:  # grows while it is walked
        op = known.maker(current)
        if not known.value(current).requires_grad:
            continue  # the zero that a loop begins with
        if op is None or len(todo) > MOST:
            return []
        if op.name in ADDITIONS | STACKS:
            todo += [(op.graph, index) for index in op.inputs]
        elif op.name in DIVISIONS and len(op.inputs) == 2:
            found.append(op)
        else:
            return []
    return found if len({op.site.user.location() for op in found}) == 1 else []


def _several(known: Paths, summed: Op) -> int:
    """How many numbers each number of a sum is of."""
    given, made = (known.value((summed.graph, index)) for index in (summed.inputs[0], summed.outputs[0]))
    return prod(given.shape) // max(1, prod(made.shape))


def _added_up(trace: Trace, known: Paths, op: Op, event: OneLess, summed: Op, several: int) -> Finding:
    site = summed.site.user
    loss = known.loss_of((op.graph, op.outputs[0]))
    return Finding(
        message=f"{code(trace, site, 'the sum')} adds up {several} overlaps, and 1 less that goes below 0: it grows"
        " with their number, as its gradient does",
        cause=site,
        cause_label=f"up to {several}, in place of 1",
        effect=loss.site.user if loss is not None else None,
        effect_label=f"a loss as low as {event.lowest:.3g}",
        seen=(
            f"{code(trace, op.site.user, 'the loss')} was below 0 in {event.below} of {event.calls} calls looked at,"
            f" {event.lowest:.3g} at the lowest; {several} ratios of sums are added up in it",
        ),
        fix=f"take their mean: `mean` in place of `sum` in {located(trace, site)}"
        if summed.name == "sum"
        else f"take their mean: divide what {located(trace, site)} comes to by their number",
        edits=renamed(trace, site, "sum", "mean") if summed.name == "sum" else (),
    )


def _too_large(
    trace: Trace, known: Paths, op: Op, event: OneLess, found: Overlap, factor: BeyondOne
) -> Finding:
    product, graph = found.product, known.graph(found.product.graph)
    fixed = next(index for index in product.inputs if not graph.values[index].requires_grad)
    name, high = names_of(trace).name(graph, fixed), numbers(factor.high)
    target = f"`{name}`" if name else "the mask"
    kind = f"0 and {high} alone" if factor.two else f"from 0 to {high}"
    return Finding(
        message=f"{code(trace, product.site.user, 'the product')} takes {target} for a mask from 0 to 1, and it goes up"
        f" to {high}: the overlap made of it is no share, and 1 less that goes below 0",
        cause=product.site.user,
        cause_label=f"{target} is {kind}",
        effect=op.site.user,
        effect_label=f"as low as {event.lowest:.3g}",
        related=((found.quotient.site.user, "the overlap"),),
        seen=(
            f"the other factor lay from 0 to 1, {target} was {kind};"
            f" {code(trace, op.site.user, 'the loss')} was below 0 in {event.below} of {event.calls} calls looked at",
        ),
        fix=f"bring {target} into 0 to 1 where it is read, dividing by {high}, or"
        f" `({name or 'mask'} > 0).float()`, before {located(trace, product.site.user)}, and in each metric that takes"
        " it too",
    )
