"""A mask sets scores to 0 before a sigmoid: what was masked out counts with a probability of one half.

Why: the sigmoid of 0 is 0.5. In the sum of a Dice or IoU loss each masked place then is half a hit that no label
answers, and where much is masked they outweigh all others: the model is paid for large probabilities elsewhere.

Fix: the sigmoid first, then the mask: `torch.sigmoid(scores) * mask`.

Measured: how many places the mask sets to 0 and not to another number, at one of its first calls; whether a sum of the
probabilities divides: Dice's, a union's, or Tversky's of what is not labelled.
Silent on: masks drawn at random; probabilities that are masked once more; sums that divide nothing, such as a binary
cross entropy, where a masked place adds a constant.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator

from gradscope import equations
from gradscope.analysis.ops import (
    ADDITIONS,
    CASTS,
    CLIPS,
    DIVISIONS,
    FILLED_WHERE,
    MULTIPLICATIONS,
    POWERS,
    REVERSED_SUBTRACTIONS,
    SIGMOIDS,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, percent
from gradscope.events import ZeroOnes
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._chances import INVERTED, sigmoid_of
from gradscope.rules.numbers._masks import CHANCES, masked_again
from gradscope.store import Trace

SAME = CASTS | {"view", "reshape", "flatten", "squeeze", "unsqueeze", "contiguous"}
TO_A_SUM = SAME | POWERS | ADDITIONS | {"sum"} | CLIPS
ZEROING = MULTIPLICATIONS | FILLED_WHERE
PRODUCTS = MULTIPLICATIONS | {"einsum"}
SHARE = 0.05  # of the mask, that is 0
DEEP = 8


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 1, 8, 8)
        y, mask = (x > 1).float(), torch.zeros(4, 1, 8, 8)
        mask[..., 2:6] = 1
        p, y = torch.sigmoid(model(x) * mask), y * mask  # cause: GS791  # effect: GS791
        loss = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(4, 1, 8, 8)
        y, mask = (x > 1).float(), torch.zeros(4, 1, 8, 8)
        mask[..., 2:6] = 1
        p, y = torch.sigmoid(model(x)) * mask, y * mask
        loss = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS791", name="masked-before-the-sigmoid", severity="warning", needs=ZeroOnes)
def masked_before_the_sigmoid(trace: Trace) -> Iterator[Finding]:
    masks = {event.site.user.span(): event for event in trace.of(ZeroOnes)}
    if not masks:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, op in known.used_calls(SIGMOIDS | INVERTED | DIVISIONS):
        scores = (op.graph, op.inputs[0]) if op.name in SIGMOIDS and op.inputs else sigmoid_of(known, op)
        product = known.maker_behind(scores, SAME) if scores is not None else None
        if product is None or product.name not in ZEROING or len(product.inputs) < 2:
            continue
        event, place = masks.get(product.site.user.span()), product.site.user.location()
        if event is None or event.zeros < SHARE * event.elements or place in told:
            continue
        mask = product.graph, product.inputs[event.place]
        divided = None if _by_chance(known, mask) or masked_again(known, key, mask) else _divides(known, key)
        if divided is not None and not known.fed_by(mask):
            told.add(place)
            yield _finding(trace, product, op, divided, event)


def _by_chance(known: Paths, mask: Key) -> bool:
    makers = (known.graph(graph).maker(value) for graph, value in known.flow([mask]).order)
    return any(maker is not None and maker.name in CHANCES for maker in makers)


def _divides(known: Paths, key: Key) -> Op | None:
    """The division by a sum of these very probabilities, of their squares, or of those of what is not labelled."""
    graph = known.graph(key[0])
    seen, todo = {(key[1], False)}, deque([(key[1], False)])
    while todo and len(seen) < DEEP * DEEP:
        value, summed = todo.popleft()
        for op in graph.consumers.get(value, ()):
            if summed and op.name in DIVISIONS and len(op.inputs) == 2 and op.inputs[1] == value:
                return op
            now = summed or op.name in ("sum", "einsum")
            own = op.name in MULTIPLICATIONS and set(op.inputs) == {value}
            less = summed and op.name in SUBTRACTIONS | MULTIPLICATIONS and op.inputs[0] == value
            if op.name in TO_A_SUM or own or less or (not summed and _not_labelled(known, op, value)):
                more = [(result, now) for result in op.outputs if (result, now) not in seen]
                seen.update(more)
                todo += more
    return None


def _not_labelled(known: Paths, op: Op, value: int) -> bool:
    """Whether it multiplies a value with one less the labels, in which a masked place counts like any other."""
    others = [index for index in op.inputs if index != value]
    if op.name not in PRODUCTS or len(op.inputs) != 2 or len(others) != 1:
        return False
    if op.name == "einsum" and not _sums_up(op):
        return False
    less = known.maker_behind((op.graph, others[0]), SAME)
    return (
        less is not None
        and less.name in REVERSED_SUBTRACTIONS
        and len(less.inputs) == 1
        and not known.fed_by((op.graph, others[0]))
    )


def _sums_up(op: Op) -> bool:
    """Whether an `einsum` adds up what it multiplies place by place: `np,np->n`."""
    equation = equations.of(op)
    if equation is None or len(equation.operands) != 2:
        return False
    left, right = equation.operands
    return left == right and len(equation.result) < len(left)


def _finding(trace: Trace, product: Op, sigmoid: Op, divided: Op, event: ZeroOnes) -> Finding:
    site, effect = product.site.user, sigmoid.site.user
    text, edits = _sigmoid_first(trace, product, sigmoid)
    return Finding(
        message=f"{code(trace, site, 'a mask')} sets scores to 0 before {code(trace, effect, 'the sigmoid')}: what was"
        " masked out counts as 0.5",
        cause=site,
        cause_label="0 where the mask is 0" if product.name in MULTIPLICATIONS else "sets them to 0",
        effect=effect,
        effect_label="makes 0.5 of each of them",
        related=((divided.site.user, "divides by a sum of them"),),
        seen=(
            f"{percent(event.zeros / event.elements)} of the places are set to 0 by the mask; the sigmoid takes them"
            f" as they are, and {located(trace, divided.site.user)} divides by a sum of what it gives",
        ),
        fix=f"take the sigmoid first, and mask what it gives: {text}",
        edits=edits,
        subjects=frozenset({("masked", *site.location())}),
    )


def _sigmoid_first(trace: Trace, product: Op, sigmoid: Op) -> tuple[str, Edits]:
    """`torch.sigmoid(scores) * mask` for `torch.sigmoid(scores * mask)`."""
    site = sigmoid.site.user
    here = Source(trace, site.path)
    call, inner = here.file.at(site), here.file.at(product.site.user)
    plain = isinstance(call, ast.Call) and call.args == [inner] and here.file.is_imported(call.func)
    if (
        plain
        and isinstance(call, ast.Call)
        and isinstance(inner, ast.BinOp)
        and product.site.user.path == site.path
    ):
        function, left, right = (here.file.text(node) for node in (call.func, inner.left, inner.right))
        scores_first = (
            product.inputs[0] != product.inputs[1]
            and trace.graph(product.graph).values[product.inputs[0]].requires_grad
        )
        new = f"{function}({left}) * {right}" if scores_first else f"{left} * {function}({right})"
        return f"`{new}`", here.replace(call, new)
    if product.name in FILLED_WHERE:
        return f"{located(trace, product.site.user)} belongs behind {located(trace, site)}", ()
    return f"`torch.sigmoid(scores) * mask`, in place of {located(trace, product.site.user)}", ()
