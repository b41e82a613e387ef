"""Attention is scaled after its softmax and not before it: the weights of each query no longer add up to 1.

Why: `softmax(q @ k.mT) / d**0.5` divides the weights. The softmax itself gets scores that grow with the width: it is
nearly one-hot, and its gradient small, which the scale should prevent. Each result is a mean of the values made smaller
by the same number.

Fix: divide the scores: `softmax(q @ k.mT / d**0.5)`.

A note where the scores were scaled as well, or the weights made larger: that may be meant.

Measured: the number, the same in each looked-at call. Silent on: weights that something else masks or normalises once
more, linear attention (a softmax of features, not of products), means over heads, results that are scaled back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import (
    ADDITIONS,
    CASTS,
    JOINING,
    LAYERS,
    PASSING,
    PRODUCTS_OF_MATRICES,
    SCALES,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.trails import Sum, trail
from gradscope.analysis.words import code, located, numbers
from gradscope.events import ScaledWeights
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import beside
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.source import names_in, sides_of
from gradscope.store import Trace

PRODUCTS = PRODUCTS_OF_MATRICES | {"baddbmm"}
THE_SAME = (PASSING - JOINING) | CASTS | {"dropout"}  # with the same weights, or nearly
MASKING = SUMS | THE_SAME | {"masked_fill", "masked_fill_", "where"}
UNIT = {"normalize"}
DEEP = 12  # calls between a product and its softmax


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2), dim=-1) / 8**0.5  # cause: GS798
        scores = head((weights @ v).mean(1))  # effect: GS798
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2) / 8**0.5, dim=-1)
        scores = head((weights @ v).mean(1))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (4,))).backward()
        opt.step()


@rule("GS798", name="scaled-after-the-softmax", severity="warning", needs=ScaledWeights)
def scaled_after_the_softmax(trace: Trace) -> Iterator[Finding]:
    factors = {e.site.user.span(): e.factor for e in trace.of(ScaledWeights) if e.factor not in (0, 1)}
    if not factors:
        return
    known = paths(trace)
    lines: dict[tuple[str, int], tuple[Op, Op, Op]] = {}
    for _, scale in known.used_calls(SCALES):
        place = scale.site.user.location()
        if place in lines or scale.site.user.span() not in factors or len(scale.inputs) != 1:
            continue
        softmax = known.maker_behind((scale.graph, scale.inputs[0]), THE_SAME)
        product = _weighing(trace, known, softmax, scale) if softmax is not None else None
        if softmax is not None and product is not None:
            lines[place] = softmax, scale, product
    for softmax, scale, product in lines.values():
        scaled = _scores_scaled(known, softmax)
        if scaled is not None:
            factor = factors[scale.site.user.span()]
            mild = scaled or factor > 1
            yield _finding(trace, known, softmax, scale, product, factor, mild=mild)


def _weighing(trace: Trace, known: Paths, softmax: Op, scale: Op) -> Op | None:
    """The product of matrices that sums values over the softmax's axis by the scaled weights, where nothing undoes
    the scale."""
    key = (softmax.graph, softmax.outputs[0]) if softmax.name == "softmax" and softmax.outputs else None
    dims = softmax.extra.get("dims", [])
    rank = len(known.value(key).shape) if key is not None else 0
    if key is None or len(dims) != 1 or not -rank <= dims[0] < rank:
        return None
    followed = trail(trace, key)
    uses = [use for use in followed.sums if dims[0] % rank in use.over]
    if followed.balanced or not all(use.op.name in PRODUCTS and len(use.over) == 1 for use in uses):
        return None
    found = [use.op for use in uses if _takes(known, use, scale)]
    return found[0] if found and not any(_undone(known, op) for op in found) else None


def _takes(known: Paths, use: Sum, scale: Op) -> bool:
    """Whether the product takes what the scale gave as it is."""
    made = [known.maker_behind((use.op.graph, value), THE_SAME) for value in use.op.inputs]
    return any(op is not None and (op.graph, op.index) == (scale.graph, scale.index) for op in made)


def _undone(known: Paths, product: Op) -> bool:
    """Whether the result is scaled by a plain number, or summed up with others: a mean over heads or rounds."""
    todo = [(product.graph, value) for value in product.outputs]
    seen: set[Key] = set()
    while todo and len(seen) < DEEP:
        key = todo.pop()
        seen.add(key)
        for result, op in known.used.feeds.get(key, ()):
            if op is None:
                continue
            if op.name == "sum" or (op.name in SCALES and len(op.inputs) == 1):
                return True
            if op.name in ADDITIONS and any(
                _made_alike(known, (op.graph, i), product, op) for i in op.inputs
            ):
                return True
            if op.name in PASSING and result not in seen:
                todo.append(result)
    return False


def _made_alike(known: Paths, key: Key, product: Op, addition: Op) -> bool:
    """Whether a term is that product's line in another call, or the sum of such terms so far."""
    maker = known.maker_behind(key, PASSING)
    if maker is None or (maker.graph, maker.index) == (product.graph, product.index):
        return False
    return maker.site.user.span() in (product.site.user.span(), addition.site.user.span())


def _scores_scaled(known: Paths, softmax: Op) -> bool | None:
    """Whether the scores were scaled before the softmax, they or what they are products of; None where they are no
    products of two values that are trained."""
    todo = [(softmax.graph, softmax.inputs[0])] if softmax.inputs else []
    scaled, found = False, False
    for _ in range(DEEP):
        if not todo:
            break
        key = todo.pop()
        op = known.maker(key)
        if op is None:
            continue
        trained = [(op.graph, i) for i in op.inputs if known.graph(op.graph).values[i].requires_grad]
        if op.name in PRODUCTS:
            found = found or len(trained) > 1
            behind = [known.maker_behind(one, THE_SAME) for one in trained]
            scaled = scaled or any(one is not None and one.name in SCALES | UNIT for one in behind)
        elif op.name in MASKING | SCALES:
            scaled = scaled or op.name in SCALES
            todo += trained
        elif op.name not in LAYERS:
            scaled = True  # in a way that is not known here
    return scaled if found else None


def _finding(
    trace: Trace, known: Paths, softmax: Op, scale: Op, product: Op, factor: float, *, mild: bool
) -> Finding:
    place, before = scale.site.user, softmax.site.user
    text, edits = _inside(trace, softmax, scale)
    size = known.graph(softmax.graph).values[softmax.outputs[0]].shape[softmax.extra["dims"][0]]
    how = "scale the scores instead, before the softmax: "
    return Finding(
        message=f"{code(trace, place, 'the scale')} scales what a softmax gave: the weights of each row add up to"
        f" {numbers(factor)} and not to 1",
        cause=place,
        cause_label="after the softmax, where it belongs before it",
        effect=product.site.user,
        effect_label=f"gives means of the values times {numbers(factor)}",
        related=((before, "makes weights that add up to 1"),)
        if before.location() != place.location()
        else (),
        seen=(
            f"the {size} weights of a row were multiplied by {numbers(factor)} in all looked-at calls of this line"
            + ("" if mild else "; nothing scales the scores before the softmax"),
        ),
        fix=f"{how}`{text}`" if text else f"{how}in {located(trace, before)}",
        severity="note" if mild else "",
        edits=edits,
        subjects=frozenset({("weights", *place.location())}),
    )


def _inside(trace: Trace, softmax: Op, scale: Op) -> tuple[str, Edits]:
    """The call of the softmax with the scale inside, as text and as edits."""
    place, before = scale.site.user, softmax.site.user
    here = Source(trace, place.path)
    call, node = here.file.at(before), here.file.at(place)
    sides = sides_of(node)
    if not isinstance(call, ast.Call) or sides is None or not isinstance(node, (ast.BinOp, ast.AugAssign)):
        return "", ()
    sign = "/" if isinstance(node.op, ast.Div) else "*"
    weights, number = sides
    if sign == "*" and isinstance(node, ast.BinOp) and (number is call or isinstance(weights, ast.Constant)):
        weights, number = number, weights
    given = _given(trace, here, softmax, call)
    if given is None:
        return "", ()
    by = here.file.operand(number) if not isinstance(number, ast.Constant) else here.file.text(number)
    scores = f"{here.file.operand(given)} {sign} {by}"
    if isinstance(call.func, ast.Attribute) and given is call.func.value:
        scores, head = f"({scores})", ""
    else:
        head = here.file.text(call.func)
    text = head + here.file.text(call).removeprefix(head).replace(here.file.text(given), scores, 1)
    shown = " ".join(text.split())
    if isinstance(node, ast.BinOp) and weights is call:
        return shown, here.replace(node, text)
    statement = here.file.statement(before)
    if not beside(trace, place, before) or statement is None or not _is_known_there(here, number, statement):
        return shown, ()
    return shown, (*here.replace(given, scores), *_unscaled(here, node, weights))


def _given(trace: Trace, here: Source, softmax: Op, call: ast.Call) -> ast.expr | None:
    """The scores that a call of a softmax is given."""
    module = trace.modules.get(softmax.module) if softmax.module is not None else None
    a_layer = module is not None and module.cls == "Softmax"
    if isinstance(call.func, ast.Attribute) and not a_layer and not here.file.is_imported(call.func):
        return call.func.value if call.func.attr == "softmax" else None
    return call.args[0] if call.args and not isinstance(call.args[0], ast.Starred) else None


def _is_known_there(here: Source, number: ast.expr, statement: ast.stmt) -> bool:
    """Whether all names of the number have their value before this statement."""
    scope = here.file.parent.get(id(statement))
    bound = {
        name.id
        for name in ast.walk(scope if scope is not None else statement)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store) and name.lineno >= statement.lineno
    }
    return bound.isdisjoint(names_in(number))


def _unscaled(here: Source, node: ast.BinOp | ast.AugAssign, weights: ast.expr) -> Edits:
    """The weights without their scale; a statement that then says nothing is taken out."""
    above = node if isinstance(node, ast.AugAssign) else here.file.parent.get(id(node))
    if isinstance(above, ast.AugAssign):
        return here.remove(above)
    if isinstance(above, ast.Assign) and [ast.unparse(t) for t in above.targets] == [ast.unparse(weights)]:
        return here.remove(above)
    return here.replace(node, here.file.text(weights)) if isinstance(node, ast.BinOp) else ()
