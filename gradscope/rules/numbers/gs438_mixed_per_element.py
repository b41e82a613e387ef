"""The points of a gradient penalty mix two samples with a share for each element: none lies between the two.

Why: the penalty of a WGAN-GP asks for a slope of 1 on the straight lines from real to generated samples. On such a line
a sample has one share: `a * real + (1 - a) * fake` with one `a`. With a share for each pixel the many shares average
out: every point is about half of each, off the line and near its middle, and nothing is asked of the slope anywhere
else.

Fix: draw one number for each sample, of shape `(N, 1, 1, 1)` for images, and let it be broadcast.

Told where a network has made one of the two, and the norm of the slope at the mix is pushed to a number.
Silent on: noise around the data, points of a box, shares that are expanded from one for each sample.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import (
    ADDITIONS,
    ALIASES,
    CASTS,
    MULTIPLICATIONS,
    REVERSED_SUBTRACTIONS,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._complements import complement_of
from gradscope.rules.numbers._penalties import norm_of_gradient, squared
from gradscope.source import method_name
from gradscope.store import Trace

UNIFORM = {"rand", "rand_like", "uniform_", "uniform"}
SAME = ALIASES | CASTS | {"requires_grad_", "Variable", "clone", "contiguous"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    made, critic = nn.Linear(3, 6), nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        real, fake = torch.randn(16, 6), made(torch.randn(16, 3)).detach()
        share = torch.rand(real.shape)  # cause: GS438
        points = (share * real + (1 - share) * fake).requires_grad_()  # effect: GS438
        slope = torch.autograd.grad(critic(points).sum(), points, create_graph=True)[0]
        penalty = (slope.norm(2, dim=1) - 1).square().mean()
        opt.zero_grad()
        (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    made, critic = nn.Linear(3, 6), nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        real, fake = torch.randn(16, 6), made(torch.randn(16, 3)).detach()
        share = torch.rand(real.size(0), 1)
        points = (share * real + (1 - share) * fake).requires_grad_()
        slope = torch.autograd.grad(critic(points).sum(), points, create_graph=True)[0]
        penalty = (slope.norm(2, dim=1) - 1).square().mean()
        opt.zero_grad()
        (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()
        opt.step()


class Mix(NamedTuple):
    """The call that puts two samples together, the share that it takes, and the two."""

    op: Op
    share: Key
    one: Key
    other: Key


@rule("GS438", name="mixed-per-element", severity="warning")
def mixed_per_element(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(UNIFORM) or "grad" not in trace.op_names:
        return
    known = paths(trace)
    told: dict[tuple[str, int], tuple[Mix, Op, Op]] = {}
    for key, op in known.used_calls(SUBTRACTIONS):
        found = norm_of_gradient(known, (key[0], op.inputs[0])) if len(op.inputs) == 1 else None
        if found is None or not squared(known, key):
            continue
        _, grad = found
        mix = _mix(known, known.source_behind((grad.graph, grad.inputs[1]), SAME))
        drawn = _drawn(known, mix.share) if mix is not None else None
        if mix is None or drawn is None or not _per_element(known, mix):
            continue
        if _made_by_a_network(known, mix.one) or _made_by_a_network(known, mix.other):
            told.setdefault(drawn.site.user.location(), (mix, drawn, grad))
    for mix, drawn, grad in told.values():
        yield _finding(trace, known, mix, drawn, grad)


def _mix(known: Paths, key: Key) -> Mix | None:
    """What a value is a mix of: by `lerp`, by a sum of two products, or a part of the way from one to the other."""
    op = known.maker(key)
    if op is None:
        return None
    if op.name == "lerp" and len(op.inputs) == 3:
        one, other, share = ((op.graph, index) for index in op.inputs)
        return Mix(op, share, one, other)
    if op.name not in ADDITIONS or len(op.inputs) != 2:
        return None
    sides = [known.source_behind((op.graph, index), SAME) for index in op.inputs]
    products = [_factors(known, side) for side in sides]
    for place, base in ((0, sides[1]), (1, sides[0])):
        for share, whole in _both_ways(products[place]):
            for rest, another in _both_ways(products[1 - place]):
                if complement_of(known, rest, SAME) == share:
                    return Mix(op, share, whole, another)
            if _goes_from(known, whole) == base != whole:
                return Mix(op, share, base, whole)
    return None


def _both_ways(pair: list[Key]) -> list[tuple[Key, Key]]:
    return [(pair[0], pair[1]), (pair[1], pair[0])] if len(pair) == 2 else []


def _factors(known: Paths, key: Key) -> list[Key]:
    op = known.maker(key)
    if op is None or op.name not in MULTIPLICATIONS or len(op.inputs) != 2:
        return []
    return [known.source_behind((op.graph, index), SAME) for index in op.inputs]


def _goes_from(known: Paths, key: Key) -> Key | None:
    """Of `y - x` the `x`."""
    op = known.maker(key)
    if op is None or op.name not in SUBTRACTIONS - REVERSED_SUBTRACTIONS or len(op.inputs) != 2:
        return None
    return known.source_behind((op.graph, op.inputs[1]), SAME)


def _drawn(known: Paths, share: Key) -> Op | None:
    op = known.maker_behind(share, SAME)
    return op if op is not None and op.name in UNIFORM else None


def _per_element(known: Paths, mix: Mix) -> bool:
    """Whether the share differs within each of several samples, and both sides are a batch of these."""
    shape = known.value(mix.share).shape
    whole = all(known.value(side).shape == shape for side in (mix.one, mix.other))
    return (
        whole
        and len(shape) > 1
        and shape[0] > 1
        and any(size > 1 for size in shape[1:])
        and (len(shape) == 2 or shape[-1] > 1)
    )


def _made_by_a_network(known: Paths, key: Key) -> bool:
    return bool(known.parameters_in(known.flow([key]).order))


def _finding(trace: Trace, known: Paths, mix: Mix, drawn: Op, grad: Op) -> Finding:
    shape = known.value(mix.share).shape
    wanted = (shape[0], *(1 for _ in shape[1:]))
    name = names_of(trace).name(known.graph(mix.share[0]), mix.share[1])
    share = f"`{name}`" if name else "the share"
    place = drawn.site.user
    each = shape[1] if len(shape) == 2 else " × ".join(map(str, shape[1:]))
    return Finding(
        message=f"{share} has a number for each element, {each} in a sample: the points of the penalty lie on no line"
        " between a real and a generated sample",
        cause=place,
        cause_label=f"draws {shape}: one for each element",
        effect=mix.op.site.user if mix.op.site.user.line != place.line else None,
        effect_label="mixes element by element",
        related=((grad.site.user, "asks for the slope at these points"),),
        seen=(
            f"the two samples of shape {shape} were mixed with shares of shape {shape}, drawn evenly from 0 to 1: each"
            " point is about half of both, and the slope is asked for near the middle alone",
        ),
        fix=f"draw one number for each sample: shape {wanted}, in place of {shape}, in {located(trace, place)}",
        edits=_edits(trace, place, len(shape)),
        subjects=frozenset({("share", *place.location())}),
    )


def _edits(trace: Trace, place: Site, rank: int) -> Edits:
    """`torch.rand(x.size(0), 1, 1, 1)` for `torch.rand(x.shape)`, `torch.rand_like(x)` and the like."""
    here = Source(trace, place.path)
    call = here.file.at(place)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
        return ()
    if any(one.arg is None for one in call.keywords):
        return ()
    name, ones = call.func.attr, ", 1" * (rank - 1)
    keywords = "".join(f", {one.arg}={here.file.text(one.value)}" for one in call.keywords)
    first = call.args[0]
    if name == "rand_like" and len(call.args) == 1 and not call.keywords and isinstance(first, ast.Name):
        torch = here.file.text(call.func.value)
        return here.replace(call, f"{torch}.rand({first.id}.size(0){ones}, device={first.id}.device)")
    if name != "rand":
        return ()
    if len(call.args) == rank and not any(isinstance(one, ast.Starred) for one in call.args):
        return tuple(edit for one in call.args[1:] for edit in here.replace(one, "1"))
    if len(call.args) != 1:
        return ()
    sizes = first.value if isinstance(first, ast.Starred) else first
    if isinstance(sizes, ast.Attribute) and sizes.attr == "shape":
        of = sizes.value
    elif isinstance(sizes, ast.Call) and method_name(sizes) == "size" and not sizes.args:
        of = sizes.func.value if isinstance(sizes.func, ast.Attribute) else sizes
    else:
        return ()
    text = f"{here.file.text(call.func)}({here.file.text(of)}.size(0){ones}{keywords})"
    return here.replace(call, text)
