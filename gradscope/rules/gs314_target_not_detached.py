"""A bootstrapped target carries a graph: both sides of the loss are trained towards each other.

Why: the target `reward + gamma * net(next)` stands for a number that the prediction should reach.
With its graph, backward also moves the target towards the prediction: the update is another one
than the method's, and learning gets slow or drifts away.

Fix: make the target under `with torch.no_grad():`, or `detach()` it before the loss.

Silent on: siamese pairs, mutual learning and cycle losses, whose sides are both predictions;
residual-gradient methods that write the difference themselves (`(r + gamma * v2 - v1) ** 2`).
A target network or a teacher whose gradients nobody uses is GS605.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.model import Finding, Graph, Op
from gradscope.names import names_of
from gradscope.rules import rule
from gradscope.rules._calls import Call, Calls, calls
from gradscope.rules._common import code, parameter_subjects
from gradscope.rules._paths import passes
from gradscope.rules._rewrites import under_no_grad
from gradscope.store import Trace

LOSSES = {"mse_loss", "smooth_l1_loss", "l1_loss", "huber_loss"}
SUMS = {
    "add",
    "add_",
    "sub",
    "sub_",
    "rsub",
    "__add__",
    "__radd__",
    "__iadd__",
    "__sub__",
    "__rsub__",
    "__isub__",
}
DIFFERENCES = {"sub", "__sub__", "__rsub__", "rsub"}
SCALES = {"mul", "mul_", "__mul__", "__rmul__", "__imul__", "div", "__truediv__"}
MEANT = re.compile(r"target|goal|bootstrap|^y$|^td$|^returns?$|^expected|label", re.IGNORECASE)
MAX_HOPS = 200


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


def bad_value_target_by_hand() -> None:
    import torch
    from torch import nn

    critic = nn.Linear(4, 1)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8, 1)
        target = reward + 0.9 * critic(after)  # cause: GS314
        error = target - critic(state)  # effect: GS314
        opt.zero_grad()
        error.pow(2).mean().backward()
        opt.step()


def bad_action_of_an_actor() -> None:
    import torch
    from torch import nn

    actor, critic = nn.Linear(3, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
    for _ in range(3):
        state, after, reward = torch.randn(8, 3), torch.randn(8, 3), torch.randn(8, 1)
        goal = reward + 0.9 * critic(torch.cat([after, actor(after)], 1))  # cause: GS314
        loss = nn.functional.mse_loss(critic(torch.randn(8, 4)), goal)  # effect: GS314
        opt.zero_grad()
        loss.backward()
        opt.step()
        for_actor.zero_grad()
        (-critic(torch.cat([state, actor(state)], 1))).mean().backward()
        for_actor.step()


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


def good_residual_gradient() -> None:
    import torch
    from torch import nn

    value = nn.Linear(4, 1)
    opt = torch.optim.SGD(value.parameters(), lr=0.1)
    for _ in range(3):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8, 1)
        delta = reward + 0.9 * value(after) - value(state)
        opt.zero_grad()
        delta.pow(2).mean().backward()
        opt.step()


def good_siamese_pair() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x + 0.1 * torch.randn(8, 4)), net(x))
        (loss + (1 - net(x).std(dim=0)).relu().mean()).backward()
        opt.step()


def good_stop_gradient_twins() -> None:
    import torch
    from torch import nn

    encoder, predictor = nn.Linear(4, 3), nn.Linear(3, 3)
    opt = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        first, second = encoder(x + 0.1), encoder(x - 0.1)
        opt.zero_grad()
        near = nn.functional.cosine_similarity(predictor(first), second.detach()).mean()
        far = nn.functional.cosine_similarity(predictor(second), first.detach()).mean()
        (-near - far).backward()
        opt.step()


def good_cycle() -> None:
    import torch
    from torch import nn

    there, back = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD([*there.parameters(), *back.parameters()], lr=0.1)
    for _ in range(3):
        code = there(torch.randn(8, 4))
        opt.zero_grad()
        nn.functional.l1_loss(there(back(code)), code).backward()
        opt.step()


def good_advantage() -> None:
    import torch
    from torch import nn

    critic = nn.Linear(4, 1)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        returns = torch.randn(8, 1)
        advantage = returns - critic(torch.randn(8, 4))
        opt.zero_grad()
        advantage.pow(2).mean().backward()
        opt.step()


@dataclass
class Bootstrap:
    """A loss that compares a prediction with a target made by the same network."""

    loss: Op
    made: Op  # the sum that makes the target
    call: Call
    shared: frozenset[int]


@rule("GS314", name="target-not-detached", severity="warning")
def target_not_detached(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    told: set[tuple[str, int]] = set()
    for number in known.paths.graph_ids:
        graph = known.paths.graph(number)
        for op in graph.ops:
            found = _bootstraps(trace, known, graph, op)
            if found is None or found.made.site.user.location() in told:
                continue
            told.add(found.made.site.user.location())
            yield _finding(trace, known, graph, found)


def _finding(trace: Trace, known: Calls, graph: Graph, found: Bootstrap) -> Finding:
    made, name = found.made.site.user, names_of(trace).name(graph, found.made.outputs[0])
    net = known.name(found.call.event)
    subject = f"`{name}`" if name else code(trace, made, "the target")
    detach = f"`{name}.detach()` in the loss" if name else "`detach()` the target"
    return Finding(
        message=f"the target {subject} is made by {net} with its graph: both sides of the loss are trained",
        cause=made,
        cause_label="bootstrapped from the network that is trained, not detached",
        effect=found.loss.site.user,
        effect_label="gradients flow into both sides",
        related=((found.call.entry, "the network's own estimate"),)
        if found.call.entry.location() != made.location()
        else (),
        seen=(f"in {passes(graph.count)} {len(found.shared)} parameters got a gradient from both sides",),
        fix=f"{detach}, or make it under `with torch.no_grad():`",
        count=graph.count,
        edits=under_no_grad(trace, made),
        subjects=parameter_subjects(found.shared),
    )


def _bootstraps(trace: Trace, known: Calls, graph: Graph, op: Op) -> Bootstrap | None:
    if len(op.inputs) < 2 or not op.outputs or (graph.id, op.outputs[0]) not in known.paths.used.order:
        return None
    named = op.name in LOSSES
    if not named and (op.name not in DIFFERENCES or not _squared(graph, op)):
        return None
    sides = op.inputs[:2]
    if not all(graph.values[i].requires_grad and not graph.values[i].is_leaf for i in sides):
        return None
    for target, prediction in (sides[::-1], sides):
        made = _sum_with_data(graph, target)
        if made is None:
            continue
        name = names_of(trace).name(graph, target) or ""
        if not named and not MEANT.search(name):
            continue
        call = _call_behind(known, graph, made)
        if call is None:
            continue
        paths = known.paths
        own = paths.reach([(graph.id, target)]).parameters
        shared = own & paths.reach([(graph.id, prediction)]).parameters & known.trained
        bootstrapped = own & {p.id for p in known.parameters(call.event)} & known.trained
        if shared and bootstrapped <= shared and not _says_residual(trace, made):
            return Bootstrap(op, made, call, frozenset(shared))
    return None


def _squared(graph: Graph, op: Op) -> bool:
    """Whether the difference itself is squared or made absolute, as a loss does."""
    readers = graph.consumers.get(op.outputs[0], ())
    return any(
        r.name in ("pow", "__pow__", "square", "abs") or (r.name in SCALES and len(set(r.inputs)) == 1)
        for r in readers
    )


def _sum_with_data(graph: Graph, target: int) -> Op | None:
    """The op outside all modules that added data to what a network gave, discounted before."""
    made, scaled = None, False
    todo, seen = [target], {target}
    while todo and len(seen) < MAX_HOPS:
        value = graph.values[todo.pop(0)]
        op = graph.ops[value.op] if value.op is not None else None
        if op is None or op.module is not None:
            continue
        tracked = [i for i in op.inputs if graph.values[i].requires_grad and not graph.values[i].is_leaf]
        data = [
            i for i in op.inputs if not graph.values[i].requires_grad and graph.values[i].kind != "parameter"
        ]
        if op.name in SUMS and len(tracked) == 1 and data and made is None:
            made = op
        scaled = scaled or (made is not None and op.name in SCALES and len(tracked) == 1)
        for index in tracked:
            if index not in seen:
                seen.add(index)
                todo.append(index)
    return made if scaled else None


def _call_behind(known: Calls, graph: Graph, made: Op) -> Call | None:
    """The last module call before the target whose output it was made of."""
    upstream = set(graph.upstream(made.outputs[0]))
    for call in reversed(known.all):
        event = call.event
        if (
            event.graph == graph.id
            and event.position < made.index
            and upstream & set(event.data.get("outputs", ()))
        ):
            return call
    return None


def _says_residual(trace: Trace, made: Op) -> bool:
    """Whether the user's function says that gradients through both sides are meant."""
    site = made.site.user
    return "residual" in site.function.lower() or "residual" in site.path.rpartition("/")[2].lower()
