"""A loss is linear in the scores of the network that it trains: it can fall without end, and grows instead of settling.

Why: a hinge `relu(1 + fake) + relu(1 - real)` stops pushing a score that is on its side. Without the relu,
`(1 + fake) + (1 - real)` has the same gradient for every score, whatever it is: the last layer is pushed on for ever,
the scores grow, and both losses with them. A critic of a Wasserstein loss is held by clipped weights or a gradient
penalty.

Fix: bound each term, `relu(1 + fake)` and `relu(1 - real)`, or clip the weights of the critic after each step.

Measured: from the loss back to the last layer there are sums, means, negations and plain factors alone; how far the
loss went from where it began.
Silent on: weights that the program writes to (clipped ones), layers whose weight is computed (a spectral norm), losses
with any other term, such as a penalty, losses that stay as small as they began.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.course import measured
from gradscope.analysis.gradients import Trained, trained_alone
from gradscope.analysis.loop import parameters_of
from gradscope.analysis.ops import CASTS, CUTTING_OFF, LAYERS, MEANS, NEGATIONS, PASSING, SCALES, SUMS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.senses import signed
from gradscope.analysis.words import code, counted, located, parameter_names, parameter_subjects
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

LINEAR = SUMS | NEGATIONS | MEANS | SCALES | CASTS | {"sum"} | (PASSING - CUTTING_OFF)
GROWS = 20  # times as large as where it began
ENOUGH = 50  # steps


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(120):
        real, fake = critic(torch.randn(16, 4) + 1), critic(torch.randn(16, 4))
        loss = ((1 + fake) + (1 - real)).mean()  # cause: GS385
        opt.zero_grad()
        loss.backward()  # effect: GS385
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(120):
        real, fake = critic(torch.randn(16, 4) + 1), critic(torch.randn(16, 4))
        loss = (torch.relu(1 + fake) + torch.relu(1 - real)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS385", name="loss-without-a-bound", severity="warning", symptom=True)
def loss_without_a_bound(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    courses = {course.line.location(): course for course in measured(trace)}
    for trained in trained_alone(trace):
        course = courses.get(trained.line)
        if trained.event is None or course is None or trained.steps < ENOUGH:
            continue
        began, most = max(map(abs, course.losses[:2])), max(map(abs, course.losses))
        if most < GROWS * max(began, 0.1):
            continue
        layers = _layers(known, trained.event, trained)
        if layers:
            yield _finding(trace, known, trained, trained.event, layers, course.losses)


def _layers(known: Paths, event: Backward, trained: Trained) -> list[Op]:
    """The layers of which a loss is a linear function; none where it is another one."""
    found: list[Op] = []
    for term in signed(known, event, lambda op: op.name in LAYERS):
        op = known.maker(term.key)
        if op is None or (op.name not in LINEAR and op.name not in LAYERS):
            return []
        if op.name in LAYERS:
            values = known.graph(op.graph).values
            held = {values[index].parameter for index in op.inputs} & trained.used
            weights = parameters_of(known.trace, [id for id in held if id is not None])
            if not weights or any(p.updates for p in weights):
                return []
            found.append(op)
        elif (
            op.name in SCALES
            and len(op.inputs) > 1
            and all(known.value((op.graph, index)).requires_grad for index in op.inputs)
        ):
            return []
    return found


def _finding(
    trace: Trace,
    known: Paths,
    trained: Trained,
    event: Backward,
    layers: list[Op],
    losses: tuple[float, ...],
) -> Finding:
    root = known.maker((event.graph, event.roots[0]))
    place = root.site.user if root is not None else event.site.user
    values = known.graph(layers[0].graph).values
    ids = sorted(
        {id for index in layers[0].inputs if (id := values[index].parameter) is not None} & trained.used
    )
    edits = _bounded(trace, place)
    return Finding(
        message=f"{code(trace, place, 'the loss')} is linear in what the last layer gives"
        f" ({parameter_names(trace, ids)}): nothing bounds it below, and it grows without end",
        cause=place,
        cause_label="the same gradient for each score, whatever it is",
        effect=event.site.user,
        effect_label=f"goes on pushing after {counted(trained.steps, 'step')}",
        seen=(
            f"the loss began at {losses[0]:.3g} and went as far as {max(losses, key=abs):.4g};"
            " between it and the last layer are sums, means and plain factors alone, and nothing writes to its weights",
        ),
        fix=f"bound each term of {located(trace, place, 'the loss')}, as `relu(1 + fake)` and `relu(1 - real)` are,"
        " or clip the weights after each step",
        edits=edits,
        count=trained.steps,
        subjects=parameter_subjects(ids),
    )


def _bounded(trace: Trace, place: Site) -> Edits:
    """A relu around `1 + fake` and `1 - real`, where the line has both."""
    here = Source(trace, place.path)
    statement = here.file.statement(place)
    terms = [
        node
        for node in (ast.walk(statement) if statement is not None else ())
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add | ast.Sub)
        and isinstance(node.left, ast.Constant)
        and node.left.value == 1
    ]
    both = {type(node.op) for node in terms} == {ast.Add, ast.Sub} and len(terms) == 2
    if not both or not here.file.binds(place, "torch"):
        return ()
    return tuple(edit for node in terms for edit in here.around(node, "torch.relu(", ")"))
