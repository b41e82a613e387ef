"""`retain_graph` or `create_graph` is on, and nothing goes through the graph again.

Why: a backward pass frees what it has used as it goes. `retain_graph=True` keeps all of it until
the loss itself goes, so the peak of the memory is that of two graphs wherever a next forward runs
before then. `create_graph=True` builds a second graph on top of that. It also hides the error
that a wrong second pass would raise.

Fix: leave the argument out.

Silent on: several losses that share a graph; gradients per output; gradient penalties,
second-order methods and meta learning; states that later passes go through.
"""

from collections.abc import Iterator

from gradscope.model import Event, Finding, Graph
from gradscope.rules import rule
from gradscope.rules._common import code, located, plural
from gradscope.rules._paths import Key, Paths, passes, paths
from gradscope.rules._rewrites import without_argument
from gradscope.rules._training import settled
from gradscope.rules._unread import time_of
from gradscope.store import Trace

# Optimizers of torch: none of them differentiates a gradient again. Others may, inside their step.
FIRST_ORDER = {
    "SGD", "ASGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam", "Adagrad", "Adadelta", "RMSprop",
    "Rprop", "LBFGS", "Adafactor", "Muon",
}  # fmt: skip

TORCHS_OWN = ("torch/autograd/functional.py", "torch/autograd/gradcheck.py")


def bad_retain_in_loop() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward(retain_graph=True)  # cause: GS604
        opt.step()


def bad_create_in_loop() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward(create_graph=True)  # cause: GS604
        opt.step()


def bad_create_then_detach() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        slopes = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)  # cause: GS604
        for p, slope in zip(model.parameters(), slopes, strict=True):
            p.grad = slope.detach()
        opt.step()


def bad_create_graph_of_a_sampler() -> None:
    import torch
    from torch import nn

    energy = nn.Sequential(nn.Linear(2, 8), nn.Softplus(), nn.Linear(8, 1))
    opt = torch.optim.SGD(energy.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 2)
        for _ in range(2):
            x = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)  # cause: GS604
            x = x - 0.1 * slope
        opt.zero_grad()
        (energy(torch.randn(8, 2)).mean() - energy(x.detach()).mean()).backward()
        opt.step()


def bad_create_and_clip() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward(create_graph=True)  # cause: GS604
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()


def good_unrolled_sampler() -> None:
    import torch
    from torch import nn

    energy = nn.Sequential(nn.Linear(2, 8), nn.Softplus(), nn.Linear(8, 1))
    opt = torch.optim.SGD(energy.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 2, requires_grad=True)
        for _ in range(2):
            (slope,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)
            x = x - 0.1 * slope
        opt.zero_grad()
        (x - 1).pow(2).mean().backward()
        opt.step()


def good_two_losses_on_one_graph() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        out = model(torch.randn(8, 4)).tanh()
        out[:, 0].pow(2).mean().backward(retain_graph=True)
        out[:, 1].pow(2).mean().backward()
        opt.step()


def good_gradient_penalty() -> None:
    import torch
    from torch import nn

    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4, requires_grad=True)
        out = critic(x).mean()
        (slope,) = torch.autograd.grad(out, x, create_graph=True, retain_graph=True)
        (out + slope.norm(dim=1).sub(1).pow(2).mean()).backward()
        opt.step()


def good_gradients_of_each_output() -> None:
    import torch

    x = torch.randn(3, requires_grad=True)
    for _ in range(2):
        y = x.sin() * x
        for i in range(3):
            torch.autograd.grad(y[i], x, retain_graph=True)
        y.sum().backward()


def good_penalty_on_the_weights_gradient() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        slopes = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
        (loss + 0.1 * sum(s.pow(2).sum() for s in slopes)).backward()
        opt.step()


def good_penalty_of_a_piecewise_linear_critic() -> None:
    import torch
    from torch import nn

    critic = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        real, fake = torch.randn(8, 4), torch.randn(8, 4)
        x = ((real + fake) / 2).requires_grad_(True)
        ones = torch.ones(8, 1)
        slope = torch.autograd.grad(critic(x), x, ones, create_graph=True, retain_graph=True)[0]
        opt.zero_grad()
        loss = critic(fake).mean() - critic(real).mean() + (slope.norm(2, dim=1) - 1).pow(2).mean()
        loss.backward()
        opt.step()


def good_newton_by_torchs_own_functions() -> None:
    import torch

    def loss(w: torch.Tensor) -> torch.Tensor:
        return (w * w).sum() + w.exp().sum()

    w = torch.ones(3)
    for _ in range(3):
        slope = torch.autograd.functional.jacobian(loss, w)
        w = w - torch.linalg.solve(torch.autograd.functional.hessian(loss, w), slope)


def good_inner_loop() -> None:
    import torch

    w = torch.randn(4, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (g,) = torch.autograd.grad((torch.randn(8, 4) @ w).pow(2).mean(), w, create_graph=True)
        fast = w - 0.1 * g
        (torch.randn(8, 4) @ fast).pow(2).mean().backward()
        opt.step()


def good_state_carried_on_purpose() -> None:
    import torch

    w = torch.randn((), requires_grad=True)
    h = torch.zeros(())
    for _ in range(3):
        h = torch.tanh(h + w)
        h.pow(2).backward(retain_graph=True)


@rule("GS604", name="needless-retain-graph", severity="warning")
def needless_retain_graph(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    groups: dict[tuple[str, int], list[Event]] = {}
    used: set[tuple[str, int]] = set()
    for event in known.backwards:
        if not (event.data.get("retain_graph") or event.data.get("create_graph")):
            continue
        if event.site.user.kind != "user" or not event.data.get("roots"):
            continue
        if any(frame.path.endswith(TORCHS_OWN) for frame in event.site.stack):
            continue  # `torch.autograd.functional.jacobian` keeps it, not the program
        place = event.site.user.location()
        groups.setdefault(place, []).append(event)
        if place not in used and _used_again(trace, known, event):
            used.add(place)
    for place, events in groups.items():
        once = sum(e.count for e in events) == 1 and not settled(trace)  # an error came in between
        if place not in used and not once:
            yield _finding(trace, events)


def _finding(trace: Trace, events: list[Event]) -> Finding:
    event = events[0]
    times = sum(e.count for e in events)
    argument = "create_graph" if event.data.get("create_graph") else "retain_graph"
    nodes, held = event.data.get("held_nodes"), event.data.get("held_bytes")
    seen = f"{passes(times)} kept the graph, no later one went through it"
    if held:
        seen += f"; one keeps {plural(nodes or 0, 'node')} with {held:,} bytes saved for backward"
    took = time_of(trace, event.site)
    if took and argument == "create_graph":
        seen += f"; the passes of this line took {took} in all, building a graph of their own"
    call = code(trace, event.site.user, "the backward pass")
    return Finding(
        message=f"{call} keeps its graph with `{argument}`, and nothing uses it again",
        cause=event.site.user,
        cause_label="no second pass goes through this graph",
        seen=(seen,),
        fix=f"leave `{argument}=True` out of {located(trace, event.site.user, 'the pass')}",
        count=times,
        edits=without_argument(trace, event.site.user, argument),
        subjects=frozenset({("retain", event.site.user.location())}),
    )


def _used_again(trace: Trace, known: Paths, event: Event) -> bool:
    """Whether a later pass went through the graph of this one, or may have."""
    first = _inner(known, event)
    if event.data.get("create_graph") and _gradient_used(trace, known):
        return True
    after = False
    failed = [e for e in trace.of("error") if e.data.get("where") == "backward"]
    if any(e.graph < 0 for e in failed):
        return True  # it may be what that pass went through
    for other in [*known.backwards, *failed]:
        if other is event:
            after = True
            continue
        same = other.segment == event.segment and other.graph == event.graph
        if same and not after:
            continue
        reach = known.reach(_roots(other))
        if same and (reach.nodes & first or not reach.complete):
            return True
        if not same and any(key in first for key in reach.nodes if key[0] != other.graph):
            return True
        if not same and _carries(known, other.graph, reach.nodes, event.graph, first):
            return True
    # Equal stretches are stored once: a state that enters its own graph again is its own later pass.
    return _carries(known, event.graph, known.reach(_roots(event)).nodes, event.graph, first)


def _roots(event: Event) -> list[Key]:
    return [(event.graph, root) for root in event.data.get("roots", ())]


def _inner(known: Paths, event: Event) -> set[Key]:
    """The nodes that a pass visits, without those of leaves, which every pass may share."""
    return {
        key
        for key in known.reach(_roots(event)).nodes
        if known.graph(key[0]).nodes[key[1]].name != "AccumulateGrad"
    }


def _carries(known: Paths, graph: int, nodes: set[Key], source: int, wanted: set[Key]) -> bool:
    """Whether the visited part of `graph` goes on in `source`, through a tensor carried over."""
    for value in known.graph(graph).values:
        if value.kind != "carried" or value.node is None or (graph, value.node) not in nodes:
            continue
        if value.origin is None:
            return True  # made by a pass, or in a stretch that was not seen
        if value.origin[0] == source:
            node = known.graph(source).values[value.origin[1]].node
            if node is None or (source, node) in wanted:
                return True
    return False


def _made_of(graph: Graph, value: int) -> Iterator[int]:
    """What is computed from a value, or written with it, with gradients on."""
    for op in graph.consumers.get(value, ()):
        if op.nodes:
            yield from op.outputs or op.inputs


def _gradient_used(trace: Trace, known: Paths) -> bool:
    """Whether a pass went through a gradient that has a graph itself, or an optimizer may have."""
    if any(optimizer.cls not in FIRST_ORDER for optimizer in trace.optimizers.values()):
        return True
    gradients = {
        (number, output)
        for number in known.graph_ids
        for op in known.graph(number).ops
        if op.name == "grad"
        for output in op.outputs
    }
    failed = [e for e in trace.of("error") if e.data.get("where") == "backward" and e.graph >= 0]
    visited = known.reached.nodes | known.reach(root for e in failed for root in _roots(e)).nodes
    for number in known.graph_ids:
        graph = known.graph(number)
        for value in graph.values:
            unknown = value.kind == "carried" and value.origin is None
            if unknown or gradients & {(number, value.index), value.origin}:
                if any(graph.values[i].requires_grad for i in _made_of(graph, value.index)):
                    if unknown or value.node is None or not known.reached.complete:
                        return True
                    if (number, value.node) in visited:
                        return True
    return False
