"""A graph with a loop at each node is divided by the degrees of the graph without these loops.

Why: with `A + I` each node takes its own features in beside those of its neighbours: the degrees that are to keep their
sum in scale have to count that loop too. By those of `A` the sum of each row is too large, most of all for nodes with
few neighbours, and with every layer the features of such nodes grow: the largest eigenvalue is no longer 1.

Fix: sum up the rows of the matrix that has the loops.

Measured: the entries of the matrix that a layer multiplies by, or the weights of a list of edges. Each is 1 divided by
degrees that are one less than the number of entries of its row, or of the edges of its node.
Silent on: graphs without loops, or whose edges have weights of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.words import code, located, user
from gradscope.events import Degrees
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import method_name, sides_of
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    edges = torch.rand(20, 20).lt(0.1).float().triu(1) + torch.eye(20).roll(1, 0)
    graph = ((edges + edges.T) > 0).float()
    roots = graph.sum(1).pow(-0.5)  # cause: GS432
    graph = roots[:, None] * (graph + torch.eye(20)) * roots[None, :]
    features, labels = torch.randn(20, 4), torch.randint(2, (20,))
    layer = nn.Linear(4, 2)
    opt = torch.optim.Adam(layer.parameters(), lr=0.01)
    for _ in range(3):
        loss = nn.functional.cross_entropy(layer(graph @ features), labels)  # effect: GS432
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    edges = torch.rand(20, 20).lt(0.1).float().triu(1) + torch.eye(20).roll(1, 0)
    graph = ((edges + edges.T) > 0).float() + torch.eye(20)
    roots = graph.sum(1).pow(-0.5)
    graph = roots[:, None] * graph * roots[None, :]
    features, labels = torch.randn(20, 4), torch.randint(2, (20,))
    layer = nn.Linear(4, 2)
    opt = torch.optim.Adam(layer.parameters(), lr=0.01)
    for _ in range(3):
        loss = nn.functional.cross_entropy(layer(graph @ features), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS432", name="degrees-without-loops", severity="warning", needs=Degrees)
def degrees_without_loops(trace: Trace) -> Iterator[Finding]:
    told: set[Site] = set()
    for event in trace.of(Degrees):
        used = event.site.user
        summed = user(trace.site(event.summed)) if event.summed is not None else None
        cause = summed or used
        if cause in told:
            continue
        told.add(cause)
        yield Finding(
            message=f"the degrees that {code(trace, used, 'this product')} divides a graph by leave out its loops",
            cause=cause,
            cause_label="sums up the degrees before the loops are there"
            if summed is not None
            else "uses the graph",
            effect=used if summed is not None else None,
            effect_label="uses the graph",
            seen=(_seen(event),),
            fix=_fix(trace, event, used, summed),
            edits=_counted(trace, summed) if summed is not None else (),
            subjects=frozenset({("line", *cause.location())}),
        )


def _seen(event: Degrees) -> str:
    degrees = f"{event.least} to {event.most}"
    if event.how == "edges":
        return (
            f"at each of the {event.nodes} nodes one edge more ends than its degree says, {degrees}: its loop; each"
            " edge is divided by the roots of both ends' degrees"
        )
    sides = (
        "rows and columns are divided by their roots" if event.how == "both" else "rows are divided by them"
    )
    return (
        f"each of the {event.nodes} rows has one entry more than its degree, {degrees}: its loop; the {sides}"
    )


def _fix(trace: Trace, event: Degrees, used: Site, summed: Site | None) -> str:
    if summed is None:
        return f"sum up the degrees of the graph that {located(trace, used)} uses when its loops are there"
    if event.how == "edges":
        return f"count the edges with the loops among them in {located(trace, summed)}"
    return f"sum up the degrees of the graph with its loops, `A + torch.eye(len(A))`, in {located(trace, summed)}"


def _counted(trace: Trace, place: Site) -> Edits:
    """The sum of the rows with the loops: of a variable that has them already, where there is one."""
    file = trace.source_file(place.path)
    call = file.at(place)
    if (
        not isinstance(call, ast.Call)
        or method_name(call) != "sum"
        or not isinstance(call.func, ast.Attribute)
    ):
        return ()
    handed = bool(call.args) and file.is_imported(call.func.value)
    graph = call.args[0] if handed else call.func.value
    text = ast.unparse(graph)
    line = file.statement_of(call)
    for name, values in file.assigned.items():
        sides = sides_of(values[0]) if len(values) == 1 else None
        if sides is None or line is None or values[0].lineno >= line.lineno or name == text:
            continue
        if text in map(ast.unparse, sides) and "eye" in ast.unparse(values[0]):
            return Source(trace, place.path).replace(graph, name)
    counted = f"{text} + torch.eye(len({text}))"
    return Source(trace, place.path).replace(graph, counted if handed else f"({counted})")
