"""An overlap is computed over all classes at once, and one class has nearly all of the places: the others hardly count.

Why: `2 * sum(p * t) / (sum(p) + sum(t))` over all classes together is what the most frequent class is worth. Where nine
tenths of all pixels are background, a network that answers "background" everywhere has a Dice coefficient of 0.9 and
more, and next to nothing to gain by finding the rest.

Fix: the sums of each class over its own places, the quotient of each class, then the mean, perhaps without background.

Measured: the numerator sums a product with one-hot labels over their classes, too, the denominator what is multiplied
and the labels; and one label made up nine tenths of those that were made one-hot. Silent on: labels that are spread,
sums of each class, a class that was left out before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from gradscope import equations
from gradscope.analysis.ops import (
    ADDITIONS,
    DIVISIONS,
    JOINING,
    MULTIPLICATIONS,
    PARTS,
    PASSING,
    SUBTRACTIONS,
)
from gradscope.analysis.overlaps import sums_in
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located
from gradscope.events import OneHot
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

FORMS = (PASSING | {"float"}) - PARTS - JOINING  # the same numbers, all of them
_DOTS = {"dot", "vdot", "inner", "einsum"}  # products that are summed at once
_TOTALS = {"sum"} | _DOTS
MOST = 0.9  # of the labels that are of one class
MANY = 50  # values that are added up
DEEP = 12  # calls from the product back to where the axes were joined


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 3, 3, padding=1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(4, 1, 8, 8)
        y = nn.functional.one_hot((x[:, 0] > 1.8).long() * 2, 3).permute(0, 3, 1, 2).float()
        p = model(x).softmax(1)
        both = (p * y).sum()  # effect: GS352
        each = (p + y).sum()
        loss = 1 - (2 * both + 1) / (each + 1)  # cause: GS352
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 3, 3, padding=1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(4, 1, 8, 8)
        y = nn.functional.one_hot((x[:, 0] > 1.8).long() * 2, 3).permute(0, 3, 1, 2).float()
        p = model(x).softmax(1)
        both = (p * y).sum((0, 2, 3))
        each = (p + y).sum((0, 2, 3))
        loss = 1 - ((2 * both + 1) / (each + 1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS352", name="overlap-of-all-classes", severity="warning", needs=OneHot)
def overlap_of_all_classes(trace: Trace) -> Iterator[Finding]:
    shares = {event.site.id: event.counts for event in trace.of(OneHot)}
    if not shares:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, quotient in known.used_calls(DIVISIONS):
        if len(quotient.inputs) != 2 or quotient.site.user.location() in told:
            continue
        above, below = (sums_in(known, (quotient.graph, index), _TOTALS) for index in quotient.inputs)
        for total in above:
            product = known.maker((total.graph, total.inputs[0])) if total.name == "sum" else total
            if product is None or product.name not in MULTIPLICATIONS | _DOTS or len(product.inputs) != 2:
                continue
            sides = [(product.graph, index) for index in product.inputs]
            labels = next(
                (made for side in sides if (made := _labels(known, side, shares)) is not None), None
            )
            counts = shares.get(labels.site.id, ()) if labels is not None else ()
            if not counts or max(counts) < MOST * sum(counts) or not _over_classes(known, total, len(counts)):
                continue
            if _is_overlap(known, total, product, below):
                told.add(quotient.site.user.location())
                yield _finding(trace, known, quotient, [*above, *below], product, counts)


def _is_overlap(known: Paths, total: Op, product: Op, below: list[Op]) -> bool:
    """Whether the denominator has other sums than the numerator; where it takes that one away, as a union does, those
    of both sides."""
    rest = [one for one in below if one is not total]
    if len(rest) == len(below) and total is not product:
        return bool(below) and {one.inputs[0] for one in below}.isdisjoint(total.inputs)
    return set(product.inputs) <= {one.inputs[0] for one in rest} or (
        {known.made((product.graph, i)) for i in product.inputs} <= _added_up(known, rest)
    )


def _added_up(known: Paths, sums: list[Op]) -> set[Key]:
    """What goes into these sums, alone or in a product, itself or as what is missing to 1: a Tversky index adds up
    `p * (1 - t)` and `(1 - p) * t`."""
    found: set[Key] = set()
    todo = [(one.graph, index) for one in sums for index in one.inputs]
    for key in todo:  # grows while it is walked
        op = known.maker(key)
        rest = op is not None and op.name in SUBTRACTIONS and len(op.inputs) == 1
        if op is not None and len(todo) < MANY and (rest or op.name in MULTIPLICATIONS):
            todo += [(op.graph, index) for index in op.inputs]
        else:
            found.add(known.made(key))
    return found


def _labels(known: Paths, key: Key, shares: Mapping[int, Sequence[int]]) -> Op | None:
    """The call that made a value's labels one-hot: `one_hot`, rows of a table of ones in its diagonal, or a `scatter_`
    of ones into zeros."""
    made = known.maker_behind(key, FORMS)
    return (
        made if made is not None and made.site.id in shares and not known.value(key).requires_grad else None
    )


def _over_classes(known: Paths, total: Op, classes: int) -> bool:
    """Whether a sum goes over the axis of the classes and over the places."""
    shape = known.value((total.graph, total.inputs[0])).shape
    left = known.value((total.graph, total.outputs[0])).shape
    if prod(left) > shape[0] or (total.name == "einsum" and not _sums_classes(total, shape, classes)):
        return False
    if len(shape) <= 2:
        joined = _flattened(known, (total.graph, total.inputs[0]))
        return joined is not None and known.value((joined.graph, joined.inputs[0])).shape[1] == classes
    axis = 1 if shape[1] == classes else len(shape) - 1
    dims = total.extra.get("dims")
    return shape[axis] == classes and (dims is None or axis in {d % len(shape) for d in dims})


def _sums_classes(total: Op, shape: tuple[int, ...], classes: int) -> bool:
    """Whether an `einsum` leaves out the axis of the classes, and the products are of the same places."""
    equation = equations.of(total)
    if equation is None or len(set(equation.operands)) != 1:
        return False
    axis = 1 if shape[1:2] == (classes,) else len(shape) - 1
    return any(
        at == axis and letter not in equation.result for letter, at in equation.axes(0, len(shape)).items()
    )


def _flattened(known: Paths, key: Key) -> Op | None:
    """The call that took the axes of a picture, or of a product of such, together."""
    for _ in range(DEEP):
        op = known.maker(key)
        if op is None or op.name not in FORMS | MULTIPLICATIONS | ADDITIONS or not op.inputs:
            return None
        if len(known.value((op.graph, op.inputs[0])).shape) > 2:
            return op if len(known.value((op.graph, op.outputs[0])).shape) <= 2 else None
        key = op.graph, op.inputs[0]
    return None


def _finding(
    trace: Trace, known: Paths, quotient: Op, sums: list[Op], product: Op, counts: tuple[int, ...]
) -> Finding:
    place = quotient.site.user
    frequent, share = counts.index(max(counts)), max(counts) / sum(counts)
    rest = ", ".join(f"{100 * n / sum(counts):.2g} %" for n in counts if n != max(counts))
    fix, edits = _apart(trace, known, quotient, sums, product)
    return Finding(
        message=f"the overlap is of all {len(counts)} classes together, and {100 * share:.1f} % of the labels are"
        f" {frequent}: the other classes hardly count",
        cause=place,
        cause_label="one quotient for all classes",
        effect=product.site.user,
        effect_label="is summed over the classes, too",
        seen=(
            f"of {sum(counts)} labels that were made one-hot {100 * share:.1f} % are {frequent}, of the others {rest}:"
            f" whoever answers {frequent} everywhere has an overlap of about {share:.2f}",
        ),
        fix=fix,
        edits=edits,
        subjects=frozenset({("overlap", *place.location())}),
    )


def _apart(trace: Trace, known: Paths, quotient: Op, sums: list[Op], product: Op) -> tuple[str, Edits]:
    """The quotient of each sample and class, and the edits."""
    place = quotient.site.user
    here = Source(trace, place.path)
    edits: Edits = ()
    written = []
    for total in {(op.site.user.line, op.site.user.column): op for op in sums}.values():
        shape = known.value((total.graph, total.inputs[0])).shape
        node = here.file.at(total.site.user)
        if (
            total.site.user.path != place.path
            or not isinstance(node, ast.Call)
            or len(shape) == 3
            or total.name != "sum"
        ):
            return _by_hand(trace, place), ()
        dims = "2" if len(shape) <= 2 else str(tuple(range(2, len(shape))))
        is_function = here.file.is_imported(node.func)
        new = with_argument(trace, total.site.user, "dim", dims, int(is_function))
        if not new:
            return _by_hand(trace, place), ()
        edits += new
        written.append(f"`{here.text_after(node, new)}`")
    for index in product.inputs:
        joined = _flattened(known, (product.graph, index))
        if joined is None:
            continue
        node = here.file.at(joined.site.user)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return _by_hand(trace, place), ()
        edits += here.replace(node, f"{here.text_of(node.func.value)}.flatten(2)")
        written.append(f"`{here.text_of(node.func.value)}.flatten(2)`")
    node = here.file.at(place)
    if not known.value((quotient.graph, quotient.outputs[0])).shape and isinstance(node, ast.expr):
        edits += here.around(node, "", ".mean()", Binds.PRIMARY)
    return (
        f"take the sums of each class: {', '.join(written)}, and the mean of {located(trace, place)}",
        edits,
    )


def _by_hand(trace: Trace, place: Site) -> str:
    return f"sum over the places of each class only, and take the mean of {located(trace, place)} over the classes"
