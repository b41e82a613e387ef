"""The same derivative is computed twice, where the second one was to be of the first.

Why: `autograd.grad(u, x)` gives the first derivative however often it is called. A second one is the derivative of
the first: `autograd.grad(u_x, x)`. With the first in its place an equation is another equation, and the network
learns to fulfil that.

Fix: differentiate the first derivative.

Measured: two calls in one function differentiate one value by the same inputs, with equal weights and a graph of
their own, so that they give the same numbers; the first result is used by nothing, or both of them are, whole.
Silent on: calls in functions of their own, results of which parts are taken, and those without a graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import EXITS, PARTS
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._derivatives import is_grad, summed
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.rand(16, 1, requires_grad=True)
        u = net(x)
        u_x = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]  # effect: GS776
        u_xx = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]  # cause: GS776
        loss = (u_xx + u * u_x - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.rand(16, 1, requires_grad=True)
        u = net(x)
        u_x = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u), create_graph=True)[0]
        loss = (u_xx + u * u_x - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS776", name="derivative-asked-again", severity="warning")
def derivative_asked_again(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: dict[tuple[Site, Site], tuple[Graph, Op, Op, int]] = {}
    for number in known.graph_ids:
        graph = known.graph(number)
        first_of: dict[tuple[int, int], Op] = {}
        for op in graph.called({"grad"}):
            root = summed(known, graph, op) if is_grad(op) and op.extra.get("create_graph") else None
            if root is None:
                continue
            first = first_of.setdefault((root, op.inputs[1]), op)
            places = _places(first, op) if first is not op else None
            if places is not None and _meant_for_the_second(graph, first, op):
                told.setdefault(places, (graph, first, op, root))
    for (one, other), (graph, first, second, root) in told.items():
        yield _finding(trace, graph, first, second, root, one, other)


def _places(first: Op, second: Op) -> tuple[Site, Site] | None:
    """The calls in the user's function that asked for the one and for the other."""
    for one, other in zip(first.site.stack, second.site.stack, strict=False):
        if one.location() != other.location() or one.column != other.column:
            same = (one.path, one.function) == (other.path, other.function) and one.line != other.line
            return (one, other) if same and one.kind == other.kind == "user" else None
    return None


def _meant_for_the_second(graph: Graph, first: Op, second: Op) -> bool:
    """Whether the second result is used whole, and the first one whole or not at all."""
    readers = [
        [r for r in graph.consumers.get(op.outputs[0], ()) if r.name not in EXITS] for op in (first, second)
    ]
    return bool(readers[1]) and not any(reader.name in PARTS for used in readers for reader in used)


def _finding(trace: Trace, graph: Graph, first: Op, second: Op, root: int, one: Site, other: Site) -> Finding:
    name = names_of(trace).name(graph, root) or "u"
    result, again = _assigned(trace, one), _assigned(trace, other)
    texts = [f"`{word}`" if word else code(trace, site) for word, site in ((result, one), (again, other))]
    used = any(r.name not in EXITS for r in graph.consumers.get(first.outputs[0], ()))
    return Finding(
        message=f"{texts[1]} is the same derivative as {texts[0]}, computed once more",
        cause=other,
        cause_label=f"differentiates `{name}` again",
        effect=one,
        effect_label=f"differentiates `{name}` by the same input",
        seen=(
            f"both calls differentiate one value, of {located(trace, _maker(graph, root))}, by the same inputs and with"
            " equal weights: the numbers are the same",
            f"{texts[0]} {'is used beside it' if used else 'is used by nothing'}",
        ),
        fix=f"where {texts[1]} is to be the second derivative, differentiate {texts[0]} in {located(trace, other)};"
        f" else take {texts[0]} in its place",
        edits=_of_the_first(trace, other, name, result, summed_up=first.inputs[0] != root),
        count=graph.count,
    )


def _assigned(trace: Trace, site: Site) -> str:
    """The variable that a call's one result is assigned to; "" where there is none."""
    file = trace.source_file(site.path)
    call, statement = file.at(site), file.statement(site)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    value, target = statement.value, statement.targets[0]
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant) and value.slice.value == 0:
        value = value.value
    if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == 1:
        target = target.elts[0]
    return target.id if value is call and isinstance(target, ast.Name) else ""


def _maker(graph: Graph, value: int) -> Site | None:
    op = graph.maker(value)
    return op.site.user if op is not None else None


def _of_the_first(trace: Trace, site: Site, name: str, result: str, *, summed_up: bool) -> Edits:
    """The call with the first derivative in the place of what that was made of."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    if not result or not isinstance(call, ast.Call):
        return ()
    given = [*call.args, *(word.value for word in call.keywords)]
    texts = {name, f"{name}.sum()"} if summed_up else {name}
    places = [node for node in given if ast.unparse(node) in texts]
    if len(places) != 1:
        return ()
    return here.replace(places[0], result + ast.unparse(places[0]).removeprefix(name))
