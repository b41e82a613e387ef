"""A network is trained to make another one's estimate smaller, which itself learns to tell what is given for actions.

Why: an actor is to find the actions that its critic values most: it descends on `-critic(state, action).mean()`.
Without the minus it learns those that are valued least, and every curve looks like training.

Fix: a minus before the critic's value, unless what the critic estimates is a cost.

A note, since a number does not say whether it is a reward or a cost. Measured: the way from the loss to the critic's
last layer, which only rises; that the step changes the actor alone; and that other passes train the critic by comparing
it with numbers that have no graph. Silent on: critics that tell real from generated samples, sums with other terms.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.gradients import Trained, trained_alone
from gradscope.analysis.ops import COMPARING_LOSSES, POWERS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.schedules import goes_down
from gradscope.analysis.senses import Part, seen_from, site_in, sole_part
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 3  # steps of each


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1), nn.Tanh())
    critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_a = torch.optim.Adam(actor.parameters(), lr=0.01)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        state, action = torch.randn(32, 3), torch.rand(32, 1) * 2 - 1
        reward = -(action - state[:, :1]).abs()
        opt_c.zero_grad()
        nn.functional.mse_loss(critic(torch.cat([state, action], 1)), reward).backward()
        opt_c.step()
        opt_a.zero_grad()
        loss = critic(torch.cat([state, actor(state)], 1)).mean()  # cause: GS766
        loss.backward()  # effect: GS766
        opt_a.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1), nn.Tanh())
    critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_a = torch.optim.Adam(actor.parameters(), lr=0.01)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(5):
        state, action = torch.randn(32, 3), torch.rand(32, 1) * 2 - 1
        reward = -(action - state[:, :1]).abs()
        opt_c.zero_grad()
        nn.functional.mse_loss(critic(torch.cat([state, action], 1)), reward).backward()
        opt_c.step()
        opt_a.zero_grad()
        loss = -critic(torch.cat([state, actor(state)], 1)).mean()
        loss.backward()
        opt_a.step()


@rule("GS766", name="estimate-made-smaller", severity="note")
def estimate_made_smaller(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    lines = [one for one in trained_alone(trace) if one.steps >= ENOUGH]
    estimating = _estimating(known, lines) if len(lines) > 1 else set()
    for one in lines if estimating else ():
        event, used = one.event, one.used
        part = sole_part(known, event, lambda op: False) if event is not None else None
        if (
            event is None
            or part is None
            or part.sign < 0
            or not goes_down(trace, (turn.step for turn in one.turns))
        ):
            continue
        last = {p.id for i in part.op.inputs if (p := known.parameter_of((part.op.graph, i))) is not None}
        if last and last <= estimating and not last & used:
            yield _finding(trace, known, event, part, used)


def _estimating(known: Paths, lines: list[Trained]) -> set[int]:
    """The parameters of networks that are trained by a comparison with numbers that have no graph."""
    found: set[int] = set()
    for one in lines:
        part = sole_part(known, one.event, _compares) if one.event is not None else None
        if part is None or not _compares(part.op):
            continue
        graph = known.graph(part.op.graph)
        op = graph.maker(part.op.inputs[0]) if part.op.name in POWERS else part.op
        if (
            op is None
            or len(op.inputs) < 2
            or len([i for i in op.inputs[:2] if graph.values[i].requires_grad]) != 1
        ):
            continue
        data = next(i for i in op.inputs[:2] if not graph.values[i].requires_grad)
        if len(graph.values[data].shape) and not _is_label(known, graph.id, data):
            found |= one.used
    return found


def _compares(op: Op) -> bool:
    return op.name in COMPARING_LOSSES | POWERS


def _is_label(known: Paths, graph: int, value: int) -> bool:
    """Whether these are the ones and zeros that tell real from generated."""
    maker = known.maker((graph, value))
    return maker is not None and maker.name.removeprefix("new_").removesuffix("_like") in (
        "ones",
        "zeros",
        "full",
    )


def _finding(trace: Trace, known: Paths, event: Backward, part: Part, used: set[int]) -> Finding:
    estimate = site_in(part, event)
    last = known.maker((event.graph, event.roots[0]))
    cause = seen_from(last, event.site.user) if last is not None else estimate
    if cause.path != estimate.path or cause.function != estimate.function:
        cause = estimate
    text = located(trace, cause)
    edits = _negated(trace, event, cause.path)
    return Finding(
        message=f"the step makes what {code(trace, estimate, 'the critic')} estimates smaller: right for a cost, wrong"
        " for a reward",
        cause=cause,
        cause_label="the loss rises with this estimate",
        effect=event.site.user,
        effect_label="goes down it",
        related=((estimate, "the estimate"),) if estimate.location() != cause.location() else (),
        seen=(
            f"the loss is the mean of {code(trace, estimate, 'the estimate')} alone, with a positive sign; other passes"
            " train what estimates it, this one does not",
        ),
        fix=f"where a larger estimate is better, put a minus before {text}",
        edits=edits,
        count=event.count,
        subjects=parameter_subjects(used),
    )


def _negated(trace: Trace, event: Backward, path: str) -> Edits:
    """The loss with a minus, where it is assigned to what `backward()` is called on."""
    here = Source(trace, path)
    call = here.file.at(event.site.user)
    name = (
        ast.unparse(call.func.value)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        else ""
    )
    for statement in here.file.nodes:
        if isinstance(statement, ast.Assign) and [ast.unparse(t) for t in statement.targets] == [name]:
            if event.site.user.path == path and 0 < event.site.user.line - statement.lineno < 12:
                return here.replace(statement.value, f"-{here.file.operand(statement.value)}")
    return ()
