"""A copy of the trained network makes its targets, and is never brought up to date.

Why: a target network keeps the targets from running away: it follows the trained one slowly, or is set to it every few
hundred steps. One that stays what it was at the start makes targets of random numbers: the trained network learns the
value of a policy that knows nothing, and no more.

Fix: copy the weights every so often, `target.load_state_dict(net.state_dict())`, or a small part of them in every
step.

Measured: what is added to data to make the target comes from a network of the same form as the one that is compared
with it and stepped; nothing has changed that since the first steps. Silent on: copies that a line of the program
could still bring up to date, fewer steps than 100, teachers (their answers are the targets, nothing is added).
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.bootstraps import sums
from gradscope.analysis.networks import Network, alike, networks
from gradscope.analysis.ops import ALIASES, PASSING, SCALES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import nodes_of_program, nodes_that_ran
from gradscope.analysis.words import located, optimizer_name, parameter_subjects, plural
from gradscope.events import Step
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, LOOPS, called_name
from gradscope.store import Trace

ENOUGH = 100  # steps
DEEP = 20  # forms between an estimate and its discount
ONCE = {"__init__", "main"}  # functions outside of whose loops a network is made
WRITING = {"load_state_dict", "copy_", "lerp_", "mul_", "add_", "set_", "soft_update", "hard_update"}


def bad() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters(), lr=0.001)
    for _ in range(150):
        state, after = torch.randn(32, 4), torch.randn(32, 4)
        action, reward = torch.randint(2, (32, 1)), torch.randn(32, 1)
        with torch.no_grad():
            wanted = reward + 0.9 * target(after).max(1, keepdim=True).values  # cause: GS242
        loss = nn.functional.mse_loss(net(state).gather(1, action), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()  # effect: GS242


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters(), lr=0.001)
    for step in range(150):
        state, after = torch.randn(32, 4), torch.randn(32, 4)
        action, reward = torch.randint(2, (32, 1)), torch.randn(32, 1)
        with torch.no_grad():
            wanted = reward + 0.9 * target(after).max(1, keepdim=True).values
        loss = nn.functional.mse_loss(net(state).gather(1, action), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 1000 == 999:
            target.load_state_dict(net.state_dict())


@rule("GS242", name="target-never-follows", severity="warning")
def target_never_follows(trace: Trace) -> Iterator[Finding]:
    found = networks(trace) if trace.optimizers else []
    still = [one for one in found if one.still]
    stepped = [one for one in found if one.stepped]
    if not still or not stepped or _may_follow(trace):
        return
    known = paths(trace)
    told: set[int] = set()
    for target in sums(known):
        if not _is_scaled(known, target.estimate):
            continue
        estimating, predicting = known.fed_by(target.estimate), known.fed_by(target.prediction)
        copies = [one for one in still if one.ids <= estimating and one.module not in told]
        trained = [one for one in stepped if one.ids <= predicting]
        pairs = [(a, b) for a in copies for b in trained if a.form == b.form and alike(trace, a, b)]
        step = _step(trace, pairs[0][1]) if pairs else None
        if step is not None:
            told.add(pairs[0][0].module)
            yield _finding(trace, target.made, step, *pairs[0])


def _is_scaled(known: Paths, key: Key) -> bool:
    """Whether what a network gives is multiplied by a discount, or a mask, before it is added: noise is added to what
    a teacher gives as it is."""
    for _ in range(DEEP):
        sources, op = known.sources(key)
        if op is not None and (op.module is not None or op.name not in PASSING | ALIASES):
            return op.module is None and op.name in SCALES
        if not sources:
            return False
        key = sources[0]
    return False


def _may_follow(trace: Trace) -> bool:
    """Whether a line in a loop, or in a function that something names, could still write into a network: the run has
    only not come to it."""
    ran = list(nodes_that_ran(trace))
    nodes = [node for _, _, node in ran]
    named = {n.id for n in nodes if isinstance(n, ast.Name)} | {
        n.attr for n in nodes if isinstance(n, ast.Attribute)
    }
    again: list[ast.AST] = [node for node in nodes if isinstance(node, LOOPS)]
    again += [
        node
        for node in nodes_of_program(trace)
        if isinstance(node, FUNCTIONS) and node.name in named and node.name not in ONCE
    ]
    return any(
        called_name(node) in WRITING or _writes_data(node) for block in again for node in ast.walk(block)
    )


def _writes_data(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.ctx, ast.Store)


def _step(trace: Trace, network: Network) -> Step | None:
    """Its first step; None where there were too few."""
    first = next(iter(network.parameters.values()))
    steps = (step for step in trace.of(Step) if step.optimizer in first.optimizers)
    return next(steps, None) if first.steps >= ENOUGH else None


def _finding(trace: Trace, made: Op, step: Step, copy: Network, trained: Network) -> Finding:
    count = next(iter(trained.parameters.values())).steps
    target, net = (trace.modules[one.module].name or "the copy" for one in (copy, trained))
    cause: Site = made.site.user
    return Finding(
        message=f"`{target}` makes the targets of `{net}`, and has stayed what it was at the start",
        cause=cause,
        cause_label=f"the estimate in it is that of `{target}`",
        effect=step.site.user,
        effect_label=f"changes `{net}` alone",
        seen=(
            f"in {plural(count, 'step')} of {optimizer_name(trace, step.optimizer)} nothing changed any"
            f" of the {plural(len(copy.parameters), 'parameter')} of `{target}`; no line in a loop writes to a network",
        ),
        fix=f"after {located(trace, step.site.user, 'the step')}, every few hundred steps:"
        f" `{target}.load_state_dict({net}.state_dict())`",
        count=count,
        subjects=parameter_subjects(copy.ids),
    )
