"""An operation without a gradient stands between the parameters and the loss.

Why: argmax, comparisons and casts to integers give results that do not change when their
input changes a little: they have no gradient. Rounding and `sign` have one, but it is zero
everywhere. Either way nothing of the loss arrives at the parameters before it.

Fix: put the loss on the scores before that operation (cross entropy in place of argmax, a
sigmoid in place of a comparison), or write a straight-through estimator on purpose.

Silent on: metrics; masks and indices beside a path that keeps the graph; straight-through
estimators.
At warning: one term of a loss has no gradient, while other terms train the same parameters.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from gradscope.analysis.cuts import cuts
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import ZERO_GRADIENT
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.terms import DeadTerm, dead_terms
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.events import Backward, Rooted
from gradscope.model import Finding, Op, Parameter, Site
from gradscope.rules import rule
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


@rule("GS305", name="nondifferentiable-cut", severity="error", over=("GS301", "GS302", "GS204"))
def nondifferentiable_cut(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told = set()
    for finding in chain(_lost(trace, known), _zero_gradients(trace, known)):
        if finding.cause is not None:
            told.add(finding.cause.location())
        yield finding
    for term in dead_terms(known):
        if term.block.site.user.location() not in told:
            yield _term(trace, known, term)


def _lost(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Parameters that no gradient reaches."""
    for cut in cuts(trace):
        if cut.kind == "nondifferentiable" and cut.loss is not None:
            found = _finding(trace, cut.op, cut.parameters, cut.loss, "has no gradient", "is None")
            seen = (cut.known.seen([p.id for p in cut.parameters], found.seen[0]),)
            found = replace(found, seen=seen, count=cut.count, severity=cut.severity(trace), since=cut.since)
            asked = _asked(known, cut.loss)
            yield (
                replace(found, effect=asked, effect_label="makes backward run, without a way back")
                if asked
                else found
            )


def _term(trace: Trace, known: Paths, term: DeadTerm) -> Finding:
    graph, index = term.value
    name = names_of(trace).name(known.graph(graph), index)
    site = known.graph(graph).values[index].site
    made = site.entry if site is not None else term.block.site.user
    place = term.block.site.user
    subject = f"the term `{name}`" if name else "a term"
    fault = "has a gradient of zero everywhere" if term.flat else "has no gradient"
    names = parameter_names(trace, sorted(term.parameters))
    return Finding(
        message=f"{subject} of the loss trains nothing: it comes through `{term.block.name}`, which {fault}",
        cause=place,
        cause_label=fault,
        effect=term.loss.site.user,
        effect_label="only the other terms of the loss arrive",
        related=((made, "the term that is added"),) if made.location() != place.location() else (),
        seen=(f"no gradient of {subject} reaches any parameter in this pass",),
        why=f"it was computed from {names}, but no gradient gets past {code(trace, place, 'this call')}",
        fix=_fix(trace, term.block),
        count=term.loss.count,
        severity="warning",
        subjects=frozenset({("term", *place.location())}),
    )


def _asked(known: Paths, loss: Rooted) -> Site | None:
    """Where the program made the loss itself require a gradient."""
    for root in loss.roots:
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
    groups: dict[tuple[str, int], tuple[Op, Backward, list[Parameter]]] = {}
    for events in known.roots.values():
        event = events[0]
        block = blocks.get(event.graph)
        if block is None:
            continue
        behind = known.reach([(event.graph, root) for root in event.roots]).parameters
        parameters = [p for p in lost if p.id in behind]
        if parameters:
            groups.setdefault(block[0].site.user.location(), (block[0], event, parameters))
    for op, event, parameters in groups.values():
        yield _finding(trace, op, parameters, event, "has a gradient of zero everywhere", "is zero")


def _finding(
    trace: Trace, op: Op, parameters: list[Parameter], loss: Rooted, fault: str, grad: str
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
        fix=_fix(trace, op),
        count=loss.count,
        subjects=parameter_subjects(ids),
    )


def _fix(trace: Trace, op: Op) -> str:
    place, name = located(trace, op.site.user, f"`{op.name}`"), op.name.strip("_")
    if name in ("argmax", "argmin", "max", "min", "topk", "sort", "argsort"):
        scores = names_of(trace).receiver(op.site.user)
        given = f"`{scores}`" if scores else "what goes into it"
        return f"put the loss on {given}, without {place}: cross entropy takes the scores themselves"
    if name in ("round", "floor", "ceil", "trunc", "sign"):
        return f"leave {place} out of the loss, or let the gradient past it on purpose: `x + ({name}(x) - x).detach()`"
    if name in ("lt", "le", "gt", "ge", "eq", "ne"):
        return f"use a sigmoid of the difference in place of {place}"
    if name in ("normal", "normal_"):
        return f"draw so that the gradient gets through: `mean + std * torch.randn_like(mean)` in place of {place}"
    return f"put the loss on what goes into {place}, or write a straight-through estimator on purpose"
