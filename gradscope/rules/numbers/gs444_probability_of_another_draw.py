"""A policy's loss weighs the log-probability of a draw that nothing has seen, not of the action that was taken.

Why: the reward says how good the action was that the environment got. `dist.log_prob(dist.sample())` draws once more:
its probability is made likelier or less likely for what another action has earned. On average such a gradient is zero,
and the policy wanders.

Fix: `action = dist.sample()` once, for the environment and for `dist.log_prob(action)`; of actions taken before, the
probability of those that were kept.

Measured: what a distribution drew went into `log_prob` alone, and nowhere else in the run; the log-probability is
multiplied by as many numbers from outside the graph; another draw of the run does go elsewhere.
Silent on: draws that are used elsewhere too, estimates of an entropy (nothing weighs those), samples with a gradient.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import MULTIPLICATIONS
from gradscope.analysis.policies import calls_behind, is_part_of
from gradscope.analysis.reach import Paths, passes, paths
from gradscope.analysis.words import code, located, variable
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import beside
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(3, 4)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(4):
        states = torch.randn(16, 3)
        dist = Categorical(logits=policy(states))
        action = dist.sample()
        reward = (action == states.argmax(1)).float()
        loss = -(dist.log_prob(dist.sample()) * (reward - reward.mean())).mean()  # cause: GS444
        opt.zero_grad()
        loss.backward()  # effect: GS444
        opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(3, 4)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(4):
        states = torch.randn(16, 3)
        dist = Categorical(logits=policy(states))
        action = dist.sample()
        reward = (action == states.argmax(1)).float()
        loss = -(dist.log_prob(action) * (reward - reward.mean())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS444", name="probability-of-another-draw", severity="warning")
def probability_of_another_draw(trace: Trace) -> Iterator[Finding]:
    known, told = paths(trace), set[tuple[str, int]]()
    taken = _taken(trace)
    for number in known.graph_ids if taken else ():
        graph = known.graph(number)
        for product in graph.called(MULTIPLICATIONS):
            draw = _draw(graph, product)
            loss = known.loss_of((number, product.outputs[0])) if draw is not None else None
            if draw is None or loss is None or draw.site.user.location() in told | set(taken):
                continue
            told.add(draw.site.user.location())
            yield _finding(trace, known, taken, draw, product, loss)


def _taken(trace: Trace) -> dict[tuple[str, int], Site]:
    """The lines that drew what goes on into the program: to something else than `log_prob`, or to a later graph."""
    found: dict[tuple[str, int], Site] = {}
    drawing = [graph for graph in trace.graphs if any(is_part_of(site, "sample") for site in graph.sites)]
    if not drawing:
        return found
    carried = {value.origin for graph in trace.graphs for value in graph.values if value.origin is not None}
    for graph in drawing:
        for op in graph.ops:
            if not op.nodes and op.outputs and is_part_of(op.site, "sample"):
                onward = any((graph.id, value) in carried for value in op.outputs)
                if onward or any(not _within(reader) for reader in _readers(graph, op)):
                    found.setdefault(op.site.user.location(), op.site.user)
    return found


def _readers(graph: Graph, op: Op) -> list[Op]:
    return [reader for value in op.outputs for reader in graph.consumers.get(value, ())]


def _within(op: Op) -> bool:
    """Whether it is a part of a distribution's own work."""
    return is_part_of(op.site, "log_prob") or is_part_of(op.site, "sample")


def _draw(graph: Graph, product: Op) -> Op | None:
    """The draw whose log-probability is multiplied by as many numbers from outside the graph, where `log_prob` is all
    that takes it."""
    if len(product.inputs) != 2 or not product.outputs or is_part_of(product.site, "log_prob"):
        return None
    chance, weight = sorted((graph.values[i] for i in product.inputs), key=lambda v: not v.requires_grad)
    if not chance.requires_grad or weight.requires_grad or chance.shape != weight.shape:
        return None
    if chance.shape in ((), (1,)):
        return None
    for op in calls_behind(graph, chance.index, MULTIPLICATIONS):
        for value in op.inputs if is_part_of(op.site, "log_prob") else ():
            maker = _behind(graph, value)
            if maker is not None and all(map(_within, _readers(graph, maker))):
                return maker
    return None


def _behind(graph: Graph, value: int) -> Op | None:
    """The call of `sample` that gave what `log_prob` works on."""
    op = graph.maker(value)
    while op is not None and is_part_of(op.site, "log_prob") and op.inputs:
        op = graph.maker(op.inputs[0])
    return op if op is not None and not op.nodes and is_part_of(op.site, "sample") else None


def _finding(
    trace: Trace,
    known: Paths,
    taken: dict[tuple[str, int], Site],
    draw: Op,
    product: Op,
    loss: Backward,
) -> Finding:
    site = draw.site.user
    near = [one for one in taken.values() if beside(trace, one, site)]
    other = near[0] if near else next(iter(taken.values()))
    name = variable(trace, other) if near else ""
    return Finding(
        message=f"{code(trace, site, '`sample`')} is a draw that only `log_prob` sees: the loss weighs the probability"
        " of another action than the one that was taken",
        cause=site,
        cause_label="draws once more",
        effect=loss.site.user,
        effect_label="makes it likelier for what another action has earned",
        related=(
            *(((product.site.user, "weighs its log-probability"),) if product.site.user != site else ()),
            (other, "the draw that goes on into the program"),
        ),
        seen=(
            f"what it drew went nowhere else; {code(trace, product.site.user, 'the product')} weighs its"
            f" log-probability by numbers from outside the graph, in {passes(known.alike(loss))} of this line",
        ),
        fix=f"give `log_prob` the action that was taken: `{name}` in place of {located(trace, site)}"
        if name
        else f"give `log_prob` the action that was taken, in place of {located(trace, site)}",
        edits=_replaced(trace, site, other, name) if name else (),
    )


def _replaced(trace: Trace, site: Site, other: Site, name: str) -> Edits:
    here = Source(trace, site.path)
    node = here.file.at(site)
    return here.replace(node, name) if isinstance(node, ast.expr) and beside(trace, site, other) else ()
