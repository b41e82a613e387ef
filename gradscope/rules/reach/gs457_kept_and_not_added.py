"""What a block was given is kept under another name, and never read: the way around its layers is missing.

Why: `skip = x` at the top of a block keeps its input for a sum at the end. Without that sum the block has no short
way: the signal goes through every layer of every block, and so does the gradient, which shrinks on its way through
many of them.

Fix: add what was kept to what the block returns, `return skip + x`.

The same where the block returns a sum that takes, under the old name, what a normalisation has made of its input.

Measured: nothing in the function asks for the name; the result that it returns under the old name has the form of
what it was given; of a sum, the normalisation alone reads the input, and the sum takes its result, or that times a
gate. Silent where forms differ, where something outside the function adds the two, where the kept name
is read anywhere in the function, and where the old name is not bound anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.names import place, shape_words
from gradscope.analysis.never_read import read_again
from gradscope.analysis.ops import ADDITIONS, MULTIPLICATIONS, NORMING
from gradscope.analysis.reach import paths
from gradscope.analysis.text import nodes_that_ran, own_nodes, site_of
from gradscope.analysis.words import parameter_subjects
from gradscope.fixes.source import Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import Function, SourceFile, arguments, names_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            skip = x  # noqa: F841  # cause: GS457
            for layer in (self.one, self.two):
                x = torch.relu(layer(x))
            return x  # effect: GS457

    model = nn.Sequential(Block(), Block(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(16, 8)) - 1).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            skip = x
            for layer in (self.one, self.two):
                x = torch.relu(layer(x))
            return skip + x

    model = nn.Sequential(Block(), Block(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(16, 8)) - 1).pow(2).mean().backward()
        opt.step()


class _Kept(NamedTuple):
    """`skip = x` in a function, and the `return x` that has the last word."""

    function: Function
    statement: ast.Assign
    name: str
    given: str
    back: ast.Name  # what is returned, or what the sum takes that is
    total: ast.expr | None  # that sum


@rule("GS457", name="kept-and-not-added", severity="warning", over=("GS705",))
def kept_and_not_added(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for path, function, node in nodes_that_ran(trace, ast.Assign):
        file = trace.source_file(path)
        kept = _kept(file, node)
        if kept is None or (path, node.lineno) in told:
            continue
        ways = _ways_through(trace, path, kept)
        if ways is None:
            continue
        shape, layers = ways
        told.add((path, node.lineno))
        here = Source(trace, path)
        cause, back = site_of(path, function, node), site_of(path, function, kept.back)
        if kept.total is not None:
            yield _of_a_sum(trace, path, kept, shape, layers)
            continue
        yield Finding(
            message=f"`{kept.name}` keeps what `{function}` was given, and nothing reads it: no way leads around the"
            " layers of this block",
            cause=cause,
            cause_label=f"keeps `{kept.given}`; nothing asks for `{kept.name}`",
            effect=back,
            effect_label="is what the layers gave alone",
            seen=(
                f"what the function was given and what it returns are both {shape_words(shape)}; nothing adds the two",
            ),
            fix=f"return the sum of both at {place(back)}: `{kept.name} + {kept.back.id}`. Where the block is to have"
            f" no way around its layers, take `{here.text_of(node)}` out",
            edits=here.replace(kept.back, f"{kept.name} + {kept.back.id}"),
            subjects=parameter_subjects(layers) | {("kept", *cause.location())},
        )


def _kept(file: SourceFile, node: ast.Assign) -> _Kept | None:
    """What this statement keeps of the function's arguments, where the function goes on with the old name, returns
    that, and never reads the new one."""
    target, function = node.targets[0], file.function_of(node)
    if len(node.targets) != 1 or function is None or node not in function.body:
        return None
    if not isinstance(target, ast.Name) or not isinstance(node.value, ast.Name):
        return None
    given, name = node.value.id, target.id
    if given not in {one.arg for one in arguments(function)} or read_again(file, node, name):
        return None
    later = function.body[function.body.index(node) + 1 :]
    returns = [one for one in own_nodes(function) if isinstance(one, ast.Return)]
    anew = any(given in names_in(one, ast.Store) for one in later)
    back = returns[0].value if len(returns) == 1 else None
    if not anew or back is None or returns[0] is not function.body[-1]:
        return None
    if not isinstance(back, ast.Name):
        taken = [one for one in _factors(back) if one.id == given]
        return _Kept(function, node, name, given, taken[0], back) if len(taken) == 1 else None
    return _Kept(function, node, name, given, back, None) if back.id != name else None


def _factors(node: ast.expr, alone: bool = True) -> Iterator[ast.Name]:
    """The names that a sum adds, alone or times something else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left, False)
        yield from _factors(node.right, False)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and alone:
        for side in (node.left, node.right):
            if isinstance(side, ast.Name):
                yield side
            else:
                yield from _factors(side)
    elif isinstance(node, ast.Name) and not alone:
        yield node


def _ways_through(trace: Trace, path: str, kept: _Kept) -> tuple[tuple[int, ...], set[int]] | None:
    """The form of what the function is given and of what it returns, and the parameters that it uses: where both are
    of one form each time it runs in the graph of a pass, and nothing adds the two."""
    shape: tuple[int, ...] | None = None
    layers: set[int] = set()
    for number in paths(trace).graph_ids:
        graph = paths(trace).graph(number)
        for ops in _runs(graph, path, kept.function):
            first = next((v for v in graph.inputs(ops[0]) if v.parameter is None and len(v.shape) > 1), None)
            last = graph.values[ops[-1].outputs[0]] if ops[-1].outputs else None
            if last is not None and not last.requires_grad:
                continue
            if first is None or last is None or first.shape != last.shape:
                return None
            if kept.total is not None and not _adds_the_normalised(graph, ops, kept.total):
                return None
            if any(_leads_around(graph, op, first.index) for op in ops):
                return None
            readers = graph.consumers.get(last.index, ())
            if any(one.name in ADDITIONS and first.index in one.inputs for one in readers):
                return None
            shape = first.shape
            layers |= {v.parameter for op in ops for v in graph.inputs(op) if v.parameter is not None}
    return (shape, layers) if shape is not None and layers else None


def _leads_around(graph: Graph, op: Op, given: int) -> bool:
    """Whether a call takes what the function was given, as it is, together with something that was computed from it:
    `x + f(x)`, by whatever name."""
    others = [i for i in op.inputs if i != given and graph.values[i].parameter is None]
    return given in op.inputs and any(given in graph.upstream(i) for i in others)


def _adds_the_normalised(graph: Graph, ops: list[Op], total: ast.expr) -> bool:
    """Whether each sum that is returned takes the result of a normalisation, or a product with it, and the
    normalisation alone reads what it is of."""
    numbers = {op.index for op in ops}
    lines = range(total.lineno, (total.end_lineno or total.lineno) + 1)
    sums = [op for op in ops if op.name in ADDITIONS and op.site.user.line in lines]
    for op in sums:
        makers = [graph.maker(index) for index in op.inputs]
        makers += [
            graph.maker(index)
            for one in makers
            if one is not None and one.name in MULTIPLICATIONS
            for index in one.inputs
        ]
        norms = [one for one in makers if one is not None and one.name in NORMING and one.index in numbers]
        if len(norms) != 1 or graph.values[norms[0].inputs[0]].shape != graph.values[op.outputs[0]].shape:
            return False
        if any(r is not norms[0] and r.index in numbers for r in graph.consumers.get(norms[0].inputs[0], ())):
            return False
    return bool(sums)


def _of_a_sum(trace: Trace, path: str, kept: _Kept, shape: tuple[int, ...], layers: set[int]) -> Finding:
    here = Source(trace, path)
    cause = site_of(path, kept.function.name, kept.statement)
    back = site_of(path, kept.function.name, kept.back)
    return Finding(
        message=f"`{kept.name}` keeps what `{kept.function.name}` was given, and nothing reads it: the sum that is"
        f" returned takes the normalised `{kept.back.id}` in its place",
        cause=back,
        cause_label="is normalised: what the block was given goes no other way",
        effect=cause,
        effect_label=f"keeps `{kept.given}`; nothing asks for `{kept.name}`",
        seen=(
            f"what the function was given and what it returns are both {shape_words(shape)}; only the normalisation"
            " reads what it was given",
        ),
        fix=f"write `{kept.name}` in place of `{kept.back.id}` at {place(back)}. Where the sum is to take what is"
        f" normalised, take `{here.text_of(kept.statement)}` out",
        edits=here.replace(kept.back, kept.name),
        subjects=parameter_subjects(layers) | {("kept", *cause.location())},
    )


def _runs(graph: Graph, path: str, function: Function) -> Iterator[list[Op]]:
    """The operations of each stretch of a graph that lies in this function."""
    lines = range(function.lineno, (function.end_lineno or function.lineno) + 1)
    run: list[Op] = []
    for op in graph.ops:
        frame = next((f for f in op.site.stack if f.path == path and f.line in lines), None)
        if frame is None:
            if run:
                yield run
            run = []
            continue
        run.append(op)
    if run:
        yield run
