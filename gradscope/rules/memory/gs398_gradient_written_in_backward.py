"""The backward of a user's own Function writes into the gradient it is given, several places of which are one number.

Why: the gradient that a backward is given belongs to autograd. After a `sum()` it is one number that stands for all
places: what is written to one of them is written to all, and the whole gradient changes. Elsewhere other parts of the
graph may still use the same tensor.

Fix: write into a copy, `g = g.clone()`.

Measured: the version of what the backward was given, before and after, where that had a stride of 0. Silent on:
gradients with a number of their own for each place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradscope.analysis.own_functions import arguments, definition_of, methods
from gradscope.analysis.text import site_of
from gradscope.analysis.words import located, plural
from gradscope.events import SpreadWritten
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch

    class HoldFirst(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            given[0] = 0.0  # cause: GS398
            return given

    x = torch.ones(5, requires_grad=True)
    opt = torch.optim.SGD([x], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (HoldFirst.apply(x * 2).sum() + x.pow(2).sum()).backward()  # effect: GS398
        opt.step()


def good() -> None:
    import torch

    class HoldFirst(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            given = given.clone()
            given[0] = 0.0
            return given

    x = torch.ones(5, requires_grad=True)
    opt = torch.optim.SGD([x], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (HoldFirst.apply(x * 2).sum() + x.pow(2).sum()).backward()
        opt.step()


@rule("GS398", name="gradient-written-in-backward", severity="error", needs=SpreadWritten)
def gradient_written_in_backward(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(SpreadWritten):
        if (event.function, event.line) in told:
            continue
        told.add((event.function, event.line))
        found = _write(trace, event)
        cause = found[0] if found is not None else definition_of(trace, event.function, event.line)
        name = found[1] if found is not None else "its gradient"
        text = f"`{name} = {name}.clone()` before the line" if found is not None else "a copy of the gradient"
        yield Finding(
            message=f"the backward of `{event.function}` writes into the gradient it is given, of which all places"
            " along an axis are one number: the write changes every one of them",
            cause=cause or event.site.user,
            cause_label="written in place",
            effect=event.site.user,
            effect_label="what is computed before it gets a gradient that was overwritten",
            seen=(
                f"in {plural(event.calls, 'call')} of backward the gradient had a stride of 0, and was written to",
            ),
            fix=f"write into a copy: {text}{f' ({located(trace, cause)})' if cause is not None else ''}",
            count=event.calls,
            subjects=frozenset({("function", event.function)}),
        )


def _write(trace: Trace, event: SpreadWritten) -> tuple[Site, str] | None:
    """The statement of the backward that writes into one of the gradients, with what it calls that."""
    for path, method in methods(trace, event.function, event.line):
        names = set(arguments(method))
        nodes = [node for node in ast.walk(method) if isinstance(node, ast.stmt)]
        for node in sorted(nodes, key=lambda node: node.lineno):
            name = _written(node)
            if name in names:
                return site_of(path, method.name, node), name
    return None


def _written(node: ast.stmt) -> str:
    """What a statement writes into: `g` of `g[0] = 0`, `g *= 2` and `g.mul_(2)`."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = [one.value for one in node.targets if isinstance(one, ast.Subscript)]
    elif isinstance(node, ast.AugAssign):
        targets = [node.target.value if isinstance(node.target, ast.Subscript) else node.target]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        if isinstance(called, ast.Attribute) and called.attr.endswith("_"):
            targets = [called.value.value if isinstance(called.value, ast.Subscript) else called.value]
    return next((one.id for one in targets if isinstance(one, ast.Name)), "")
