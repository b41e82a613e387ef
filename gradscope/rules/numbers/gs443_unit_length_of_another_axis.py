"""Vectors are made unit length along another axis than the one that their products sum over: they are no cosines.

Why: `F.normalize(x)` divides by the length along axis 1. Of a matrix of samples that is each sample's own vector; with
`dim=0` it is each feature over all samples of the batch, and of a tensor (batch, sequence, features) it is each feature
over the sequence. The product `a @ b.T` then sums over an axis along which nothing has unit length: the scores are as
large as the vectors happen to be, they depend on which other samples are in the batch, and a temperature chosen for
cosines fits none of them.

Fix: `F.normalize(x, dim=-1)`, or whichever axis the product sums over.

Measured: both sides of a product were normalised, at least one of them along an axis that the product does not sum
over; also where it is of parts that were taken out of one tensor, or of several that were joined. An error where an
exponential of such scores overflows, which is how it shows with a small temperature.
Silent on: products of which one side alone is normalised, and on those that sum over the axis of unit length, such as
correlations of features.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope import equations
from gradscope.analysis.axes import PRODUCTS, VIEWS, Axes, Axis, axes
from gradscope.analysis.non_finite import call_of, subjects_of
from gradscope.analysis.ops import ADDITIONS, ALIASES, CASTS, DIVISIONS, EXPONENTIALS, MULTIPLICATIONS, NORMS
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.words import code, located, numbers
from gradscope.events import NonFinite
from gradscope.fixes.calls import along
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._lengths import own_length
from gradscope.store import Trace

LAID_OUT = (
    VIEWS
    | ALIASES
    | CASTS
    | {"t", "T", "mT", "transpose", "permute", "swapaxes", "movedim", "contiguous", "clone"}
)
TAKEN = {"unbind", "select", "split", "chunk", "narrow", "__getitem__"}  # some of the vectors
JOINED = {"cat", "concat", "concatenate", "stack"}
MOST = 8  # parts that were joined, looked at


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, two = nn.Linear(6, 8), nn.Linear(6, 8)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 6)
        a = nn.functional.normalize(one(x), dim=0)  # cause: GS443
        b = nn.functional.normalize(two(x), dim=1)
        scores = a @ b.t() / 0.07  # effect: GS443
        loss = nn.functional.cross_entropy(scores, torch.arange(16))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, two = nn.Linear(6, 8), nn.Linear(6, 8)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 6)
        a = nn.functional.normalize(one(x), dim=1)
        b = nn.functional.normalize(two(x), dim=1)
        scores = a @ b.t() / 0.07
        loss = nn.functional.cross_entropy(scores, torch.arange(16))
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Unit(NamedTuple):
    """What gave vectors of unit length, along which of its axes, and the call that measured their length."""

    op: Op
    length: Op
    key: Key
    axis: Axis
    dim: int


@rule("GS443", name="unit-length-of-another-axis", severity="error", over=("GS701",))
def unit_length_of_another_axis(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint({"normalize", "sqrt"} | NORMS):
        return
    known, found = paths(trace), axes(trace)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls(PRODUCTS | MULTIPLICATIONS | {"einsum", "linear"}):
        sides = [_units(known, found, (op.graph, i)) for i in op.inputs]
        if len(sides) != 2 or not all(sides):
            continue
        wrong = [
            (unit, reader, summed)
            for units, (reader, summed, kept) in zip(sides, _summed(known, found, op), strict=False)
            for unit in units
            if summed and unit.axis and unit.axis not in summed
            if unit.axis in kept or any(axis in summed for axis in found.of(unit.key))
        ]
        places = {unit.op.site.user.location() for unit, _, _ in wrong}
        if (
            wrong
            and not places <= told
            and not any(_met_later(known, found, op, unit) for unit, _, _ in wrong)
        ):
            told |= places
            yield _finding(trace, known, found, wrong)


def _met_later(known: Paths, found: Axes, op: Op, unit: _Unit) -> bool:
    """Whether a product of the result sums over the axis of unit length: `q @ (k.T @ v)` is `(q @ k.T) @ v`, whose
    first product is of cosines."""
    graph = known.graph(op.graph)
    through = LAID_OUT | ADDITIONS
    return any(
        unit.axis in summed
        for _, reader in graph.readers_behind(op.outputs, lambda one: one.name in through)
        if reader.name in PRODUCTS | {"einsum", "linear"} and len(reader.inputs) == 2
        for _, summed, _ in _summed(known, found, reader)
    )


def _units(known: Paths, found: Axes, key: Key) -> list[_Unit]:
    """Where all vectors of a side of a product were made unit length, also where they are parts of one tensor, or of
    several that were joined."""
    key = known.source_behind(key, LAID_OUT | TAKEN)
    op = known.maker(key)
    if op is None or op.name not in JOINED:
        unit = _unit(known, found, key)
        return [unit] if unit is not None else []
    parts = [_units(known, found, (op.graph, i)) for i in op.inputs[:MOST]]
    whole = list({unit.key: unit for units in parts for unit in units}.values())
    return whole if all(parts) else []


def _unit(known: Paths, found: Axes, key: Key) -> _Unit | None:
    """Where the vectors of a side of a product were made unit length: by `normalize`, or divided by their own norm."""
    key = known.source_behind(key, LAID_OUT)
    op = known.maker(key)
    if op is None or not known.value(key).requires_grad:
        return None
    length = op if op.name == "normalize" else None
    if op.name in DIVISIONS and len(op.inputs) == 2:
        length = own_length(known, (op.graph, op.inputs[0]), (op.graph, op.inputs[1]))
    if length is None:
        return None
    dims, own_axes = length.extra.get("dims", []), found.of(key)
    if len(dims) != 1 or not -len(own_axes) <= dims[0] < len(own_axes):
        return None
    dim = dims[0] % len(own_axes)
    return _Unit(op, length, key, own_axes[dim], dim)


def _summed(known: Paths, found: Axes, op: Op) -> list[tuple[Op, tuple[Axis, ...], tuple[Axis, ...]]]:
    """For each side of a product: the call that sums, the axes of that side that it sums over, and those that the
    product keeps."""
    values = known.graph(op.graph).values
    if op.name in PRODUCTS | {"linear"} and values[op.inputs[0]].shape[-1:] == (1,):
        return []  # each with each: `v @ v.T` of a column
    left, right = (found.of((op.graph, index)) for index in op.inputs)
    own = found.of((op.graph, op.outputs[0]))
    if op.name == "linear":
        return [(op, left[-1:], left[:-1]), (op, right[-1:], right[:-1])] if left and len(right) > 1 else []
    if op.name == "einsum":
        equation = equations.of(op)
        if equation is None or len(equation.operands) != 2:
            return []
        places = [equation.axes(place, len(side)) for place, side in enumerate((left, right))]
        return [
            (op, tuple(side[at] for letter, at in where.items() if letter in equation.contracted), own)
            for side, where in zip((left, right), places, strict=True)
        ]
    if op.name in PRODUCTS:
        two = len(left) > 1 and len(right) > 1
        return [(op, left[-1:], own), (op, right[-2:-1], own)] if two else []
    for reader in known.graph(op.graph).consumers.get(op.outputs[0], ()):
        dims = [d for d in reader.extra.get("dims", []) if -len(own) <= d < len(own)]
        if reader.name == "sum" and any(values[op.outputs[0]].shape[d] > 1 for d in dims):
            summed = tuple(own[d] for d in dims)
            return [(reader, summed, own), (reader, summed, own)]
    return []


def _finding(
    trace: Trace, known: Paths, found: Axes, wrong: list[tuple[_Unit, Op, tuple[Axis, ...]]]
) -> Finding:
    unit, reader, _ = wrong[0]
    made, place = unit.op.site.user, reader.site.user
    dims = [
        next((dim for dim, axis in enumerate(found.of(one.key)) if axis in summed), None)
        for one, _, summed in wrong
    ]
    edits = [
        along(trace, one.length.site.user, one.length.name.removeprefix("linalg_"), dim)
        if dim is not None and _keeps_its_axes(known, one)
        else ()
        for (one, _, _), dim in zip(wrong, dims, strict=True)
    ]
    loss = known.loss_of((reader.graph, reader.outputs[0]))
    shape = tuple(known.value(unit.key).shape)
    broken = _overflows(trace, known, reader)
    others = [one.op.site.user for one, _, _ in wrong[1:] if one.op.site.user.location() != made.location()]
    both = " and ".join(dict.fromkeys(located(trace, one.length.site.user) for one, _, _ in wrong))
    return Finding(
        message=f"{code(trace, made, '`normalize`')} makes unit length along axis {unit.dim} of {shape}, and the"
        f" product sums over {'another one' if dims[0] is None else f'axis {dims[0]}'}: what it gives is no cosine",
        cause=made,
        cause_label=f"unit length along axis {unit.dim}",
        effect=place,
        effect_label="sums over another axis",
        related=tuple((other, "so does the other side") for other in others),
        seen=(
            f"both sides of {code(trace, place, 'the product')} are normalised; it does not sum over the axis of"
            f" {shape[unit.dim]} along which {'they have' if len(wrong) > 1 else 'this one has'} unit length",
            *((_of_overflow(trace, broken),) if broken is not None else ()),
            *((f"in {passes(known.alike(loss))} of this line",) if loss is not None else ()),
        ),
        fix=f"give `dim={dims[0]}` to {both}"
        if len(set(dims)) == 1 and dims[0] is not None
        else f"normalise along the axis that {located(trace, place)} sums over",
        edits=tuple(dict.fromkeys(edit for one in edits for edit in one)) if all(edits) else (),
        severity="" if broken is not None else "warning",
        subjects=subjects_of(broken) if broken is not None else frozenset(),
    )


def _overflows(trace: Trace, known: Paths, reader: Op) -> NonFinite | None:
    """Where an exponential of the scores was the first that was not finite: scores of cosines have a bound."""
    for event in trace.of(NonFinite):
        called = call_of(trace, event) if event.where == "forward" else None
        if called is None or called[1].name not in EXPONENTIALS:
            continue
        made = {
            op.site.user.location()
            for key in known.flow([(called[0].id, called[1].inputs[0])]).order
            if (op := known.maker(key)) is not None and op.name == reader.name
        }
        if reader.site.user.location() in made:
            return event
    return None


def _of_overflow(trace: Trace, event: NonFinite) -> str:
    origin, (data, *_) = trace.site(event.origin), event.inputs
    largest = f" of up to {numbers(float(data['max']))}" if "max" in data else ""
    exponential = code(trace, origin.user if origin is not None else None, "an exponential")
    return f"{exponential} of the scores{largest} overflows"


def _keeps_its_axes(known: Paths, unit: _Unit) -> bool:
    """Whether the length has as many axes as what is divided by it: no other call brings one back."""
    values = (unit.length.outputs[0], unit.length.inputs[0])
    shapes = [known.value((unit.length.graph, value)).shape for value in values]
    return len(shapes[0]) == len(shapes[1])
