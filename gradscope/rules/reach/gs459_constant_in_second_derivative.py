"""What a Function's forward makes and its backward computes with is a constant in the second derivative.

Why: the forward of an `autograd.Function` runs without a graph. What it makes on the way and keeps for backward has no
past: the first derivative is right, and its own derivative, as a loss of forces or a gradient penalty takes it, lacks
the term in which that value changes with the input. Nothing fails: the parameters are trained by another gradient.

Fix: save the input, and compute the value from it in `backward`; or give the value out as a second result.

Measured: `autograd.grad(…, create_graph=True)` went through the Function, and a later pass through what it gave. Silent
on inputs and results of the Function that are saved, on what has no slope (masks, shapes, signs), and where the
derivative is not differentiated again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.names import place
from gradscope.analysis.ops import EXPONENTIALS, LOGARITHMS, PRODUCTS_OF_MATRICES, ROOTS, SATURATING
from gradscope.analysis.own_functions import arguments, results
from gradscope.analysis.reach import paths
from gradscope.analysis.text import classes_named, site_of
from gradscope.analysis.words import plural
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import called_name, method_name, names_in
from gradscope.store import Trace

CURVED = (
    EXPONENTIALS
    | LOGARITHMS
    | ROOTS
    | SATURATING
    | PRODUCTS_OF_MATRICES
    | {"sin", "cos", "tan", "erf", "softplus"}
)


def bad() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.slope = torch.cos(x)  # cause: GS459
            return torch.sin(x)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            return given * ctx.slope

    one, two = nn.Linear(2, 16), nn.Linear(16, 1)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()])
    for _ in range(3):
        x = torch.randn(32, 2, requires_grad=True)
        energy = two(Sine.apply(one(x))).sum()
        (force,) = torch.autograd.grad(energy, x, create_graph=True)  # effect: GS459
        loss = (force + x.detach()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return torch.sin(x)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            return given * torch.cos(x)

    one, two = nn.Linear(2, 16), nn.Linear(16, 1)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()])
    for _ in range(3):
        x = torch.randn(32, 2, requires_grad=True)
        energy = two(Sine.apply(one(x))).sum()
        (force,) = torch.autograd.grad(energy, x, create_graph=True)
        loss = (force + x.detach()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Kept(NamedTuple):
    """What a forward makes and keeps, and where backward reads it."""

    path: str
    forward: ast.FunctionDef
    backward: ast.FunctionDef
    made: ast.expr  # `torch.cos(x)`
    keeper: ast.Assign | ast.Call  # `ctx.slope = …`, or `ctx.save_for_backward(…)`
    position: int  # among what is saved; -1 for an attribute
    name: str  # of the attribute, or of the variable in backward
    bound: ast.Assign | None  # the statement of forward that gives it a name, where it has one

    @property
    def reads(self) -> list[ast.expr]:
        """Where backward reads it."""
        nodes = ast.walk(self.backward)
        if self.position < 0:
            return [n for n in nodes if isinstance(n, ast.Attribute) and n.attr == self.name]
        named = (n for n in nodes if isinstance(n, ast.Name) and n.id == self.name)
        return [n for n in named if isinstance(n.ctx, ast.Load)]


@rule("GS459", name="constant-in-second-derivative", severity="warning")
def constant_in_second_derivative(trace: Trace) -> Iterator[Finding]:
    asked = {e.graph for e in trace.of(Backward) if e.create_graph}
    told: set[tuple[str, str]] = set()
    for number in sorted(asked & set(paths(trace).graph_ids)):
        graph = paths(trace).graph(number)
        for first, function in _differentiated_again(trace, graph):
            for kept in _kept(trace, function):
                if (function.name, kept.name) not in told:
                    told.add((function.name, kept.name))
                    yield _finding(trace, kept, function, first)


def _differentiated_again(trace: Trace, graph: Graph) -> Iterator[tuple[Op, Op]]:
    """(call of `autograd.grad`, call of an own Function behind it) where a pass goes through what it gave."""
    roots = {
        root
        for e in trace.of(Backward)
        if e.graph == graph.id
        for root in e.roots
        if root < len(graph.values)
    }
    for first in graph.called({"grad"}):
        if not first.extra.get("create_graph") or not first.nodes:
            continue
        given = set(first.outputs)
        later = [root for root in roots if root > max(given)]
        if not any(given & set(graph.upstream(root, min(given))) for root in later):
            continue
        behind = set(graph.upstream(first.inputs[0]))
        for op in graph.ops[: first.index]:
            if op.extra.get("custom") and op.nodes and behind.intersection(op.outputs):
                yield first, op


def _class_of(trace: Trace, function: Op) -> tuple[str, ast.ClassDef] | None:
    """The class of the Function that is called: of several of its name the one in the function that calls it."""
    found = list(classes_named(trace, function.name))
    if len(found) > 1:
        lines = [(frame.path, frame.line) for frame in function.site.stack]
        found = [
            (path, cls)
            for path, cls in found
            if (scope := trace.source_file(path).function_of(cls)) is not None
            and any(p == path and scope.lineno <= n <= (scope.end_lineno or n) for p, n in lines)
        ]
    return found[0] if len(found) == 1 else None


def _kept(trace: Trace, function: Op) -> Iterator[_Kept]:
    """What the forward of the program's Function makes on its way, and its backward computes with."""
    path, cls = _class_of(trace, function) or ("", None)
    parts = (
        {part.name: part for part in cls.body if isinstance(part, ast.FunctionDef)} if cls is not None else {}
    )
    forward, backward = parts.get("forward"), parts.get("backward")
    if forward is None or backward is None or "setup_context" in parts:
        return
    given = set(arguments(forward))
    gives = {name for value in results(forward) for name in _names_of(value)}
    bound = _bound(forward)
    for keeper, position, attribute, value in _keepers(forward):
        statement = bound.get(value.id) if isinstance(value, ast.Name) else None
        made = statement.value if statement is not None else value
        if isinstance(value, ast.Name) and (statement is None or value.id in gives | given):
            continue
        if not _is_curved(made) or not names_in(made) & given:
            continue
        shown = attribute or _unpacked(backward, position)
        kept = _Kept(path, forward, backward, made, keeper, position, shown, statement)
        if shown and kept.reads:
            yield kept


def _names_of(value: ast.expr) -> list[str]:
    """The variables that a `return` gives out."""
    elements = value.elts if isinstance(value, ast.Tuple) else [value]
    return [one.id for one in elements if isinstance(one, ast.Name)]


def _bound(forward: ast.FunctionDef) -> dict[str, ast.Assign]:
    """Name → the only statement that gives it a value."""
    found: dict[str, list[ast.Assign]] = {}
    for node in ast.walk(forward):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node)
    return {name: nodes[0] for name, nodes in found.items() if len(nodes) == 1}


def _keepers(forward: ast.FunctionDef) -> Iterator[tuple[ast.Assign | ast.Call, int, str, ast.expr]]:
    """(statement or call, position, attribute, what is kept) of each thing that forward keeps on its context."""
    context = forward.args.args[0].arg if forward.args.args else ""
    for node in ast.walk(forward):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and getattr(target.value, "id", "") == context:
                yield node, -1, target.attr, node.value
        elif method_name(node) == "save_for_backward" and isinstance(node, ast.Call):
            yield from ((node, i, "", value) for i, value in enumerate(node.args))


def _is_curved(made: ast.expr) -> bool:
    """Whether its value has a slope that is not the same everywhere, or a product of two things."""
    return called_name(made) in CURVED or (
        isinstance(made, ast.BinOp)
        and isinstance(made.op, (ast.Mult, ast.Div, ast.Pow, ast.MatMult, ast.Add, ast.Sub))
        and any(
            called_name(node) in CURVED or isinstance(node, ast.BinOp) for node in (made.left, made.right)
        )
    )


def _unpacking(backward: ast.FunctionDef) -> ast.Assign | None:
    """The statement of backward that gives names to what was saved."""
    found = (n for n in ast.walk(backward) if isinstance(n, ast.Assign))
    return next((n for n in found if getattr(n.value, "attr", "") == "saved_tensors"), None)


def _unpacked(backward: ast.FunctionDef, position: int) -> str:
    """The name that backward gives to what was saved at this position."""
    unpacking = _unpacking(backward)
    target = unpacking.targets[0] if unpacking is not None else None
    names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    name = names[position] if position < len(names) else None
    return name.id if isinstance(name, ast.Name) else ""


def _finding(trace: Trace, kept: _Kept, function: Op, first: Op) -> Finding:
    here = Source(trace, kept.path)
    made, text = site_of(kept.path, "forward", kept.made), here.text_of(kept.made)
    passes = sum(e.count for e in trace.of(Backward) if e.create_graph)
    cause = made if kept.bound is None else site_of(kept.path, "forward", kept.bound)
    return Finding(
        message=f"`{text}` is made by the forward of `{function.name}`, and is a constant in its second derivative",
        cause=cause,
        cause_label="made without a graph, and kept for backward",
        effect=first.site.user,
        effect_label="asks for a derivative that is differentiated again",
        related=((site_of(kept.path, "backward", kept.reads[0]), "read here"),),
        seen=(
            f"{plural(passes, 'pass')} with `create_graph=True` went through `{function.name}`, and later ones through"
            " what they gave",
        ),
        fix=f"save what it is made of, and compute `{text}` in `backward`"
        f" ({place(site_of(kept.path, '', kept.backward))}): there it has a graph",
        edits=_computed_in_backward(here, kept),
        subjects=frozenset({("constant", made.location())}),
    )


def _computed_in_backward(here: Source, kept: _Kept) -> Edits:
    """Saves the input in its place, and computes the value where backward reads it."""
    given = [name for name in arguments(kept.forward) if name in names_in(kept.made)]
    own = set(given) | {"torch", "math", "F", "nn"}
    if len(given) != 1 or names_in(kept.made) - own or given[0] in names_in(kept.backward):
        return ()
    text, name = here.text_of(kept.made), given[0]
    context = kept.backward.args.args[0].arg
    leave = here.remove(kept.bound) if kept.bound is not None and _only_kept(kept) else ()
    if kept.position >= 0:
        assert isinstance(kept.keeper, ast.Call)
        unpack = _unpacking(kept.backward)
        assert unpack is not None
        target = next(n for n in ast.walk(unpack) if isinstance(n, ast.Name) and n.id == kept.name)
        return (
            *leave,
            *here.replace(kept.keeper.args[kept.position], name),
            *here.replace(target, name),
            *here.after(unpack, f"{kept.name} = {text}"),
        )
    calls = [n for n in ast.walk(kept.forward) if method_name(n) == "save_for_backward"]
    if calls or not isinstance(kept.keeper, ast.Assign):
        return ()
    start = next((s for s in kept.backward.body if not _is_docstring(s)), None)
    return (
        *leave,
        *here.replace(kept.keeper, f"{context}.save_for_backward({name})"),
        *here.before(start, f"({name},) = {context}.saved_tensors"),
        *(edit for read in kept.reads for edit in here.replace(read, text)),
    )


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _only_kept(kept: _Kept) -> bool:
    """Whether forward reads the name only to keep it."""
    target = kept.bound.targets[0] if kept.bound is not None else None
    name = target.id if isinstance(target, ast.Name) else ""
    reads = [n for n in ast.walk(kept.forward) if isinstance(n, ast.Name) and n.id == name]
    return sum(isinstance(n.ctx, ast.Load) for n in reads) == 1
