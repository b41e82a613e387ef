"""The ratio that weighs advantages has the old probability above and the new one below.

Why: what an action was worth is weighed by how much likelier the policy of now takes it than the one that acted:
`exp(new - old)` of their log-probabilities. Upside down the weight falls where the action gets likelier: its gradient
is that of the right one with the other sign, and each step makes good actions rarer.

Fix: `torch.exp(new - old)`.

Measured: the exponential is of numbers without a graph less a log-probability with one, or such numbers are divided by
a probability with one, and what comes of it is multiplied with numbers that are no part of the graph.
Silent on: estimates of a divergence, which multiply it with nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import (
    CASTS,
    CLIPS,
    DIVISIONS,
    EXPONENTIALS,
    MULTIPLICATIONS,
    REVERSED_SUBTRACTIONS,
    SUBTRACTIONS,
)
from gradscope.analysis.policies import picked, scored
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        with torch.no_grad():
            old = Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(4):
            new = Categorical(logits=policy(states)).log_prob(actions)
            ratio = torch.exp(old - new)  # cause: GS362
            weighed = ratio * advantage  # effect: GS362
            loss = -torch.min(weighed, ratio.clamp(0.8, 1.2) * advantage).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        states, actions, advantage = torch.randn(32, 4), torch.randint(0, 3, (32,)), torch.randn(32)
        with torch.no_grad():
            old = Categorical(logits=policy(states)).log_prob(actions)
        for _ in range(4):
            new = Categorical(logits=policy(states)).log_prob(actions)
            ratio = torch.exp(new - old)
            loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


DIFFERENCES = SUBTRACTIONS - REVERSED_SUBTRACTIONS
QUOTIENTS = DIVISIONS - {"div_"}


@rule("GS362", name="ratio-upside-down", severity="warning")
def ratio_upside_down(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, ratio in known.used_calls(EXPONENTIALS | QUOTIENTS):
        graph = known.graph(ratio.graph)
        if ratio.site.user.location() in told:
            continue
        difference = ratio if ratio.name in QUOTIENTS else _exponent(known, ratio)
        if difference is None or not _is_reversed(known, graph, difference):
            continue
        product = _weighed(graph, ratio)
        if product is not None:
            told.add(ratio.site.user.location())
            yield _finding(trace, known, difference, ratio, product)


def _exponent(known: Paths, ratio: Op) -> Op | None:
    return known.maker_behind((ratio.graph, ratio.inputs[0]), CASTS) if ratio.inputs else None


def _is_reversed(known: Paths, graph: Graph, op: Op) -> bool:
    """Whether it takes a log-probability with a graph from numbers without one, or divides them by a probability."""
    if op.name not in DIFFERENCES | QUOTIENTS or len(op.inputs) != 2:
        return False
    old, new = (graph.values[index] for index in op.inputs)
    if old.requires_grad or not new.requires_grad or old.shape != new.shape:
        return False
    key = (graph.id, new.index)
    if op.name in DIFFERENCES:
        return scored(graph, new.index) or picked(known, key, "log_softmax")
    maker = known.maker_behind(key, CASTS)
    likely = maker is not None and maker.name == "exp" and scored(graph, new.index)
    return likely or picked(known, key, "softmax")


def _weighed(graph: Graph, ratio: Op) -> Op | None:
    """The first product of the ratio, as it is or clipped, with as many numbers that are no part of the graph."""
    for value, op in graph.readers_behind(ratio.outputs, lambda op: op.name in CLIPS):
        others = [graph.values[index] for index in op.inputs if index != value]
        if op.name in MULTIPLICATIONS and len(others) == 1 and others[0].shape == graph.values[value].shape:
            if not others[0].requires_grad:
                return op
    return None


def _finding(trace: Trace, known: Paths, difference: Op, ratio: Op, product: Op) -> Finding:
    site, divided = difference.site.user, difference is ratio
    text, edits = _turned(trace, difference)
    chance = "probability" if divided else "log-probability"
    return Finding(
        message=f"the ratio {code(trace, ratio.site.user)} is upside down: it falls where the action gets likelier",
        cause=site,
        cause_label="divides the old probability by the new one"
        if divided
        else "takes the new log-probability from the old one",
        effect=product.site.user if product.site.user.location() != site.location() else None,
        effect_label="weighs numbers that are no part of the graph by it",
        seen=(
            f"{code(trace, site, 'the ratio')} is of numbers without a graph {'by' if divided else 'less'} a {chance}"
            f" with one; {located(trace, product.site.user, 'the product')} weighs data by"
            f" {'it' if divided else 'its exponential'}",
        ),
        fix=f"{'divide the new one by the old one' if divided else 'take the old one from the new one'}: {text}",
        edits=edits,
        subjects=parameter_subjects(known.behind((ratio.graph, ratio.outputs[0])))
        | {("ratio", *ratio.site.user.location())},
    )


def _turned(trace: Trace, difference: Op) -> tuple[str, Edits]:
    site = difference.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    sign = "/" if difference.name in QUOTIENTS else "-"
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub | ast.Div):
        return f"`new {sign} old` in {located(trace, site)}", ()
    new = f"{here.file.operand(node.right)} {sign} {here.file.operand(node.left)}"
    return f"`{new}` in place of {located(trace, site)}", here.replace(node, new)
