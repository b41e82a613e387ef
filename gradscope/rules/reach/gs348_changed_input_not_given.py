"""What was made for a module of its input is read by nothing: the module is given the input as it was.

Why: a mask, noise or a shift makes a new tensor of its own name. Where the next line hands on the old name, the model
sees what it was meant to guess: the loss falls to nothing, and what was to be learned is not. A label of zeros that
stands for no label has no effect either where both calls are given the label.

Fix: hand on the new one.

Measured: the result has the form and the type of the tensor that it was made of, no operation of the run reads it, and
no line after it asks for its name, or it is a copy that is written to and that nothing else is done with; a module
takes the tensor that it was made of, further down in the same function: twice, by the same expression, where the new
one is of zeros or the like.
Silent on: results that anything reads, modules that are called before, modules without parameters, results that are
made of one tensor alone, as a softmax for a metric.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from gradscope.analysis.dead_ends import taken_along
from gradscope.analysis.names import names_of
from gradscope.analysis.never_read import Unread, read_later, unread_at
from gradscope.analysis.ops import MULTIPLICATIONS, SUMS
from gradscope.analysis.words import code, located
from gradscope.events import ModuleCall
from gradscope.fixes.source import Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import SourceFile, names_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    def learn(clean: torch.Tensor) -> None:
        noisy = clean + 0.5 * torch.randn(16, 6)  # effect: GS348
        loss = (net(clean) - clean).pow(2).mean()  # cause: GS348
        opt.zero_grad()
        loss.backward()
        opt.step()

    for _ in range(8):
        learn(torch.randn(16, 6))


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    def learn(clean: torch.Tensor) -> None:
        noisy = clean + 0.5 * torch.randn(16, 6)
        loss = (net(noisy) - clean).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

    for _ in range(8):
        learn(torch.randn(16, 6))


CHANGES = {"where", "masked_fill", "masked_scatter", "lerp"} | SUMS | MULTIPLICATIONS


FACTORIES = {"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"}


_ONLY_WRITTEN = "`{name}` is a copy; the operations of the run that take it write to it, and none reads it"


class _Given(NamedTuple):
    """The call of a module that is given the old tensor, and where its name stands in it."""

    call: Site
    argument: ast.Name


class _Twice(NamedTuple):
    first: Site
    second: _Given


@rule("GS348", name="changed-input-not-given", severity="warning")
def changed_input_not_given(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for graph in trace.graphs:
        for op in graph.ops:
            place = op.site.user
            if place.kind != "user" or place.location() in told:
                continue
            changed = _changes(graph, op)
            unread = unread_at(trace, op.site) if changed else _written_copy(trace, graph, op)
            if unread is None or not isinstance(unread.statement, ast.Assign):
                continue
            given = _given(trace, graph, op, unread.statement)
            if given is not None:
                told.add(place.location())
                found = _finding(trace, unread, given, graph.count)
                yield found if changed else replace(found, seen=(_ONLY_WRITTEN.format(name=unread.name),))
        for op in graph.called(FACTORIES):
            place = op.site.user
            unread = (
                unread_at(trace, op.site) if place.kind == "user" and place.location() not in told else None
            )
            twice = _given_twice(trace, graph, unread) if unread is not None else None
            if unread is not None and twice is not None:
                told.add(place.location())
                yield replace(
                    _finding(trace, unread, twice.second, graph.count),
                    seen=(
                        f"no operation of the run reads `{unread.name}`, and no line after it has its name",
                        f"{code(trace, twice.first, 'the call')} at line {twice.first.line} is given the same tensors",
                    ),
                )


def _changes(graph: Graph, op: Op) -> bool:
    """Whether an op makes another tensor of the form and type of one that it is given, by a mask or by noise."""
    if (
        op.name not in CHANGES
        or len(op.inputs) < 2
        or len(op.outputs) != 1
        or op.writes
        or op.outputs[0] in op.inputs
        or op.nodes
    ):
        return False
    made = graph.values[op.outputs[0]]
    if not made.shape or graph.consumers.get(made.index):
        return False
    alike = (graph.values[i] for i in op.inputs)
    return any((one.shape, one.dtype) == (made.shape, made.dtype) for one in alike)


def _written_copy(trace: Trace, graph: Graph, op: Op) -> Unread | None:
    """A copy that is written to, in part or with noise, and that nothing but these writes is done with."""
    if op.name != "clone" or len(op.outputs) != 1:
        return None
    todo = [op.outputs[0]]
    for index in todo:  # grows while it is walked
        readers = graph.consumers.get(index, ())
        if (graph.id, index) in read_later(trace) or any(index not in reader.writes for reader in readers):
            return None
        todo += [made for reader in readers for made in reader.written if made not in todo]
    if not graph.consumers.get(op.outputs[0]):
        return None
    place = op.site.user
    file = trace.source_file(place.path)
    statement = file.statement(place)
    if not isinstance(statement, ast.Assign) or not isinstance(target := statement.targets[0], ast.Name):
        return None
    scope, made = file.scope_of(statement), graph.values[op.outputs[0]]
    if len(statement.targets) != 1 or scope is None:
        return None
    named = (n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == target.id)
    if any(isinstance(node.ctx, ast.Load) and not _is_written(file, node) for node in named):
        return None
    return Unread(place, target.id, statement, made.shape, made.dtype)


def _is_written(file: SourceFile, name: ast.Name) -> bool:
    """Whether a name is the `x` of `x[...] = ...` or `x.fill_(...)`, a statement of its own."""
    statement, above = file.statement_of(name), file.parent.get(id(name))
    if isinstance(above, ast.Subscript) and isinstance(above.ctx, ast.Store):
        return isinstance(statement, ast.Assign | ast.AugAssign)
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(above, ast.Attribute) and isinstance(call, ast.Call) and call.func is above


def _given(trace: Trace, graph: Graph, op: Op, statement: ast.Assign) -> _Given | None:
    """The first call further down in the function by which a module takes what the result was made of."""
    made, place = graph.values[op.outputs[0]], op.site.user
    file, read, names = trace.source_file(place.path), names_in(statement.value), names_of(trace)
    for index in op.inputs:
        value = graph.values[index]
        if (value.shape, value.dtype) != (made.shape, made.dtype):
            continue
        for number, same in ((graph.id, index), *taken_along(trace).get((graph.id, index), ())):
            name = names.name(trace.graph(number), same)
            for reader in trace.graph(number).consumers.get(same, ()):
                before = number == graph.id and reader.index <= op.index
                if before or reader.module in (None, op.module) or not _learns(trace, reader):
                    continue
                for frame in reader.site.stack:
                    if (frame.path, frame.function) != (
                        place.path,
                        place.function,
                    ) or frame.line <= place.line:
                        continue
                    call = file.at(frame)
                    given = call.args if isinstance(call, ast.Call) else []
                    fitting = [one for one in given if isinstance(one, ast.Name) and one.id in read]
                    if len(fitting) == 1 and name in (None, fitting[0].id):
                        return _Given(frame, fitting[0])
    return None


def _given_twice(trace: Trace, graph: Graph, unread: Unread) -> _Twice | None:
    """Two calls of one module, written alike, of the same tensors: of that too which the unread one is made like."""
    file, place = trace.source_file(unread.site.path), unread.site
    like = names_in(unread.statement, ast.Load)
    calls: dict[tuple[int, tuple[int, ...], str], Site] = {}
    for event in trace.of(ModuleCall):
        here = event.site.user
        call = file.at(here) if (here.path, here.function) == (place.path, place.function) else None
        if event.graph != graph.id or not isinstance(call, ast.Call) or here.line <= place.line:
            continue
        key = event.called, tuple(event.inputs), ast.dump(call)
        first = calls.setdefault(key, here)
        given = [one for one in call.args if isinstance(one, ast.Name) and one.id in like]
        if first.location() != here.location() and len(given) == 1:
            return _Twice(first, _Given(here, given[0]))
    return None


def _learns(trace: Trace, op: Op) -> bool:
    """Whether the module that it runs in is part of one with parameters: no loss, no metric."""
    root = trace.modules[op.module].root if op.module in trace.modules else None
    return root in {trace.modules[p.module].root for p in trace.parameters if p.module in trace.modules}


def _finding(trace: Trace, unread: Unread, given: _Given, count: int) -> Finding:
    old, new = given.argument.id, unread.name
    return Finding(
        message=f"`{new}` is made of `{old}` and read by nothing: {code(trace, given.call, 'the module')} takes `{old}`"
        " as it was",
        cause=given.call,
        cause_label=f"takes `{old}`",
        effect=unread.site,
        effect_label=f"makes `{new}`, which nothing reads",
        seen=(
            f"`{new}` has the form and the type of `{old}`; no operation of the run reads it, and no line after it has"
            " its name",
        ),
        fix=f"give `{new}` in place of `{old}` to {located(trace, given.call, 'the module')}",
        edits=Source(trace, given.call.path).replace(given.argument, new),
        count=count,
        subjects=frozenset({("call", given.call.location())}),
    )
