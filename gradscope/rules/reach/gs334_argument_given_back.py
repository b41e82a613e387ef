"""A function gives back its own argument in place of what it has computed from it: the result is thrown away.

Why: `return x` where `return x_` was meant is no error: the shapes are the same. The layer then does nothing to what
goes through it, and what was computed gets no gradient; a flow that adds up the log determinants all the same can
raise its likelihood without a bound.

Fix: return the result.

Measured: the result has a graph and the shape of the argument, which it was computed from, and no operation of the run
read it. Told where its name is read nowhere in the function, and the argument is returned as it came in.
Silent on: results that are read, kept in an attribute or a list, or given out beside the argument.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.dead_ends import made_of, taken_along
from gradscope.analysis.text import has_run, own_nodes, site_of
from gradscope.analysis.words import parameter_names, parameter_subjects, plural, where
from gradscope.events import Backward
from gradscope.fixes.source import Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, Function, arguments
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Coupling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(2, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            a, b = x.chunk(2, 1)
            shift, scale = self.net(a).chunk(2, 1)
            y = torch.cat([a, shift + b * scale.exp()], 1)  # noqa: F841  # effect: GS334
            return x, scale.sum(1)  # cause: GS334

    flow, last = Coupling(), nn.Linear(4, 4)
    opt = torch.optim.SGD([*flow.parameters(), *last.parameters()], lr=0.01)
    for _ in range(4):
        z, logdet = flow(torch.randn(8, 4))
        loss = (last(z).pow(2).sum(1) / 2 - logdet).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Coupling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(2, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            a, b = x.chunk(2, 1)
            shift, scale = self.net(a).chunk(2, 1)
            y = torch.cat([a, shift + b * scale.exp()], 1)
            return y, scale.sum(1)

    flow, last = Coupling(), nn.Linear(4, 4)
    opt = torch.optim.SGD([*flow.parameters(), *last.parameters()], lr=0.01)
    for _ in range(4):
        z, logdet = flow(torch.randn(8, 4))
        loss = (last(z).pow(2).sum(1) / 2 - logdet).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Dropped(NamedTuple):
    """`result = …` that no text reads, before a `return` of the argument."""

    path: str
    function: Function
    statement: ast.Assign
    name: str
    given: ast.Name  # in the `return`


@rule("GS334", name="argument-given-back", severity="warning", over=("GS302",))
def argument_given_back(trace: Trace) -> Iterator[Finding]:
    ran = (
        {op.site.user.location() for graph in trace.graphs for op in graph.ops} if trace.of(Backward) else ()
    )
    for path in trace.sources if ran else ():
        here = Source(trace, path)
        for function in (node for node in here.file.nodes if isinstance(node, FUNCTIONS)):
            for dropped in _dropped(here, function) if has_run(trace, path, function) else ():
                if (path, dropped.statement.value.lineno) in ran:
                    yield from _told(trace, dropped)


def _dropped(here: Source, function: Function) -> Iterator[_Dropped]:
    nodes = list(own_nodes(function))
    taken = {one.arg for one in arguments(function)}
    returns = [node for node in nodes if isinstance(node, ast.Return) and node.value is not None]
    if not returns or any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes):
        return
    named = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    read = {node.id for node in named if not isinstance(node.ctx, ast.Store)}
    bound = {node.id for node in named if isinstance(node.ctx, ast.Store)}
    if read & {"locals", "vars"}:
        return
    for node in nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if not isinstance(node, ast.Assign) or not isinstance(target, ast.Name) or target.id in read | {"_"}:
            continue
        given = [
            part
            for one in returns
            if one.lineno > node.lineno and one in here.file.siblings(node)
            for part in (one.value.elts if isinstance(one.value, ast.Tuple) else [one.value])
            if isinstance(part, ast.Name) and part.id in taken - bound
        ]
        if len(given) == 1 and given[0].id in made_of(nodes, node.value):
            yield _Dropped(here.path, function, node, target.id, given[0])


def _told(trace: Trace, dropped: _Dropped) -> Iterator[Finding]:
    """The finding, where all that the statement gave was dropped."""
    site = site_of(dropped.path, dropped.function.name, dropped.statement.value)
    found: list[tuple[Graph, Op]] = []
    count = 0
    for graph in trace.graphs:
        for op in graph.ops:
            if op.site.user.span() != site.span() or len(op.outputs) != 1:
                continue
            value = graph.values[op.outputs[0]]
            if not value.requires_grad:
                continue
            if graph.consumers.get(value.index) or (graph.id, value.index) in taken_along(trace):
                return
            found.append((graph, op))
            count += graph.count
    if count > 1 and any(_is_read_outside(graph, op, site) for graph, op in found):
        yield _finding(trace, dropped, site, found, count)


def _is_read_outside(graph: Graph, op: Op, site: Site) -> bool:
    """Whether something of the shape of the result, which has not come from it, is read outside of the function."""
    shape = graph.values[op.outputs[0]].shape
    for value in graph.values:
        if value.shape == shape and value.parameter is None and value.index != op.outputs[0]:
            readers = graph.consumers.get(value.index, ())
            if any(not _within(reader.site, site) for reader in readers):
                return True
    return False


def _within(reader: Site, site: Site) -> bool:
    """Whether a call was made by the function in which `site` stands, or by what that calls."""
    return any(
        frame.path == site.path and frame.function.rpartition(".")[2] == site.function
        for frame in reader.stack
        if frame.kind == "user"
    )


def _finding(
    trace: Trace, dropped: _Dropped, site: Site, found: list[tuple[Graph, Op]], count: int
) -> Finding:
    given = site_of(dropped.path, dropped.function.name, dropped.given)
    graph, op = found[0]
    behind = sorted(
        {
            p
            for one, made in found  # of each layer of a stack
            for index in one.upstream(made.outputs[0])
            if (p := one.values[index].parameter) is not None
        }
    )
    return Finding(
        message=f"`{dropped.function.name}()` gives back its argument `{dropped.given.id}` as it came in, and"
        f" `{dropped.name}`, which it computes from it, goes nowhere",
        cause=given,
        cause_label=f"returns `{dropped.given.id}`, not `{dropped.name}`",
        effect=site,
        effect_label="computed, and read by nothing",
        seen=(
            f"`{dropped.name}` has a graph that leads to {parameter_names(trace, behind)}, and the shape"
            f" {graph.values[op.outputs[0]].shape} of `{dropped.given.id}`; in {plural(count, 'call')} no operation"
            " read it",
        ),
        fix=f"return `{dropped.name}` in place of `{dropped.given.id}` ({where(given)})",
        count=count,
        edits=Source(trace, dropped.path).replace(dropped.given, dropped.name),
        subjects=parameter_subjects(behind),
    )
