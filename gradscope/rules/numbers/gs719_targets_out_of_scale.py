"""The targets are far larger than what the model gives at first, and it has not even come to their mean.

Why: layers give numbers of about 1 at first, and an optimizer such as Adam moves a weight by about its rate in a step,
however large the gradient is. Prices in thousands or levels of some hundreds are then thousands of steps away: all that
the loss says in that time is that the answers are too small, and nothing of the inputs is learned.

Fix: bring the targets to about 1 with numbers of the training data, `(y - mean) / std`, and take that back where the
answers are used; or set the last layer's bias to the mean before the training.

Measured: the targets' mean, how far they differ from sample to sample, the mean of the last answers, and the loss
beside that of the best constant answer, over at least 100 passes. Silent where the answers have come to the targets'
mean to within that difference, and on targets below 10.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.constant_answers import NoBetter, no_better
from gradscope.analysis.names import name_of
from gradscope.analysis.ops import COMPARING_LOSSES
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, parameter_subjects, plural
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace

LARGE = 10.0  # the mean of the targets


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rooms = torch.randn(256, 6)
    price = 240 + 60 * torch.tanh(rooms[:, :1] + rooms[:, 1:2])
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(150):
        part = torch.randint(256, (32,))
        loss = nn.functional.l1_loss(model(rooms[part]), price[part])  # cause: GS719
        opt.zero_grad()
        loss.backward()  # effect: GS719
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rooms = torch.randn(256, 6)
    price = 240 + 60 * torch.tanh(rooms[:, :1] + rooms[:, 1:2])
    price = (price - price.mean()) / price.std()
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.005)
    for _ in range(150):
        part = torch.randint(256, (32,))
        loss = nn.functional.l1_loss(model(rooms[part]), price[part])
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS719", name="targets-out-of-scale", severity="warning", over=("GS784",), symptom=True)
def targets_out_of_scale(trace: Trace) -> Iterator[Finding]:
    for found in no_better(trace):
        event = found.event
        away = abs(event.mean - event.answered)
        if event.name in COMPARING_LOSSES and abs(event.mean) >= LARGE and away > event.spread > 0:
            yield _finding(trace, found)


def _finding(trace: Trace, found: NoBetter) -> Finding:
    event, place = found.event, found.op.site.user
    target = _target(trace, found)
    return Finding(
        message=f"the targets lie at {event.mean:.4g}, and the answers have come to {event.answered:.4g} after"
        f" {plural(found.passes, 'pass')}: {code(trace, place, 'the loss')} is {found.no_lower} than for a constant"
        " answer",
        cause=place,
        cause_label=f"is {found.loss:.4g}; one and the same answer to every sample has {event.best:.4g}",
        effect=found.line,
        effect_label="moves the answers by about the rate in a step",
        seen=(
            f"the targets: {event.mean:.4g} on the average, with a deviation of {event.spread:.4g} between samples",
            f"the last answers that were looked at: {event.answered:.4g} on the average",
        ),
        fix=f"bring the targets to about 1 before {located(trace, place, 'the loss')} has them,"
        f" `({target} {'-' if event.mean > 0 else '+'} {abs(event.mean):.4g}) / {event.spread:.4g}`, or by what the"
        " inputs of the same sample are brought there with, and take that back where the answers are used",
        count=found.passes,
        subjects=parameter_subjects(found.parameters),
    )


def _target(trace: Trace, found: NoBetter) -> str:
    graph = paths(trace).graph(found.compared.graph)
    given = [index for index in found.compared.inputs if not graph.values[index].requires_grad]
    name = name_of(trace, graph, given[0]) if len(given) == 1 else ""
    return name if name.isidentifier() else "y"
