"""Scores of many pairs are summed up before `logsigmoid`, where each of them has its own.

Why: `logsigmoid` asks of a score to be positive. Of the sum over a batch, or over the negatives of a word, it asks only
that the sum is: some large scores make up for all that are ranked wrongly, all get one and the same gradient, and once
the sum is large that is zero. The loss comes close to zero with next to nothing learned.

Fix: take the `logsigmoid` of each score, and the mean or the sum after it.

Measured: the shapes, in all calls that a loss depends on. Of a batch: its rows were drawn in a random order, the
`logsigmoid` gets one number of all of them, and that is made of differences or products of what is trained. Of
negatives: the loss has another `logsigmoid`, of products of the same parameters that are not summed up.
Silent on: one pair in each step, sums over the tokens of a sequence, or over what one score is made of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from gradscope.analysis.axes import axes
from gradscope.analysis.ops import (
    MEANS,
    MULTIPLICATIONS,
    NEGATIONS,
    PASSING,
    PICKS_OF_A_TABLE,
    PRODUCTS_OF_MATRICES,
    SCALES,
    SUBTRACTIONS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import shape_of
from gradscope.store import Trace

OF_ONE = {"log_sigmoid", "softplus"}
REDUCING = MEANS | {"sum"}
FORMS = PASSING - PICKS_OF_A_TABLE
DEEP = 30  # calls between a `logsigmoid` and the scores


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    users, items = nn.Embedding(40, 4), nn.Embedding(30, 4)
    opt = torch.optim.Adam([*users.parameters(), *items.parameters()], lr=0.01)
    pairs = torch.stack([torch.randint(40, (64,)), torch.randint(30, (64,))], dim=1)
    for rows in torch.randperm(64).split(16):
        u, p, n = users(pairs[rows, 0]), items(pairs[rows, 1]), items(torch.randint(30, (16,)))
        score = (u * (p - n)).sum()  # cause: GS741
        loss = -nn.functional.logsigmoid(score)  # effect: GS741
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    users, items = nn.Embedding(40, 4), nn.Embedding(30, 4)
    opt = torch.optim.Adam([*users.parameters(), *items.parameters()], lr=0.01)
    pairs = torch.stack([torch.randint(40, (64,)), torch.randint(30, (64,))], dim=1)
    for rows in torch.randperm(64).split(16):
        u, p, n = users(pairs[rows, 0]), items(pairs[rows, 1]), items(torch.randint(30, (16,)))
        score = (u * (p - n)).sum(dim=1)
        loss = -nn.functional.logsigmoid(score).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Early(NamedTuple):
    """A `logsigmoid` of sums over many scores."""

    op: Op
    sums: tuple[Op, ...]
    many: int  # scores in each sum
    beside: Op | None  # the other one's `logsigmoid`, of single scores; None where the sum is over the batch


@rule("GS741", name="summed-before-the-logsigmoid", severity="warning")
def summed_before_the_logsigmoid(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(OF_ONE | {"sigmoid"}):
        return
    known = paths(trace)
    calls = [
        op for _, op in known.used_calls(OF_ONE | {"log"}) if op.inputs and _given(known, op) is not None
    ]
    lines: dict[tuple[str, int], list[_Early | None]] = {}
    for op in calls:
        found = _of_the_batch(known, op) or _of_negatives(known, op, calls)
        lines.setdefault(op.site.user.location(), []).append(found)
    for of_line in lines.values():
        early = next((one for one in of_line if one is not None), None)
        if early is not None and (early.beside is not None or None not in of_line):
            yield _finding(trace, known, early)


def _given(known: Paths, op: Op) -> Key | None:
    """What the sigmoid is taken of, where it is one whose logarithm is taken."""
    if op.name in OF_ONE:
        return op.graph, op.inputs[0]
    maker = known.maker_behind((op.graph, op.inputs[0]), PASSING | SUMS)  # `+ eps`, perhaps
    return (maker.graph, maker.inputs[0]) if maker is not None and maker.name == "sigmoid" else None


def _of_the_batch(known: Paths, op: Op) -> _Early | None:
    """Where one number of all rows of a batch is what the sigmoid is taken of."""
    given = _given(known, op)
    if given is None or prod(shape_of(known, given)) != 1:
        return None
    sums: dict[tuple[int, int], tuple[Op, Key]] = {}
    todo, pairs = [given], False
    for _ in range(DEEP):
        if not todo:
            break
        key = todo.pop()
        sources, maker = known.sources(key)
        trained = [one for one in sources if known.value(one).requires_grad]
        if maker is None or not trained or prod(shape_of(known, key)) != 1:
            return None
        if maker.name in REDUCING:
            sums[maker.graph, maker.index] = maker, trained[0]
        elif maker.name in SUMS | SCALES | NEGATIONS | FORMS:
            pairs = pairs or (maker.name in SUBTRACTIONS and len(trained) > 1)
            todo += trained
        else:
            return None
    several = [shape_of(known, key) for _, key in sums.values()]
    if (
        todo
        or not several
        or not all(shape[0] == several[0][0] > 1 for shape in several if shape)
        or () in several
    ):
        return None
    found = axes(known.trace)
    drawn = all(found.of(key) and found.drawn(found.of(key)[0]) is not None for _, key in sums.values())
    if not drawn or not (pairs or any(_of_pairs(known, key) for _, key in sums.values())):
        return None
    return _Early(op, tuple(one for one, _ in sums.values()), several[0][0], None)


def _of_pairs(known: Paths, key: Key) -> bool:
    """Whether scores are differences of what is trained, or products of rows that were looked up."""
    todo = [key]
    for _ in range(DEEP):
        if not todo:
            break
        sources, maker = known.sources(todo.pop())
        trained = [one for one in sources if known.value(one).requires_grad]
        if maker is None:
            continue
        if len(trained) > 1 and maker.name in SUBTRACTIONS:
            return True
        if len(trained) > 1 and maker.name in MULTIPLICATIONS:
            behind = [known.maker_behind(one, FORMS | NEGATIONS) for one in trained]
            if all(one is not None and one.name in PICKS_OF_A_TABLE for one in behind):
                return True
        if maker.name in SUMS | SCALES | NEGATIONS | FORMS | REDUCING:
            todo += trained
    return False


class _Scores(NamedTuple):
    """Products of what is trained, and the sums over several of them."""

    product: Key
    sums: tuple[tuple[Op, int], ...]  # with how many scores each sums up


def _of_negatives(known: Paths, op: Op, calls: list[Op]) -> _Early | None:
    """Where the sums over several products are asked what single ones of the same parameters are asked beside them."""
    scores = _scores(known, op)
    if scores is None or not scores.sums:
        return None
    parameters = known.behind(scores.product)
    for other in calls:
        if other.graph != op.graph or other.index == op.index:
            continue
        single = _scores(known, other)
        if single is None or single.sums or known.behind(single.product) != parameters:
            continue
        if _in_one_loss(known, op, other):
            return _Early(op, tuple(one for one, _ in scores.sums), prod(n for _, n in scores.sums), other)
    return None


def _scores(known: Paths, op: Op) -> _Scores | None:
    """The products of two trained values that the sigmoid is taken of, one by one or summed up."""
    key = _given(known, op)
    sums: list[tuple[Op, int]] = []
    for _ in range(DEEP):
        sources, maker = known.sources(key) if key is not None else ([], None)
        trained = [one for one in sources if known.value(one).requires_grad]
        if maker is None or not maker.outputs:
            return None
        if len(trained) == 2 and maker.name in PRODUCTS_OF_MATRICES:
            return _Scores((maker.graph, maker.outputs[0]), tuple(sums[::-1]))
        if len(trained) == 2 and maker.name in MULTIPLICATIONS:
            return _pointwise(known, maker, sums[::-1])
        if len(trained) != 1 or maker.name not in REDUCING | SCALES | NEGATIONS | FORMS:
            return None
        key = trained[0]
        if maker.name in REDUCING:
            before, after = prod(shape_of(known, key)), prod(shape_of(known, (maker.graph, maker.outputs[0])))
            if not maker.extra.get("dims") or after == 1:
                return None  # a sum over the batch
            sums += [(maker, before // after)] if before != after else []
    return None


def _pointwise(known: Paths, product: Op, sums: list[tuple[Op, int]]) -> _Scores | None:
    """The same of a product whose first sum is that of a dot product."""
    rank = len(shape_of(known, (product.graph, product.outputs[0])))
    dims = [d % rank for d in sums[0][0].extra["dims"] if -rank <= d < rank] if sums else []
    if dims != [rank - 1]:
        return None
    return _Scores((product.graph, product.outputs[0]), tuple(sums[1:]))


def _in_one_loss(known: Paths, op: Op, other: Op) -> bool:
    loss = known.loss_of((op.graph, op.outputs[0]))
    return loss is not None and loss is known.loss_of((other.graph, other.outputs[0]))


def _finding(trace: Trace, known: Paths, early: _Early) -> Finding:
    place = early.sums[0].site.user
    effect = early.op.site.user
    name = code(trace, effect, f"`{early.op.name}`")
    summed = code(trace, place, "the sum")
    of = "the batch" if early.beside is None else "each row"
    count = known.times_through(early.op.graph, early.op.nodes)
    return Finding(
        message=f"{summed} adds up {early.many} scores of {of} before {name}: only their sum has to be positive",
        cause=place,
        cause_label=f"makes one number of {early.many} scores",
        effect=effect,
        effect_label="gives all of them one and the same gradient",
        related=((early.beside.site.user, "takes that of single scores"),)
        if early.beside is not None and early.beside.site.user.location() != effect.location()
        else (),
        seen=(_seen(trace, known, early),),
        fix=_fixed(trace, known, early),
        edits=_edits(trace, known, early),
        count=count,
        subjects=frozenset({("scores", *place.location())}),
    )


def _seen(trace: Trace, known: Paths, early: _Early) -> str:
    summed = code(trace, early.sums[0].site.user, "the sum")
    shape = shape_of(known, (early.sums[0].graph, early.sums[0].inputs[0]))
    made = shape_of(known, (early.sums[0].graph, early.sums[0].outputs[0]))
    if early.beside is None:
        return (
            f"{summed} made one number of {shape}, whose {early.many} rows are samples drawn in a random order: what"
            " comes back to each of them is scaled by the same factor"
        )
    beside = code(trace, early.beside.site.user, "the other one")
    return (
        f"{summed} made {made} of {shape}, while {beside} in the same loss takes single scores of the same"
        " parameters"
    )


def _fixed(trace: Trace, known: Paths, early: _Early) -> str:
    effect = located(trace, early.op.site.user)
    rank = len(shape_of(known, (early.sums[0].graph, early.sums[0].inputs[0])))
    if early.beside is None:
        names = " and ".join(code(trace, one.site.user, f"`{one.name}`") for one in early.sums)
        one = f"leave {names} out" if rank == 1 else f"let {names} go over one sample only (`dim=1`)"
        return f"{one}, and take the mean behind {effect}"
    return f"take {effect} of each score, and sum up behind it: `logsigmoid(scores).sum(1)`"


def _edits(trace: Trace, known: Paths, early: _Early) -> Edits:
    outer = early.op.site.user
    here = Source(trace, outer.path)
    call = here.file.at(outer)
    if not isinstance(call, ast.Call) or len(early.sums) > 2:
        return ()
    if early.beside is not None:
        return _moved_behind(trace, here, call, early)
    edits: Edits = ()
    for one in early.sums:
        rank = len(shape_of(known, (one.graph, one.inputs[0])))
        taken = _call_of(trace, here, one)
        if taken is None or taken[0].keywords or taken[2]:
            return ()
        if rank == 1:
            changed = here.replace(taken[0], here.file.operand(taken[1]))
        else:
            dims = "1" if rank == 2 else str(tuple(range(1, rank)))
            changed = with_argument(trace, one.site.user, "dim", dims)
        if not changed:
            return ()
        edits += changed
    return edits + here.behind(call, ".mean()")


def _call_of(trace: Trace, here: Source, op: Op) -> tuple[ast.Call, ast.expr, list[ast.expr]] | None:
    """A call of `sum` or `mean` in the text, what it is taken of, and its further arguments."""
    site = op.site.user
    call = here.file.at(site) if site.path == here.path else None
    if (
        not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Attribute)
        or call.func.attr != op.name
    ):
        return None
    if here.file.is_imported(call.func):
        return (call, call.args[0], call.args[1:]) if call.args else None
    return call, call.func.value, list(call.args)


def _moved_behind(trace: Trace, here: Source, outer: ast.Call, early: _Early) -> Edits:
    """The sum, with the views called on it, behind the `logsigmoid`."""
    taken = _call_of(trace, here, early.sums[0]) if len(early.sums) == 1 else None
    if taken is None:
        return ()
    call, scores, rest = taken
    words = [here.file.text(one) for one in rest]
    words += [f"{one.arg}={here.file.text(one.value)}" for one in call.keywords if one.arg]
    behind = f".{early.sums[0].name}({', '.join(words)})"
    whole: ast.expr = call
    while isinstance(above := here.file.parent.get(id(whole)), ast.Attribute):
        method = here.file.parent.get(id(above))
        if above.attr not in FORMS or not isinstance(method, ast.Call) or method.func is not above:
            return ()
        behind += f".{above.attr}({', '.join(here.file.text(a) for a in method.args)})"
        whole = method
    return here.replace(whole, here.file.operand(scores)) + here.behind(outer, behind)
