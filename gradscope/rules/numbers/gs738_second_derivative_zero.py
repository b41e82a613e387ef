"""A second derivative is zero everywhere: the network is made of straight pieces.

Why: ReLU and its like are linear on either side of their kink. The first derivative of what they give is constant on
each piece, and the second is zero. A residual with a second derivative in it loses that term: what is left of the
equation is another equation. Nothing fails, and nothing is None.

Fix: an activation that is curved: `torch.tanh`, `F.silu`, `F.softplus`, `torch.sin`.

Measured: every way from the first derivative back to what it is differentiated by leads through the derivative of
such an activation, which passes nothing on.
Silent on: curved activations, also where a ReLU stands beside them; inputs that enter by another way (a solution that
is multiplied by a function of `x`); gradient penalties, which differentiate by parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.made import layer_site
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import renamed
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._derivatives import is_grad
from gradscope.store import Trace

# The derivative of such an activation's derivative: of its input it passes on zeros.
FLAT = {"ThresholdBackwardBackward0", "LeakyReluBackwardBackward0", "HardtanhBackwardBackward0"}
STRAIGHT = {"relu", "relu_", "leaky_relu", "leaky_relu_", "relu6", "hardtanh", "threshold", "rrelu"}
LAYERS = {"ReLU", "LeakyReLU", "ReLU6", "Hardtanh"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))  # cause: GS738
    opt = torch.optim.Adam(net.parameters())
    for _ in range(3):
        x = torch.rand(32, 1, requires_grad=True)
        u = net(x)
        du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        ddu = torch.autograd.grad(du.sum(), x, create_graph=True)[0]  # effect: GS738
        loss = (ddu + u).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    curved = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(curved.parameters())
    for _ in range(3):
        x = torch.rand(32, 1, requires_grad=True)
        u = curved(x)
        du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        ddu = torch.autograd.grad(du.sum(), x, create_graph=True)[0]
        loss = (ddu + u).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@dataclass
class _Zero:
    """Second derivatives that are zero by the same activation."""

    op: Op
    site: Site  # where the first of them is asked for
    activations: dict[tuple[str, int], Site] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)


@rule("GS738", name="second-derivative-zero", severity="warning")
def second_derivative_zero(trace: Trace) -> Iterator[Finding]:
    found: dict[tuple[str, int], _Zero] = {}
    for graph in trace.graphs if FLAT & trace.node_names else ():
        for second in graph.called({"grad"}):
            if not is_grad(second) or not _is_zero(graph, second):
                continue
            sites = [layer_site(trace, op) or op.site.user for op in _straight(graph, second)]
            if sites:
                place = _place(graph, second)
                zero = found.setdefault(sites[0].location(), _Zero(second, place))
                zero.activations.update((site.location(), site) for site in sites)
                zero.lines.add(place.line)
    for zero in found.values():
        yield _finding(trace, zero)


def _is_zero(graph: Graph, second: Op) -> bool:
    """Whether each way from a first derivative back to its input ends in the derivative of a straight piece."""
    root, by = (graph.values[value] for value in second.inputs[:2])
    if root.node is None:
        return False
    behind = {node.index for node in graph.nodes if node.leaf == by.index} | {by.node}
    ended: set[int] = set()
    seen, todo = {root.node}, [root.node]
    while todo:
        node = graph.nodes[todo.pop()]
        if node.index in behind:
            return False
        for edge in node.edges:
            if node.name in FLAT and not _of_a_derivative(graph, graph.nodes[edge.target].op):
                ended.add(edge.target)
            elif edge.target not in seen:
                seen.add(edge.target)
                todo.append(edge.target)
    return any(behind & set(graph.reachable(end)) for end in ended)


def _of_a_derivative(graph: Graph, op: int | None) -> bool:
    return op is not None and graph.ops[op].name == "grad"


def _straight(graph: Graph, second: Op) -> list[Op]:
    """The straight activations that work on what comes of the input."""
    found = {
        op.index: op
        for _, op in graph.readers_behind([second.inputs[1]], lambda op: op.name != "grad")
        if op.name in STRAIGHT and op.nodes and op.index < second.index
    }
    return [found[index] for index in sorted(found)]


def _place(graph: Graph, second: Op) -> Site:
    """Where it is asked for: the call of a helper, where other derivatives come from the same line of it."""
    here = second.site.user
    shared = any(
        op.name == "grad" and op.site.user.location() == here.location() and op.site.id != second.site.id
        for op in graph.ops
    )
    callers = [frame for frame in second.site.stack if frame.kind == "user" and frame != here]
    return callers[-1] if shared and callers else here


def _finding(trace: Trace, zero: _Zero) -> Finding:
    sites = list(zero.activations.values())
    text = code(trace, sites[0], "the activation")
    lines = ", ".join(map(str, sorted(zero.lines)))
    return Finding(
        message=f"{code(trace, zero.site, 'this')} is zero everywhere: a second derivative through {text}, which is"
        " made of straight pieces",
        cause=sites[0],
        cause_label="its slope is the same on the whole of a piece",
        effect=zero.site,
        effect_label="differentiates that slope",
        seen=(
            "each way from the first derivative back to the input ends in the derivative of such an activation, which"
            f" passes on zeros (second derivatives: line{'s' * (len(zero.lines) > 1)} {lines})",
        ),
        fix=f"take an activation that is curved in {', '.join(located(trace, site) for site in sites[:3])}:"
        " `torch.tanh` (`nn.Tanh()`), SiLU or softplus",
        edits=_curved(trace, sites),
    )


def _curved(trace: Trace, sites: list[Site]) -> tuple[Edit, ...]:
    edits: list[Edit] = []
    for site in sites:
        here = Source(trace, site.path)
        call = here.file.at(site)
        function = call.func if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or not isinstance(function, ast.Attribute):
            return ()
        if function.attr in LAYERS:
            edits += here.replace(call, f"{here.file.text(function.value)}.Tanh()")
        elif function.attr == "relu" and not here.file.is_imported(function):
            edits += renamed(trace, site, "relu", "tanh")
        elif function.attr in ("relu", "leaky_relu", "relu6") and _knows_torch(here) and call.args:
            edits += here.replace(call, f"torch.tanh({here.file.text(call.args[0])})")
        else:
            return ()
    return tuple(edits)


def _knows_torch(here: Source) -> bool:
    return any(
        isinstance(node, ast.Import) and any(name.name == "torch" and not name.asname for name in node.names)
        for node in here.file.nodes
    )
