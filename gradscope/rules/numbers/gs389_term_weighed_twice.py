"""A term of the loss is multiplied by its weight in two places.

Why: where a loss weighs itself and what adds up the losses weighs it again, the term counts by the square of its
weight: at 0.1 by a hundredth, and its share of the gradient is as small.

Fix: multiply by the weight in one of both places.

Measured: what one function had multiplied by a number another one multiplied by the very same object, a float, with at
most a mean or a sum between, on the way to a backward pass.
Silent on: numbers that are equal without being one object, or that are not held as an attribute or entry of one name;
two factors in one function, which may mean the square; what is added between the two, as the discounted sum of rewards.
Only a note: two settings of one value may be one object.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import MULTIPLICATIONS
from gradscope.analysis.reach import paths
from gradscope.analysis.words import located, plural, user
from gradscope.events import WeighedTwice
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import called_name, own_name, sides_of
from gradscope.store import Trace

PRODUCTS = {"mul", "mul_", "multiply"}
VARIES = "*"  # `getattr(settings, name)`


def bad() -> None:
    import torch
    from torch import nn

    class Smooth(nn.Module):
        def __init__(self, weight: float):
            super().__init__()
            self.weight = weight

        def forward(self, y: torch.Tensor) -> torch.Tensor:
            return self.weight * (y[1:] - y[:-1]).abs().mean()  # cause: GS389

    torch.manual_seed(0)
    model, smooth = nn.Linear(4, 1), Smooth(0.1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        y = model(x)
        loss = nn.functional.mse_loss(y, x.sum(1, keepdim=True)) + smooth.weight * smooth(y)  # effect: GS389
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    class Smooth(nn.Module):
        def __init__(self, weight: float):
            super().__init__()
            self.weight = weight

        def forward(self, y: torch.Tensor) -> torch.Tensor:
            return (y[1:] - y[:-1]).abs().mean()

    torch.manual_seed(0)
    model, smooth = nn.Linear(4, 1), Smooth(0.1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        y = model(x)
        loss = nn.functional.mse_loss(y, x.sum(1, keepdim=True)) + smooth.weight * smooth(y)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS389", name="term-weighed-twice", severity="note", needs=WeighedTwice)
def term_weighed_twice(trace: Trace) -> Iterator[Finding]:
    events = trace.of(WeighedTwice)
    if not events:
        return
    used = {op.site.user.span() for _, op in paths(trace).used_calls(MULTIPLICATIONS)}
    for event in events:
        first, second = user(trace.site(event.first)), event.site.user
        if first is not None and second.span() in used and _apart(first, second):
            if _is_one(_held(trace, first), _held(trace, second)):
                yield _finding(trace, event, first)


def _apart(one: Site, other: Site) -> bool:
    return (one.path, one.function) != (other.path, other.function)


def _finding(trace: Trace, event: WeighedTwice, first: Site) -> Finding:
    second, number = event.site.user, event.number or 0.0
    written = [_weight(trace, site) for site in (first, second)]
    weight = written[0] or written[1] or "one number"
    return Finding(
        message=f"a term of the loss is multiplied by {weight} twice, in two functions: it counts by"
        f" {number * number:.3g}, not {number:.3g}",
        cause=first,
        cause_label=f"multiplied by {number:.3g}",
        effect=second,
        effect_label=f"and by the same {number:.3g}{f', as {written[1]}' if written[1] else ''}",
        seen=(
            f"in {plural(event.calls, 'call')} looked at both factors were one object, {number:.6g}, and at most a mean"
            " or a sum came between them",
        ),
        fix=f"weigh it once: leave the factor out of {located(trace, first)}, or out of {located(trace, second)}",
        count=event.calls,
        subjects=frozenset({("weight", *first.location())}),
    )


def _is_one(one: str, other: str) -> bool:
    """Whether both factors are called alike; of one that is asked for by a name that varies, at most that."""
    return bool(one and other) and (one == other or VARIES in (one, other))


def _held(trace: Trace, site: Site) -> str:
    """What the factor is called where something holds it: "weight" of `self.weight * loss`, of `loss.weight * x` and of
    `mul(x, settings["weight"])`. A number that is written out may be one object in all of a file, as Python keeps its
    constants."""
    names = {_name(side) for side in _holders(_sides(trace, site))}
    return names.pop() if len(names) == 1 else ""


def _holders(sides: tuple[ast.expr, ...]) -> list[ast.expr]:
    """The sides that are attributes; where none is, those that are entries."""
    return [side for side in sides if isinstance(side, ast.Attribute)] or [
        side for side in sides if _name(side)
    ]


def _sides(trace: Trace, site: Site) -> tuple[ast.expr, ...]:
    node = trace.source_file(site.path).at(site)
    if isinstance(node, ast.Call) and called_name(node) in PRODUCTS:
        of = (node.func.value,) if isinstance(node.func, ast.Attribute) and len(node.args) == 1 else ()
        return (*of, *node.args)
    return sides_of(node) or ()


def _name(side: ast.expr) -> str:
    if isinstance(side, ast.Attribute):
        return own_name(side)
    key = side.slice if isinstance(side, ast.Subscript) else None
    if isinstance(side, ast.Call) and called_name(side) == "getattr" and len(side.args) > 1:
        key = side.args[1]
        if not isinstance(key, ast.Constant):
            return VARIES
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _weight(trace: Trace, site: Site) -> str:
    """The factor as the program writes it: of `self.weight * loss` the side that is an attribute, an entry, or the only
    one that is no call."""
    sides = _sides(trace, site)
    if len(held := _holders(sides)) == 1:
        return f"`{ast.unparse(held[0])}`"
    for kinds in ((ast.Attribute, ast.Subscript), (ast.Name,)):
        found = [side for side in sides if isinstance(side, kinds)]
        if len(found) == 1:
            return f"`{ast.unparse(found[0])}`"
    return ""
