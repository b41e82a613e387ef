"""The backward of a user's own Function is not the derivative of its forward.

Why: autograd takes what `backward` returns for the gradient, whatever `forward` computes. Where a factor, a sign or
the inner derivative is missing, everything that was computed before it learns from another gradient than the loss has;
the loss often falls all the same.

Fix: return the gradient that arrives times the derivative of what `forward` computes;
`torch.autograd.gradcheck(F.apply, (x.double().requires_grad_(),))` compares the two.

Measured: the elements of one call, ordered by what forward was given: how steeply its result rises from one to the
next, and by what backward multiplied the gradients of the same elements; of one channel after the other where each has
a slope of its own.
A note where backward hands the gradient on by one factor while the slope varies, as straight-through estimators do.
Where the two agree for a part of the inputs, as where a factor is missing that is 1 there, it is told if both hang on
the input alone and the rest is no small part.
Silent on: a forward that gives its input back (reversals, scales of a gradient), one that rounds or compares (its slope
is zero or infinite), results of which an element depends on more than one of the input's, zeros.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from statistics import median

from gradscope.analysis.own_functions import arguments, gradient_at, methods, results
from gradscope.analysis.words import located
from gradscope.events import Slopes
from gradscope.fixes.derivatives import backward_as_derivative
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding
from gradscope.rules import rule
from gradscope.store import Trace

APART = 0.1  # of the larger: two numbers that no rounding makes differ
SHARE = 0.8  # of the pieces
FEW = 8
PART = 0.3  # of the pieces, where both slopes hang on the input alone and agree elsewhere
SMOOTH = 0.05  # of the larger: how far a slope may lie from what those on both sides of it say
NEARLY_ALL = 0.9
SMALL = 0.05  # of the middle slope: what differs by less is near where the slope is zero


def bad() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            return given, None  # cause: GS341

    torch.manual_seed(0)
    body, head = nn.Linear(4, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        hidden = Times.apply(body(x).tanh(), -0.5)  # effect: GS341
        loss = (head(hidden) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            return given * ctx.factor, None

    torch.manual_seed(0)
    body, head = nn.Linear(4, 16), nn.Linear(16, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 4)
        hidden = Times.apply(body(x).tanh(), -0.5)
        loss = (head(hidden) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS341", name="backward-is-not-the-slope", severity="warning", needs=Slopes)
def backward_is_not_the_slope(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(Slopes):
        pieces = [(where, slope, said) for where, slope, said in event.pieces if said]
        wrong = [(w, slope, said) for w, slope, said in pieces if _differ(slope, said)]
        if len(wrong) < FEW or (event.function, event.line) in told:
            continue
        if len(wrong) < SHARE * len(pieces):
            wrong = _in_part(pieces)
            if not wrong:
                continue
        told.add((event.function, event.line))
        yield _finding(trace, event, wrong, len(pieces))


def _in_part(pieces: list[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """The pieces that differ, where it is plain that they do though others agree: forward and backward each have a
    slope that hangs on the input alone, and in these pieces both vary with it or neither does. One that stays the same
    where the other varies stands in for it on purpose."""
    middle = median(abs(slope) for _, slope, _ in pieces)
    wrong = [
        (w, slope, said)
        for w, slope, said in pieces
        if _differ(slope, said) and abs(slope - said) > SMALL * middle
    ]
    if len(wrong) < max(FEW, PART * len(pieces)):
        return []
    ordered = sorted(pieces)
    slopes, saids = [slope for _, slope, _ in ordered], [said for _, _, said in ordered]
    if not _smooth(slopes, SMALL * middle) or not _smooth(saids, SMALL * middle):
        return []
    same = _one([s for _, s, _ in wrong]) is None, _one([b for _, _, b in wrong]) is None
    return wrong if same[0] == same[1] else []


def _smooth(numbers: list[float], small: float) -> bool:
    """Whether nearly each of them lies where those before and after it say."""
    near = sum(
        abs(one - (before + after) / 2) <= max(SMOOTH * max(abs(before), abs(one), abs(after)), small)
        for before, one, after in zip(numbers, numbers[1:], numbers[2:], strict=False)
    )
    return near >= NEARLY_ALL * (len(numbers) - 2)


def _differ(a: float, b: float) -> bool:
    return abs(a - b) > APART * max(abs(a), abs(b))


def _one(numbers: list[float]) -> float | None:
    """Their median, where none is far from it."""
    middle = median(numbers)
    return None if any(_differ(number, middle) for number in numbers) else middle


def _finding(trace: Trace, event: Slopes, wrong: list[tuple[float, float, float]], pieces: int) -> Finding:
    name = event.function
    slope, said = _one([s for _, s, _ in wrong]), _one([b for _, _, b in wrong])
    factor = _one([b / s for _, s, b in wrong]) if all(s for _, s, _ in wrong) else None
    meant = said is not None and slope is None
    made = gradient_at(trace, name, event.line, event.argument)
    lacks, edits = _factor_of_forward(trace, event) if slope is not None and said is not None else ("", ())
    ordered = sorted(wrong)
    where = f" where its input lies from {ordered[0][0]:.3g} to {ordered[-1][0]:.3g}"
    where = where if len(wrong) < SHARE * pieces else ""
    if factor is not None:
        gist = f"{factor:.3g} times the slope of its forward{where}"
        fix = f"multiply {located(trace, made, 'what it returns')} by {lacks or f'{1 / factor:.3g}'}{where}"
    else:
        gist = f"another slope than its forward has{where}"
        text, edits = ("", ()) if meant else _derivative(trace, event)
        fix = f"return the gradient times the derivative of what `forward` computes in {located(trace, made)}"
        fix = f"{fix}: `{text}`" if text else fix
    shown = sorted({0, len(wrong) // 2, len(wrong) - 1})
    return Finding(
        message=f"the backward of `{name}` gives {gist}: what is computed before it gets another gradient than the"
        " loss has",
        cause=made or event.site.user,
        cause_label="is not the derivative of what forward computes",
        effect=event.site.user,
        effect_label="everything before this call learns from it",
        seen=tuple(
            f"near {where:.3g} the result rises by {slope:.3g} for 1 of the input, backward multiplies by {said:.3g}"
            for where, slope, said in (ordered[i] for i in shown)
        ),
        fix=f"{fix}; `torch.autograd.gradcheck({name}.apply, …)` in double precision compares the two",
        edits=edits,
        severity="note" if meant else "",
        subjects=frozenset({("function", name)}),
    )


def _derivative(trace: Trace, event: Slopes) -> tuple[str, tuple[Edit, ...]]:
    """What backward is to return, written out."""
    forward = next(iter(methods(trace, event.function, event.line, ("forward",))), None)
    backward = next(iter(methods(trace, event.function, event.line)), None)
    if forward is None or backward is None:
        return "", ()
    return backward_as_derivative(trace, backward[0], forward[1], backward[1], event.argument)


def _factor_of_forward(trace: Trace, event: Slopes) -> tuple[str, tuple[Edit, ...]]:
    """`ctx.factor`, where forward returns its argument times another one that it keeps under that name."""
    forward = next(iter(methods(trace, event.function, event.line, ("forward",))), None)
    backward = next(iter(methods(trace, event.function, event.line)), None)
    if forward is None or backward is None:
        return "", ()
    names, ends = arguments(forward[1]), results(forward[1])
    product = ends[0] if len(ends) == 1 else None
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        return "", ()
    factors = {side.id for side in (product.left, product.right) if isinstance(side, ast.Name)}
    if len(factors) != 2 or event.argument >= len(names) or names[event.argument] not in factors:
        return "", ()
    (other,) = factors - {names[event.argument]}
    kept = [
        ast.unparse(target)
        for node in ast.walk(forward[1])
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == other
        for target in node.targets
        if isinstance(target, ast.Attribute)
    ]
    made, context = results(backward[1]), [a.arg for a in backward[1].args.args][:1]
    if len(kept) != 1 or len(made) != 1 or kept[0].split(".")[:1] != context:
        return "", ()
    value = made[0].elts[event.argument] if isinstance(made[0], ast.Tuple) else made[0]
    here = Source(trace, backward[0])
    return f"`{kept[0]}`", here.replace(value, f"{here.file.operand(value)} * {kept[0]}")
