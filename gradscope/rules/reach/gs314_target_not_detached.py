"""A bootstrapped target carries a graph: both sides of the loss are trained towards each other.

Why: the target `reward + gamma * net(next)` stands for a number that the prediction should reach.
With its graph, backward also moves the target towards the prediction: the update is another one
than the method's, and learning gets slow or drifts away. An advantage `returns - value` that the policy's
loss takes with its graph trains the critic to please the policy; so does any reward that a trained part computes.
A teacher that learns from labels is drawn to its student, where that is told to say what the teacher says.

Fix: make the target under `with torch.no_grad():`, or `detach()` it before the loss.

Silent on: siamese pairs, mutual learning and cycle losses, whose sides are both predictions;
residual-gradient methods that write the difference in one piece (`(r + gamma * v2 - v1) ** 2`), unless
the same difference is also used detached, as the advantage of an actor. A note in a function called "residual".
A log-probability times what has no loss of its own; that of data, or of an action that keeps its graph.
A target network or a teacher whose gradients nobody uses is GS605.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.bootstraps import Bootstrap, bootstraps
from gradscope.analysis.calls import Calls, calls
from gradscope.analysis.intent import milder, says_residual
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import COMPARING_LOSSES
from gradscope.analysis.policies import Advantage, Reward, advantages, rewards
from gradscope.analysis.reach import Paths, passes
from gradscope.analysis.soft_targets import SoftTarget, soft_targets
from gradscope.analysis.text import written_input
from gradscope.analysis.trained_copies import TrainedCopy, trained_copies
from gradscope.analysis.unread import module_name
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import under_no_grad
from gradscope.model import Finding, Graph, Site
from gradscope.rules import rule
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
        yield milder(_of_target(trace, known, graph, found), says_residual(found.made.site.user))
    told = set()
    for graph, advantage in advantages(known):
        told.add(advantage.product.site.user.location())
        yield _of_advantage(trace, graph, advantage)
    for graph, reward in rewards(known, told):
        yield _of_reward(trace, graph, reward)
    for copy in trained_copies(trace, known):
        yield _of_copy(trace, copy)
    for soft in soft_targets(known.paths):
        yield _of_teacher(trace, known.paths, soft)


def _of_target(trace: Trace, known: Calls, graph: Graph, found: Bootstrap) -> Finding:
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


def _detached(trace: Trace, found: Bootstrap) -> Edits:
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


def _behind(trace: Trace, site: Site) -> Edits:
    here = Source(trace, site.path)
    node = here.file.at(site)
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call, ast.Subscript)):
        return here.behind(node, ".detach()")
    return ()


def _of_advantage(trace: Trace, graph: Graph, found: Advantage) -> Finding:
    """An advantage that carries its critic's graph."""
    made, product = found.difference.site.user, found.product.site.user
    name = names_of(trace).name(graph, found.difference.outputs[0]) or ""
    subject = f"`{name}`" if name else code(trace, made, "the advantage")
    lesson = found.lesson.site.user
    return Finding(
        message=f"the advantage {subject} carries the critic's graph: the policy's loss trains the critic as well",
        cause=made,
        cause_label="takes the critic's estimate, not detached",
        effect=product if product.location() != made.location() else None,
        effect_label="gradients flow into the critic as well",
        related=((lesson, "the critic's own loss"),) if lesson.location() != made.location() else (),
        seen=(
            f"in {passes(found.times)} {len(found.parameters)} parameters of the critic got a gradient of both",
        ),
        fix=f"multiply the log-probability by `{name or 'advantage'}.detach()`",
        count=found.times,
        edits=_factor_detached(trace, product, name),
        subjects=parameter_subjects(found.parameters),
    )


def _of_reward(trace: Trace, graph: Graph, found: Reward) -> Finding:
    """A reward that carries its graph."""
    product = found.product.site.user
    made = graph.values[found.weight].op
    name = names_of(trace).name(graph, found.weight) or ""
    subject = f"`{name}`" if name else "the weight"
    source = graph.ops[made].site.user if made is not None else None
    elsewhere = source is not None and source.location() != product.location()
    names = parameter_names(trace, sorted(found.parameters))
    return Finding(
        message=f"{subject} carries a graph into {code(trace, product, 'the product')}: the policy's loss trains"
        f" {names} as well",
        cause=product,
        cause_label="both factors are differentiated",
        effect=source if elsewhere else None,
        effect_label="made of what has a loss of its own",
        seen=(
            f"in {passes(found.passes)} {names} got a gradient over the reward, times the log-probability of the"
            " action, and one from the rest of the loss",
        ),
        fix=f"multiply the log-probability by `{name or 'reward'}.detach()` in"
        f" {located(trace, product, 'the product')}: what is drawn is judged by the number alone",
        count=found.passes,
        edits=_factor_detached(trace, product, name),
        subjects=parameter_subjects(found.parameters),
    )


def _factor_detached(trace: Trace, product: Site, name: str) -> Edits:
    """`.detach()` behind the factor of this name where it is multiplied."""
    here = Source(trace, product.path)
    node = here.file.at(product)
    for side in (node.left, node.right) if isinstance(node, ast.BinOp) else ():
        if name and ast.unparse(side) == name and isinstance(side, (ast.Name, ast.Attribute, ast.Subscript)):
            return here.append(side, ".detach()")
    return ()


def _of_copy(trace: Trace, found: TrainedCopy) -> Finding:
    """A network that is trained although another writes it."""
    name, original = (module_name(trace, number) for number in (found.module, found.original))
    return Finding(
        message=f"{name} gets its values from {original}, and is trained with its graph as well",
        cause=found.site,
        cause_label="asked with gradients on, and its parameters are in the optimizer",
        effect=found.event.site.user,
        effect_label="gradients flow into both sides",
        seen=(f"in {passes(found.times)} both {name} and {original} got a gradient, and a step used it",),
        fix=f"ask {name} under `with torch.no_grad():`, and leave it out of the optimizer",
        count=found.times,
        subjects=parameter_subjects(found.parameters),
    )


def _of_teacher(trace: Trace, known: Paths, found: SoftTarget) -> Finding:
    """What a network says is another one's target, with its graph."""
    made, product, lesson = (op.site.user for op in (found.made, found.product, found.labelled))
    name = names_of(trace).name(trace.graph(found.target[0]), found.target[1]) or ""
    subject = f"`{name}`" if name else code(trace, made, "the target")
    names = parameter_names(trace, sorted(found.own))
    put, edits = f"put `.detach()` behind {located(trace, made)}", _behind(trace, made)
    if found.both:
        put, edits = (
            f"compute {located(trace, product)} of what the target's scores are without their graph",
            (),
        )
    elif not found.alone:
        node = written_input(trace, found.product, found.side)
        put = f"compare with `{name or ast.unparse(node) if node else 'target'}.detach()` in {located(trace, product)}"
        named = isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        edits = Source(trace, product.path).append(node, ".detach()") if node is not None and named else ()
        made = product
    return Finding(
        message=f"the target {subject} carries its graph: the loss that compares another network with it trains"
        f" {names} as well",
        cause=made,
        cause_label="made with gradients, not detached",
        effect=product if product.location() != made.location() else None,
        effect_label="gradients flow into both sides",
        related=((lesson, "what the target's own network learns from"),)
        if lesson.location() not in (made.location(), product.location())
        else (),
        seen=(
            f"{len(found.own)} parameters that {subject} is made of, and the other side is not, got a gradient of this"
            " comparison and one of their own loss, which compares with labels",
        ),
        fix=put,
        edits=edits,
        count=known.times_through(found.product.graph, found.product.nodes),
        subjects=parameter_subjects(found.own),
    )
