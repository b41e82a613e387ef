"""A module defines `backward`, and nothing ever calls it.

Why: autograd asks the operations of `forward` for their gradients; a method of a module that is called `backward` is a
method like any other, which nobody calls. What it says of the gradient has no effect: a layer that is to reverse,
scale or stop the gradient passes it on unchanged.

Fix: a `torch.autograd.Function` with static `forward(ctx, …)` and `backward(ctx, grad)`, called as `Name.apply(x)`.

Silent on: modules whose `backward` the program calls itself, and those in which it only names what is to be called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gradscope.analysis.text import has_run, head_of, nodes_that_ran, site_of
from gradscope.analysis.words import counted, where
from gradscope.events import Backward, Crashed
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import method_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    class Reversal(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

        def backward(self, given: torch.Tensor) -> torch.Tensor:  # cause: GS327
            return -given

    body, turn, head = nn.Linear(4, 8), Reversal(), nn.Linear(8, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        loss = head(turn(body(torch.randn(16, 4)))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Reversal(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
            return -given

    body, head = nn.Linear(4, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        loss = head(Reversal.apply(body(torch.randn(16, 4)))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS327", name="module-has-own-backward", severity="warning")
def module_has_own_backward(trace: Trace) -> Iterator[Finding]:
    passes = sum(event.count for event in trace.of(Backward))
    if not passes or _called_by_hand(trace):
        return
    called = {module.cls for module in trace.modules.values()}
    classes = {
        node.name: (path, node)
        for path in trace.sources
        for _, node in trace.source_file(path).of(ast.ClassDef)
    }
    told: set[int] = set()
    for name in sorted(called & classes.keys()):
        found = _own_backward(classes, name)
        if found is not None and id(found[1]) not in told and not _ran(trace, *found):
            told.add(id(found[1]))
            yield _finding(trace, *found, classes[name], passes)


_Classes = Mapping[str, tuple[str, ast.ClassDef]]


def _own_backward(classes: _Classes, name: str) -> tuple[str, ast.FunctionDef] | None:
    """The method `backward(self, grad)` of a class, or of one that it is made of, that gives something computed, beside
    a `forward`; with its file."""
    line = list(_made_of(classes, name))
    forward = any(part.name == "forward" for _, node in line for part in _methods(node))
    own = next(
        ((path, part) for path, node in line for part in _methods(node) if part.name == "backward"), None
    )
    if own is None or not forward or own[1].decorator_list or len(own[1].args.args) < 2:
        return None
    gives = [n.value for n in ast.walk(own[1]) if isinstance(n, ast.Return) and n.value is not None]
    stops = any(isinstance(n, ast.Raise) for n in ast.walk(own[1]))
    runs = any(method_name(n) == "backward" for n in ast.walk(own[1]))
    return (
        own if gives and not stops and not runs and not any(_hands_over(node) for _, node in line) else None
    )


def _hands_over(node: ast.ClassDef) -> bool:
    """Whether a class gives its `backward` to somebody who calls it, as for a hook."""
    called = {id(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
    own = (n for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr == "backward")
    return any(ast.unparse(n.value) == "self" and id(n) not in called for n in own)


def _made_of(classes: _Classes, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """A class of the program's and those that it inherits from, the nearest first, with their files."""
    todo, seen = [name], set()
    for one in todo:  # grows while it is walked
        if one in classes and one not in seen:
            seen.add(one)
            yield classes[one]
            todo += [base.id for base in classes[one][1].bases if isinstance(base, ast.Name)]


def _methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [part for part in node.body if isinstance(part, ast.FunctionDef)]


def _ran(trace: Trace, path: str, own: ast.FunctionDef) -> bool:
    """Whether any torch call was made from its lines."""
    last = own.end_lineno or own.lineno
    return has_run(trace, path, own) or (
        any(own.lineno <= site.line <= last for site in _ends(trace) if site.path == path)
    )


def _ends(trace: Trace) -> Iterator[Site]:
    for event in trace.of(Crashed):
        yield from event.site.stack


def _called_by_hand(trace: Trace) -> bool:
    """Whether the program's text calls a `backward` that was no pass of autograd's: with an argument, at a line where
    none began."""
    began = {site.location() for event in trace.of(Backward) for site in event.site.stack}
    for path, _, node in nodes_that_ran(trace, ast.Call):
        if method_name(node) == "backward" and node.args:
            if not any((path, line) in began for line in range(node.lineno, (node.end_lineno or 0) + 1)):
                return True
    return False


def _finding(
    trace: Trace, path: str, own: ast.FunctionDef, used: tuple[str, ast.ClassDef], passes: int
) -> Finding:
    place = head_of(path, own)
    cls = used[1]
    made = _made(trace, used[0], cls.name)
    return Finding(
        message=f"`{cls.name}` is a module: autograd never calls its `backward`",
        cause=place,
        cause_label="a method like any other: nobody calls it",
        related=((made, "used here"),) if made is not None else (),
        seen=(
            f"a `{cls.name}` was called, and in {counted(passes, 'backward pass')} no call came from its `backward`",
        ),
        fix=f"make `{cls.name}` ({where(place)}) a `torch.autograd.Function`: static `forward(ctx, x)`, which returns"
        f" `x.view_as(x)` where it changes nothing, and static `backward(ctx, grad)`; call `{cls.name}.apply(x)`",
        subjects=frozenset({("function", cls.name)}),
    )


def _made(trace: Trace, path: str, name: str) -> Site | None:
    for node in trace.source_file(path).nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            above = trace.source_file(path).function_of(node)
            return site_of(path, above.name if above is not None else "<module>", node)
    return None
