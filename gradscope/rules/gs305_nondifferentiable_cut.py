"""An operation without a gradient stands between the parameters and the loss.

Why: argmax, comparisons and casts to integers give results that do not change when their
input changes a little: they have no gradient. Rounding and `sign` have one, but it is zero
everywhere. Either way nothing of the loss arrives at the parameters before it.

Fix: put the loss on the scores before that operation (cross entropy in place of argmax, a
sigmoid in place of a comparison), or write a straight-through estimator on purpose.

Silent on: metrics; masks and indices beside a path that keeps the graph; straight-through
estimators.
"""

from collections.abc import Iterator
from dataclasses import replace

from gradscope.model import Event, Finding, Op, Parameter, Site
from gradscope.rules import rule
from gradscope.rules._common import code, parameter_names, parameter_subjects
from gradscope.rules._cuts import cuts
from gradscope.rules._paths import ZERO_GRADIENT, Paths, paths
from gradscope.store import Trace


def bad_argmax() -> None:
    import torch
    from torch import nn

    model, scale = nn.Linear(4, 3), nn.Linear(1, 1)
    opt = torch.optim.SGD([*model.parameters(), *scale.parameters()], lr=0.1)
    target = torch.randint(0, 3, (8, 1)).float()
    for _ in range(3):
        opt.zero_grad()
        guess = model(torch.randn(8, 4)).argmax(dim=1, keepdim=True)  # cause: GS305
        loss = (scale(guess.float()) - target).pow(2).mean()
        loss.backward()  # effect: GS305
        opt.step()


def bad_round() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        count = torch.round(model(torch.randn(8, 4)))  # cause: GS305
        loss = (count - 2).pow(2).mean()
        loss.backward()  # effect: GS305
        opt.step()


def good_straight_through() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        soft = model(torch.randn(8, 4))
        count = soft + (torch.round(soft) - soft).detach()
        (count - 2).pow(2).mean().backward()
        opt.step()


def good_metric_and_mask() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.randint(0, 3, (8,))
    for _ in range(3):
        opt.zero_grad()
        scores = model(torch.randn(8, 4))
        wrong = scores.argmax(dim=1) != target
        loss = (nn.functional.cross_entropy(scores, target, reduction="none") * (1 + wrong.float())).mean()
        loss.backward()
        opt.step()
        _ = (scores.argmax(dim=1) == target).float().mean().item()


def bad_asked_to_require() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        found = model(torch.randn(8, 4)).max(1)[1]  # cause: GS305
        loss = (found != 0).float().mean()
        loss.requires_grad = True  # effect: GS305
        loss.backward()
        opt.step()


@rule("GS305", name="nondifferentiable-cut", severity="error", over=("GS301", "GS302", "GS204"))
def nondifferentiable_cut(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for cut in cuts(trace):
        if cut.kind == "nondifferentiable" and cut.loss is not None:
            found = _finding(trace, cut.op, cut.parameters, cut.loss, "has no gradient", "is None")
            asked = _asked(known, cut.loss)
            yield (
                replace(found, effect=asked, effect_label="makes backward run, without a way back")
                if asked
                else found
            )
    yield from _zero_gradients(trace, known)


def _asked(known: Paths, loss: Event) -> Site | None:
    """Where the program made the loss itself require a gradient."""
    for root in loss.data.get("roots", ()):
        if (site := known.required((loss.graph, root))) is not None:
            return site.user
    return None


def _zero_gradients(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Parameters that backward reaches only through rounding or `sign`."""
    if not known.reached.complete:
        return
    blocks: dict[int, tuple[Op, int]] = {}
    for graph, index in known.reached.nodes:
        node = known.graph(graph).nodes[index]
        if node.name in ZERO_GRADIENT and node.op is not None:
            blocks.setdefault(graph, (known.graph(graph).ops[node.op], index))
    if not blocks:
        return
    open_ways = known.reach(known.roots, ZERO_GRADIENT).parameters
    lost = [
        p
        for i in sorted(known.reached.parameters - open_ways)
        if (p := known.parameters[i]).requires_grad
        and (known.stepped(p) or (not known.stepping and p.registered))
    ]
    groups: dict[tuple[str, int], tuple[Op, Event, list[Parameter]]] = {}
    for events in known.roots.values():
        event = events[0]
        block = blocks.get(event.graph)
        if block is None:
            continue
        behind = known.reach([(event.graph, root) for root in event.data["roots"]]).parameters
        parameters = [p for p in lost if p.id in behind]
        if parameters:
            groups.setdefault(block[0].site.user.location(), (block[0], event, parameters))
    for op, event, parameters in groups.values():
        yield _finding(trace, op, parameters, event, "has a gradient of zero everywhere", "is zero")


def _finding(
    trace: Trace, op: Op, parameters: list[Parameter], loss: Event, fault: str, grad: str
) -> Finding:
    ids = [p.id for p in parameters]
    names = parameter_names(trace, ids)
    return Finding(
        message=f"`{op.name}` {fault}: {names} cannot learn through it",
        cause=op.site.user,
        cause_label=fault,
        effect=loss.site.user,
        effect_label="no gradient gets past it",
        seen=(f"`.grad` of {names} {grad}",),
        why=f"the loss depends on {names} only through {code(trace, op.site.user, f'`{op.name}`')}, which {fault}",
        count=loss.count,
        subjects=parameter_subjects(ids),
    )
