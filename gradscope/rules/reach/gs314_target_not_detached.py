"""A bootstrapped target carries a graph: both sides of the loss are trained towards each other.

Why: the target `reward + gamma * net(next)` stands for a number that the prediction should reach.
With its graph, backward also moves the target towards the prediction: the update is another one
than the method's, and learning gets slow or drifts away. An advantage `returns - value` that the policy's
loss takes with its graph trains the critic to please the policy; so does any reward that a trained part computes.

Fix: make the target under `with torch.no_grad():`, or `detach()` it before the loss.

Silent on: siamese pairs, mutual learning and cycle losses, whose sides are both predictions;
residual-gradient methods that write the difference in one piece (`(r + gamma * v2 - v1) ** 2`), unless
the same difference is also used detached, as the advantage of an actor. A note in a function called "residual".
A log-probability times what has no loss of its own; that of data, or of an action that keeps its graph.
A target network or a teacher whose gradients nobody uses is GS605.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.calls import Calls, calls
from gradscope.analysis.intent import milder, says_residual
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import COMPARING_LOSSES
from gradscope.analysis.reach import passes
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.fixes.calls import under_no_grad
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Graph, Site
from gradscope.rules import rule
from gradscope.rules.reach._advantages import advantage_finding, advantages
from gradscope.rules.reach._bootstraps import Bootstrap, bootstraps, copy_finding, trained_copies
from gradscope.rules.reach._rewards import reward_finding, rewards
from gradscope.store import Trace


def bad_q_target() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        state, after = torch.randn(8, 4), torch.randn(8, 4)
        reward, action = torch.randn(8), torch.zeros(8, 1, dtype=torch.long)
        chosen = net(state).gather(1, action).squeeze(1)
        goal = reward + 0.9 * net(after).max(dim=1).values  # cause: GS314
        loss = nn.functional.mse_loss(chosen, goal)  # effect: GS314
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_detached() -> None:
    import torch
    from torch import nn

    critic = nn.Linear(4, 1)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8, 1)
        target = reward + 0.9 * critic(after).detach()
        opt.zero_grad()
        nn.functional.mse_loss(critic(state), target).backward()
        opt.step()


@rule("GS314", name="target-not-detached", severity="warning")
def target_not_detached(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    for graph, found in bootstraps(trace, known):
        yield milder(_finding(trace, known, graph, found), says_residual(found.made.site.user))
    told = set()
    for graph, advantage in advantages(known):
        told.add(advantage.product.site.user.location())
        yield advantage_finding(trace, graph, advantage)
    for graph, reward in rewards(known, told):
        yield reward_finding(trace, graph, reward)
    for copy in trained_copies(trace, known):
        yield copy_finding(trace, copy)


def _finding(trace: Trace, known: Calls, graph: Graph, found: Bootstrap) -> Finding:
    made, name = found.made.site.user, names_of(trace).name(graph, found.made.outputs[0])
    net = known.name(found.call.event)
    subject = f"`{name}`" if name else code(trace, made, "the target")
    return Finding(
        message=f"the target {subject} is made by {net} with its graph: both sides of the loss are trained",
        cause=made,
        cause_label="bootstrapped from the network that is trained, not detached",
        effect=found.loss.site.user,
        effect_label="gradients flow into both sides",
        related=((found.call.entry, "the network's own estimate"),)
        if found.call.entry.location() != made.location()
        else (),
        seen=(f"in {passes(found.times)} {len(found.shared)} parameters got a gradient from both sides",),
        fix=_fix(trace, graph, found, net, name or ""),
        count=found.times,
        edits=_detached(trace, found),
        subjects=parameter_subjects(found.shared) | {("made", line) for line in found.way},
    )


def _fix(trace: Trace, graph: Graph, found: Bootstrap, net: str, name: str) -> str:
    call, operand = located(trace, found.call.entry, f"the call of {net}"), found.operand
    if not found.serves:
        return f"put `.detach()` after {call}, or make it under `with torch.no_grad():`"
    if found.total is not None:
        total = names_of(trace).name(graph, found.total)
        what = f"`{total}`" if total else "what they are added up to"
        return (
            f"the differences of several steps are added up, and each holds a prediction: add the estimates of {net}"
            f" to {what}, both without their graph (`.detach()`), for the target, and compare the estimates with"
            f" that. Not behind {call}: the predictions come from there as well"
        )
    if operand is not None:
        behind = f"`.detach()` behind {located(trace, operand.site.user)}"
        return f"put {behind}, not where {net} is called: the prediction comes from there as well"
    return f"compare with `{name or 'target'}.detach()`, or make it under `with torch.no_grad():`"


def _detached(trace: Trace, found: Bootstrap) -> tuple[Edit, ...]:
    """`.detach()` behind the network's call in the target, or behind what its statement takes of it where the
    prediction comes from that line too; the whole target without gradients where it is a loss's own argument
    and the call stands elsewhere."""
    if found.total is not None:
        return ()
    if found.serves and found.operand is not None:
        return _behind(trace, found.operand.site.user)
    here, call, made = Source(trace, found.made.site.user.path), found.call.entry, found.made.site.user
    node, statement = here.file.at(call), here.file.statement(made)
    alone = not found.serves and call.path == made.path and here.file.statement(call) is statement
    if alone and isinstance(node, ast.Call):
        return here.append(node, ".detach()")
    return under_no_grad(trace, made) if found.loss.name in COMPARING_LOSSES else ()


def _behind(trace: Trace, site: Site) -> tuple[Edit, ...]:
    here = Source(trace, site.path)
    node = here.file.at(site)
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        return here.insert(node, "(") + here.append(node, ").detach()")
    return here.append(node, ".detach()") if isinstance(node, (ast.Call, ast.Subscript)) else ()
